// Weights that come from memory, brought into the second-level cache ahead of the tiles that read
// them: one load a cache line, in two streams. A tile alone waits: its rows and a long panel do not
// fit the first-level cache together, and what is fetched again of the rows queues behind the weights.
//
// Loads that nobody uses are left out by compilers, in the engine too, silently: what was loaded is
// kept in a global that the next call reads.

const LINE_BYTES: usize = 64;
const STREAMS: usize = 2;

/** All bits that were loaded so far. */
let seen: v128 = i32x4.splat(0);

/** Loads `bytes` at w, a multiple of 16. */
export function touch(w: usize, bytes: usize): void {
  const part = bytes / STREAMS & ~(LINE_BYTES - 1);
  let all = seen;
  let w1 = w + part;
  for (const end = w + part; w < end; w += LINE_BYTES) {
    all = v128.or(v128.or(all, v128.load(w)), v128.load(w1));
    w1 += LINE_BYTES;
  }
  seen = all;
}
