import { checkLeast, checkPacked, checkRows, checkUnits } from "./checks";
import { reads, writes } from "./job";
import { op } from "./op";
import { packedBytesOf, sweepPacked } from "./pieces";

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
  gru_units_f32(m, hidden, 0, hidden, kx, xRows, hRows, hRows, w, hOutRows);
}

/**
 * gru_step_f32 for units first .. first + units - 1 of `hidden` alone; first is a multiple
 * of 8. Rows of hUnitRows (the same h as hRows) and hOutRows start at unit `first`; xRows,
 * hRows and w are those of the whole step.
 */
export function gru_units_f32(
  m: i32, hidden: i32, first: i32, units: i32, kx: i32, xRows: usize, hRows: usize,
  hUnitRows: usize, w: usize, hOutRows: usize
): void {
  const all = (hidden + 7) >> 3;
  const skipped = first >> 3;
  const panels = (units + 7) >> 3;
  const both = <usize>all * packedBytesOf(kx + hidden);
  const overH = <usize>all * packedBytesOf(hidden);
  const overX = <usize>all * packedBytesOf(kx);
  if (!ASC_NO_ASSERT) {
    checkUnits(hidden, first, units);
    checkLeast(kx, 0);
    checkRows(xRows, m, <usize>kx << 2);
    checkRows(hRows, m, <usize>hidden << 2);
    checkRows(hUnitRows, m, <usize>units << 2);
    checkRows(hOutRows, m, <usize>units << 2);
    checkPacked(w, 1, both + overH + overX + both);
  }
  reads(kx, xRows, hidden, hRows, 1);
  writes(units, op.SIGMOID, hOutRows, 0, 0);
  sweepPacked(m, skipped, panels, all, w, 3);
  w += both;
  reads(hidden, hRows, 0, 0, 0);
  writes(units, op.SCALE, hOutRows, 0, 0);
  sweepPacked(m, skipped, panels, all, w, 3);
  w += overH;
  reads(kx, xRows, 0, 0, 0);
  writes(units, op.TANH | op.RESIDUAL, hOutRows, hOutRows, 0);
  sweepPacked(m, skipped, panels, all, w, 3);
  w += overX;
  reads(kx, xRows, hidden, hRows, 1);
  writes(units, op.BLEND, hOutRows, hUnitRows, 0);
  sweepPacked(m, skipped, panels, all, w, 3);
}
