// N-ary TreeLSTM cells (Tai, Socher, Manning 2015, section 3.2). Leaves see only x,
// internal nodes only their children, as in the paper's sentiment model.
import { checkLeast, checkPacked, checkRows, checkSpan, checkUnits } from "./checks";
import { op } from "./epilogue";
import { reads, writes, writesPairs } from "./job";
import { packedBytesOf, sweepPacked } from "./pieces";

/**
 * Leaf: i, o, u = gates of x (kx columns); c = sigmoid(i) * tanh(u), h = sigmoid(o) * tanh(c).
 * Weights: ceil(hidden / 4) panels [i i i i u u u u], then ceil(hidden / 8) panels of o.
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
  const allPairs = (hidden + 3) >> 2;
  const all = (hidden + 7) >> 3;
  const pairs = (units + 3) >> 2;
  const panels = (units + 7) >> 3;
  const panelBytes = packedBytesOf(kx);
  if (!ASC_NO_ASSERT) {
    checkUnits(hidden, first, units);
    checkLeast(kx, 1);
    checkRows(xRows, m, <usize>kx << 2);
    checkRows(hOutRows, m, <usize>units << 2);
    checkRows(cOutRows, m, <usize>units << 2);
    checkPacked(w, allPairs + all, panelBytes);
  }
  reads(kx, xRows, 0, 0, 0);
  writesPairs(units, 4, op.PRODUCT, op.PRODUCT, cOutRows, 0, 0);
  sweepPacked(m, first >> 2, pairs, allPairs, w);
  w += <usize>allPairs * panelBytes;
  writes(units, op.OUTPUT, cOutRows, 0, hOutRows);
  sweepPacked(m, first >> 3, panels, all, w);
}

/**
 * Internal node with `arity` children (1..8): gates of [h_1 | ... | h_arity];
 *   c = sigmoid(i) * tanh(u) + sum_l sigmoid(f_l) * c_l (l ascending), h = sigmoid(o) * tanh(c)
 * hRowsTables and cRowsTables: arrays of `arity` addresses of row tables, one per child.
 * Weights: ceil(hidden / 4) panels [i i i i u u u u]; for each child ceil(hidden / 8)
 * panels of its f; ceil(hidden / 8) panels of o. Output rows must not overlap input rows.
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
  const allPairs = (hidden + 3) >> 2;
  const all = (hidden + 7) >> 3;
  const pairs = (units + 3) >> 2;
  const panels = (units + 7) >> 3;
  const panelBytes = packedBytesOf(hidden * arity);
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
    checkPacked(w, allPairs + all * (arity + 1), panelBytes);
  }
  const firstRows = <usize>load<u32>(hRowsTables);
  const extra = arity - 1;
  // nextRows() takes the second child's table itself when there are two.
  const others = extra == 1 ? <usize>load<u32>(hRowsTables + 4) : hRowsTables + 4;
  reads(hidden, firstRows, hidden, others, extra);
  writesPairs(units, 4, op.PRODUCT, op.PRODUCT, cOutRows, 0, 0);
  sweepPacked(m, first >> 2, pairs, allPairs, w);
  w += <usize>allPairs * panelBytes;
  for (let child = 0; child < arity; ++child) {
    writes(units, op.FORGET, cOutRows, <usize>load<u32>(cRowsTables + (<usize>child << 2)), 0);
    sweepPacked(m, first >> 3, panels, all, w);
    w += <usize>all * panelBytes;
  }
  writes(units, op.OUTPUT, cOutRows, 0, hOutRows);
  sweepPacked(m, first >> 3, panels, all, w);
}
