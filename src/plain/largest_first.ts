/** Ids by their scores. */

/**
 * Ids of scores, the largest score first, the lower id of equal ones, NaN never: a heap, of which only as much is put in
 * order as is asked for. A draw asks for few of tens of thousands.
 */
export function* largestFirst(scores: Float32Array): Generator<number> {
  const heap = new Int32Array(scores.length);
  let size = 0;
  for (let id = 0; id < scores.length; id++) {
    if (!Number.isNaN(scores[id])) heap[size++] = id;
  }
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
