import { checkLeast, checkPacked, checkRows, checkUnits } from "./checks";
import { gate, opened, remembered } from "./gates";
import { reads } from "./job";
import { packedBytesOf } from "./pieces";

/**
 * One LSTM step over m rows (ONNX LSTM, default activations, no peepholes):
 *   i, o, f, g = gates of [x | h];  c' = sigmoid(f) * c + sigmoid(i) * tanh(g);
 *   h' = sigmoid(o) * tanh(c')
 * x has kx columns, h and c have `hidden`. Weights, each ceil(hidden / 8) panels of 8 units
 * over [x | h]: i, g, f, o; input and recurrent bias added. hOut and cOut rows must not
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
  const gateBytes = <usize>((hidden + 7) >> 3) * packedBytesOf(kx + hidden);
  if (!ASC_NO_ASSERT) {
    const bytes = <usize>units << 2;
    checkUnits(hidden, first, units);
    checkLeast(kx, 0);
    checkRows(xRows, m, <usize>kx << 2);
    checkRows(hRows, m, <usize>hidden << 2);
    checkRows(cRows, m, bytes);
    checkRows(hOutRows, m, bytes);
    checkRows(cOutRows, m, bytes);
    checkPacked(w, 4, gateBytes);
  }
  reads(kx, xRows, hidden, hRows, 1);
  gate(m, hidden, first, units, w, 4, cOutRows);
  gate(m, hidden, first, units, w + gateBytes, 4, hOutRows);
  opened(m, units, cOutRows, hOutRows);
  gate(m, hidden, first, units, w + 2 * gateBytes, 4, hOutRows);
  remembered(m, units, hOutRows, cRows, cOutRows);
  gate(m, hidden, first, units, w + 3 * gateBytes, 4, hOutRows);
  opened(m, units, hOutRows, cOutRows);
}
