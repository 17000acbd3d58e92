// Weights that come from memory, brought into cache ahead of the tiles that read them: one load a
// cache line, in four streams. A tile alone reads one stream, and hardware prefetchers begin anew at
// every page; four streams come four times as fast.

const LINE_BYTES: usize = 64;
const STREAMS: usize = 4;

/** What was loaded, so that no compiler leaves it out. */
let seen: v128 = i32x4.splat(0);

/** Loads `bytes` at w, a multiple of 16. */
export function touch(w: usize, bytes: usize): void {
  const quarter = bytes / STREAMS & ~(LINE_BYTES - 1);
  let all = i32x4.splat(0);
  let w1 = w + quarter, w2 = w1 + quarter, w3 = w2 + quarter;
  for (const end = w + quarter; w < end; w += LINE_BYTES) {
    all = v128.or(v128.or(all, v128.load(w)), v128.load(w1));
    all = v128.or(v128.or(all, v128.load(w2)), v128.load(w3));
    w1 += LINE_BYTES; w2 += LINE_BYTES; w3 += LINE_BYTES;
  }
  seen = all;
}
