import { checkLeast, checkPacked, checkRows } from "./checks";
import { op } from "./epilogue";
import { panelBytesOf, sweep } from "./sweep";

/**
 * One LSTM step over m rows (ONNX LSTM, default activations, no peepholes):
 *   i, o, f, g = gates of [x | h];  c' = sigmoid(f) * c + sigmoid(i) * tanh(g);
 *   h' = sigmoid(o) * tanh(c')
 * x has kx columns, h and c have `hidden`. Weights interleave the gates: per 4 units
 * a panel [i i i i g g g g] and a panel [f f f f o o o o], each 8 biases (input and
 * recurrent bias added) and (kx + hidden) x 8 weights. hOut and cOut rows must not
 * overlap any input row.
 */
export function lstm_step_f32(
  m: i32, hidden: i32, kx: i32, xRows: usize, hRows: usize, cRows: usize, w: usize,
  hOutRows: usize, cOutRows: usize
): void {
  const panels = ((hidden + 3) >> 2) << 1;
  if (!ASC_NO_ASSERT) {
    const bytes = <usize>hidden << 2;
    checkLeast(hidden, 1);
    checkLeast(kx, 0);
    checkRows(xRows, m, <usize>kx << 2);
    checkRows(hRows, m, bytes);
    checkRows(cRows, m, bytes);
    checkRows(hOutRows, m, bytes);
    checkRows(cOutRows, m, bytes);
    checkPacked(w, panels, panelBytesOf(kx + hidden));
  }
  sweep(
    m, hidden, panels, 4, op.PRODUCT, op.LSTM,
    kx, xRows, hidden, hRows, 1, w, cOutRows, cRows, hOutRows
  );
}
