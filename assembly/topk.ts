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
  const worst = values + (<usize>(k - 1) << 2);
  let j = 0;
  for (; j < k; ++j, a += 4) insert(j, load<f32>(a), k, largest, values, ids);
  for (; j + 8 <= n; j += 8, a += 32) {
    // Few elements are better than the worst one kept: most are passed over eight at a time.
    const bound = v128.load_splat<f32>(worst);
    if (!v128.any_true(betterThan(bound, v128.load(a), v128.load(a, 16), largest))) continue;
    for (let i = 0; i < 8; ++i) insert(j + i, load<f32>(a + (<usize>i << 2)), k, largest, values, ids);
  }
  for (; j < n; ++j, a += 4) insert(j, load<f32>(a), k, largest, values, ids);
}

/** Lanes in which x or y stands before the bound; all of them if the bound is NaN. */
// @ts-ignore: decorator
@inline function betterThan(bound: v128, x: v128, y: v128, largest: i32): v128 {
  const better = largest
    ? v128.or(f32x4.gt(x, bound), f32x4.gt(y, bound))
    : v128.or(f32x4.lt(x, bound), f32x4.lt(y, bound));
  return v128.or(better, f32x4.ne(bound, bound));
}

/** Element j takes its place among the best of those before it. */
function insert(j: i32, value: f32, k: i32, largest: i32, values: usize, ids: usize): void {
  // Elements kept so far end at `place`; a full list gives up its worst one.
  let place = min(j, k);
  if (place == k) {
    if (!before(value, load<f32>(values + (<usize>(k - 1) << 2)), largest)) return;
    --place;
  }
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

// @ts-ignore: decorator
@inline function before(a: f32, b: f32, largest: i32): bool {
  if (b != b) return a == a;
  return largest ? a > b : a < b;
}
