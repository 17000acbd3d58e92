/** Ids by their scores. */

/** Buckets of scores: by sign, exponent and three bits more. */
const BUCKETS = 2 ** 12;
const SHIFT = 20;
const ZERO = BUCKETS / 2;
/** That of -Infinity; below are no numbers. */
const LOWEST = ~0xff800000 >>> SHIFT;

/** Ids that are put in order first; then eight times as many each time. */
const FIRST = 64;

/**
 * Ids of scores, the largest score first, the lower id of equal ones, NaN never. Only as much is put in order as is asked
 * for: a draw asks for few of tens of thousands. Scores are counted by buckets; as many of the highest as hold some ids
 * become a heap, and the next ones when those are used up.
 */
export function* largestFirst(scores: Float32Array): Generator<number> {
  const counts = countsOf(scores);
  let above = BUCKETS;
  for (let wanted = FIRST; above > LOWEST; wanted *= 8) {
    let size = 0;
    let from = above;
    while (from > LOWEST && size < wanted) size += counts[--from];
    yield* ordered(scores, idsOf(scores, size, from, above));
    above = from;
  }
}

/** Bucket of a score by its bits: in the order of scores, with -0 where 0 is. Signs are no branch: they are random. */
function bucketOf(bits: number): number {
  const own = bits === -(2 ** 31) ? 0 : bits;
  return (own ^ (own >> 31 | 2 ** 31)) >>> SHIFT;
}

/** The least score of a bucket. */
function leastOf(bucket: number): number {
  if (bucket === LOWEST) return -Infinity;
  const bits = bucket >= ZERO ? (bucket - ZERO) << SHIFT : ~(bucket << SHIFT);
  return new Float32Array(Int32Array.of(bits).buffer)[0];
}

function countsOf(scores: Float32Array): Int32Array {
  const { buffer, byteOffset, length } = scores;
  const bits = new Int32Array(buffer, byteOffset, length);
  const counts = new Int32Array(BUCKETS);
  for (let id = 0; id < length; id++) {
    if (!Number.isNaN(scores[id])) counts[bucketOf(bits[id])]++;
  }
  return counts;
}

/** The `size` ids of buckets from one on and below another. */
function idsOf(
  scores: Float32Array,
  size: number,
  from: number,
  above: number,
): Int32Array {
  const ids = new Int32Array(size);
  const [least, most] = [leastOf(from), leastOf(above)];
  const isTop = above === BUCKETS;
  let count = 0;
  for (let id = 0; id < scores.length; id++) {
    const score = scores[id];
    if (score >= least && (isTop || score < most)) ids[count++] = id;
  }
  return ids;
}

/** Ids in order, of which the first is known after one look at each of them: a heap. */
function* ordered(scores: Float32Array, heap: Int32Array): Generator<number> {
  let size = heap.length;
  const isBefore = (a: number, b: number) =>
    scores[a] > scores[b] || (scores[a] === scores[b] && a < b);
  /** Puts an id in at a place that is free, or below it. */
  const sink = (id: number, from: number) => {
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], id)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = id;
  };
  for (let at = (size >> 1) - 1; at >= 0; at--) sink(heap[at], at);
  while (size > 0) {
    yield heap[0];
    size--;
    sink(heap[size], 0);
  }
}
