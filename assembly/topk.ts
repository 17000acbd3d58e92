import { checkLeast, checkRows } from "./checks";
import { row } from "./simd";

/**
 * The k greatest (largest = 1) or least (0) elements of each row of n floats, best first;
 * the lower index stands first among equals, NaN last. Writes k values and their k i32
 * indices. 1 <= k <= n.
 */
export function topk_rows_f32(
  m: i32, n: i32, k: i32, largest: i32, aRows: usize, valueRows: usize, idRows: usize
): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(k, 1);
    checkLeast(n, k);
    checkRows(aRows, m, <usize>n << 2);
    checkRows(valueRows, m, <usize>k << 2);
    checkRows(idRows, m, <usize>k << 2);
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    select(n, k, largest, row(aRows, at), row(valueRows, at), row(idRows, at));
  }
}

function select(n: i32, k: i32, largest: i32, a: usize, values: usize, ids: usize): void {
  for (let j = 0; j < n; ++j, a += 4) {
    const value = load<f32>(a);
    // Elements kept so far end at `last`; a full list gives up its worst one.
    let place = min(j, k);
    if (place == k && !before(value, load<f32>(values + (<usize>(k - 1) << 2)), largest)) continue;
    if (place == k) --place;
    for (; place > 0; --place) {
      const to = <usize>place << 2;
      const other = load<f32>(values + to - 4);
      if (!before(value, other, largest)) break;
      store<f32>(values + to, other);
      store<i32>(ids + to, load<i32>(ids + to - 4));
    }
    store<f32>(values + (<usize>place << 2), value);
    store<i32>(ids + (<usize>place << 2), j);
  }
}

// @ts-ignore: decorator
@inline function before(a: f32, b: f32, largest: i32): bool {
  if (b != b) return a == a;
  return largest ? a > b : a < b;
}
