import { checkLeast, checkPacked, checkRows } from "./checks";
import { op } from "./epilogue";
import { panelBytesOf, sweep } from "./sweep";

/**
 * One GRU step over m rows (ONNX GRU with linear_before_reset = 1):
 *   r = sigmoid(Wr x + Rr h + br);  z = sigmoid(Wz x + Rz h + bz)
 *   n = tanh(Wn x + bn + r * (Rn h + bRn));  h' = (1 - z) * n + z * h
 * Weights, each ceil(hidden / 8) panels of 8 units: r over [x | h], Rn over h, Wn
 * over x, z over [x | h]. hOut rows must not overlap any input row.
 */
export function gru_step_f32(
  m: i32, hidden: i32, kx: i32, xRows: usize, hRows: usize, w: usize, hOutRows: usize
): void {
  const panels = (hidden + 7) >> 3;
  const both = <usize>panels * panelBytesOf(kx + hidden);
  const overH = <usize>panels * panelBytesOf(hidden);
  const overX = <usize>panels * panelBytesOf(kx);
  if (!ASC_NO_ASSERT) {
    checkLeast(hidden, 1);
    checkLeast(kx, 0);
    checkRows(xRows, m, <usize>kx << 2);
    checkRows(hRows, m, <usize>hidden << 2);
    checkRows(hOutRows, m, <usize>hidden << 2);
    checkPacked(w, 1, both + overH + overX + both);
  }
  sweep(m, hidden, panels, 8, op.SIGMOID, op.SIGMOID, kx, xRows, hidden, hRows, 1, w, hOutRows, 0, 0);
  w += both;
  sweep(m, hidden, panels, 8, op.SCALE, op.SCALE, hidden, hRows, 0, 0, 0, w, hOutRows, 0, 0);
  w += overH;
  sweep(m, hidden, panels, 8, op.CANDIDATE, op.CANDIDATE, kx, xRows, 0, 0, 0, w, hOutRows, 0, 0);
  w += overX;
  sweep(m, hidden, panels, 8, op.BLEND, op.BLEND, kx, xRows, hidden, hRows, 1, w, hOutRows, hRows, 0);
}
