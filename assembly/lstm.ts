import { checkLeast, checkPacked, checkRows, checkUnits } from "./checks";
import { op } from "./epilogue";
import { reads, writesPairs } from "./job";
import { packedBytesOf, sweepPacked } from "./pieces";

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
  lstm_units_f32(m, hidden, 0, hidden, kx, xRows, hRows, cRows, w, hOutRows, cOutRows);
}

/**
 * lstm_step_f32 for units first .. first + units - 1 of `hidden` alone; first is a multiple
 * of 8. Rows of cRows, hOutRows and cOutRows start at unit `first`; xRows, hRows and w are
 * those of the whole step.
 */
export function lstm_units_f32(
  m: i32, hidden: i32, first: i32, units: i32, kx: i32, xRows: usize, hRows: usize, cRows: usize,
  w: usize, hOutRows: usize, cOutRows: usize
): void {
  const all = ((hidden + 3) >> 2) << 1;
  if (!ASC_NO_ASSERT) {
    const bytes = <usize>units << 2;
    checkUnits(hidden, first, units);
    checkLeast(kx, 0);
    checkRows(xRows, m, <usize>kx << 2);
    checkRows(hRows, m, <usize>hidden << 2);
    checkRows(cRows, m, bytes);
    checkRows(hOutRows, m, bytes);
    checkRows(cOutRows, m, bytes);
    checkPacked(w, all, packedBytesOf(kx + hidden));
  }
  reads(kx, xRows, hidden, hRows, 1);
  writesPairs(units, 4, op.PRODUCT, op.LSTM, cOutRows, cRows, hOutRows);
  sweepPacked(m, first >> 1, ((units + 3) >> 2) << 1, all, w);
}
