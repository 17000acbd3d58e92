// N-ary TreeLSTM cells (Tai, Socher, Manning 2015, section 3.2). Leaves see only x,
// internal nodes only their children, as in the paper's sentiment model.
import { checkLeast, checkPacked, checkRows, checkSpan, checkUnits } from "./checks";
import { gate, opened, remembered } from "./gates";
import { reads } from "./job";
import { packedBytesOf } from "./pieces";

/**
 * Leaf: i, o, u = gates of x (kx columns); c = sigmoid(i) * tanh(u), h = sigmoid(o) * tanh(c).
 * Weights, each ceil(hidden / 8) panels of 8 units: i, u, o.
 */
export function tree_leaf_f32(
  m: i32, hidden: i32, kx: i32, xRows: usize, w: usize, hOutRows: usize, cOutRows: usize
): void {
  tree_leaf_units_f32(m, hidden, 0, hidden, kx, xRows, w, hOutRows, cOutRows);
}

/**
 * tree_leaf_f32 for units first .. first + units - 1 of `hidden` alone; first is a multiple
 * of 8. Rows of hOutRows and cOutRows start at unit `first`; w is that of the whole leaf.
 */
export function tree_leaf_units_f32(
  m: i32, hidden: i32, first: i32, units: i32, kx: i32, xRows: usize, w: usize,
  hOutRows: usize, cOutRows: usize
): void {
  const gateBytes = <usize>((hidden + 7) >> 3) * packedBytesOf(kx);
  if (!ASC_NO_ASSERT) {
    checkUnits(hidden, first, units);
    checkLeast(kx, 1);
    checkRows(xRows, m, <usize>kx << 2);
    checkRows(hOutRows, m, <usize>units << 2);
    checkRows(cOutRows, m, <usize>units << 2);
    checkPacked(w, 3, gateBytes);
  }
  reads(kx, xRows, 0, 0, 0);
  gate(m, hidden, first, units, w, 3, cOutRows);
  gate(m, hidden, first, units, w + gateBytes, 3, hOutRows);
  opened(m, units, cOutRows, hOutRows);
  gate(m, hidden, first, units, w + 2 * gateBytes, 3, hOutRows);
  opened(m, units, hOutRows, cOutRows);
}

/**
 * Internal node with `arity` children (1..8): gates of [h_1 | ... | h_arity];
 *   c = sigmoid(i) * tanh(u) + sum_l sigmoid(f_l) * c_l (l ascending), h = sigmoid(o) * tanh(c)
 * hRowsTables and cRowsTables: arrays of `arity` addresses of row tables, one per child.
 * Weights, each ceil(hidden / 8) panels of 8 units: i, u, f of each child, o. Output rows must
 * not overlap input rows.
 */
export function tree_internal_f32(
  m: i32, hidden: i32, arity: i32, hRowsTables: usize, cRowsTables: usize, w: usize,
  hOutRows: usize, cOutRows: usize
): void {
  tree_internal_units_f32(m, hidden, 0, hidden, arity, hRowsTables, cRowsTables, w, hOutRows, cOutRows);
}

/**
 * tree_internal_f32 for units first .. first + units - 1 of `hidden` alone; first is a
 * multiple of 8. Rows of the tables in cRowsTables, of hOutRows and cOutRows start at unit
 * `first`; hRowsTables and w are those of the whole node.
 */
export function tree_internal_units_f32(
  m: i32, hidden: i32, first: i32, units: i32, arity: i32, hRowsTables: usize, cRowsTables: usize,
  w: usize, hOutRows: usize, cOutRows: usize
): void {
  const gateBytes = <usize>((hidden + 7) >> 3) * packedBytesOf(hidden * arity);
  const gates = 3 + arity;
  if (!ASC_NO_ASSERT) {
    const bytes = <usize>units << 2;
    checkUnits(hidden, first, units);
    assert(arity >= 1 && arity <= 8, "arity must be 1 to 8");
    checkSpan(hRowsTables, <usize>arity << 2);
    checkSpan(cRowsTables, <usize>arity << 2);
    for (let child = 0; child < arity; ++child) {
      checkRows(<usize>load<u32>(hRowsTables + (<usize>child << 2)), m, <usize>hidden << 2);
      checkRows(<usize>load<u32>(cRowsTables + (<usize>child << 2)), m, bytes);
    }
    checkRows(hOutRows, m, bytes);
    checkRows(cOutRows, m, bytes);
    checkPacked(w, gates, gateBytes);
  }
  const firstRows = <usize>load<u32>(hRowsTables);
  const extra = arity - 1;
  // nextRows() takes the second child's table itself when there are two.
  const others = extra == 1 ? <usize>load<u32>(hRowsTables + 4) : hRowsTables + 4;
  reads(hidden, firstRows, hidden, others, extra);
  gate(m, hidden, first, units, w, gates, cOutRows);
  w += gateBytes;
  gate(m, hidden, first, units, w, gates, hOutRows);
  opened(m, units, cOutRows, hOutRows);
  for (let child = 0; child < arity; ++child) {
    w += gateBytes;
    gate(m, hidden, first, units, w, gates, hOutRows);
    remembered(m, units, hOutRows, <usize>load<u32>(cRowsTables + (<usize>child << 2)), cOutRows);
  }
  gate(m, hidden, first, units, w + gateBytes, gates, hOutRows);
  opened(m, units, hOutRows, cOutRows);
}
