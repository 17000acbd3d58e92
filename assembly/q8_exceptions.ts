// Where chains of 16-bit sums have to break. A panel lists, behind the constants of its
// columns, the pairs of steps of k (8 numbers) whose weights could overflow 16 bits, in
// one column or more: with activations up to 127, four products fit if neither the
// positive nor the negative ones of their weights sum to more than 258. 16 numbers of 16
// bits, ascending, 0xffff behind the last; when all 16 are used, every pair from the last
// one on counts as listed.
const LIST: usize = 128;
const LAST: usize = LIST + 30;

/** A panel's first slot. */
// @ts-ignore: decorator
@inline export function firstException(panel: usize): usize {
  return panel + LIST;
}

/** The pair from which on nothing is chained. */
// @ts-ignore: decorator
@inline export function lastException(panel: usize): usize {
  return <usize>load<u16>(panel, LAST);
}

/** The pair a slot names. */
// @ts-ignore: decorator
@inline export function exception(slot: usize): usize {
  return <usize>load<u16>(slot);
}

/** The slot that is next when the first `done` pairs are done. */
// @ts-ignore: decorator
@inline export function afterException(slot: usize, done: usize): usize {
  return exception(slot) < done ? slot + 2 : slot;
}

/** Debug builds: that the pairs between exceptions may be chained. */
export function checkExceptions(panel: usize, steps: i32, weights: usize): void {
  const pairs = min(lastException(panel), <usize>(steps >> 1));
  let slot = firstException(panel);
  for (let pair: usize = 0; pair < pairs; ++pair) {
    if (exception(slot) == pair) slot += 2;
    else assert(mayChain(weights + (pair << 6)), "int8 sums could overflow 16 bits");
  }
}

/** Of one pair of steps of a panel. */
function mayChain(weights: usize): bool {
  for (let lane: usize = 0; lane < 32; lane += 2) {
    let positive = 0, negative = 0;
    for (let i: usize = 0; i < 4; ++i) {
      const v = <i32>load<i8>(weights + lane + ((i >> 1) << 5) + (i & 1));
      if (v > 0) positive += v;
      else negative -= v;
    }
    if (positive > 258 || negative > 258) return false;
  }
  return true;
}
