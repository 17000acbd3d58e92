/** Several sources as one, in the order in which they have something; of two that have, the one that waited longer. */

/** What a source gave, and which it was. */
export interface Interleaved<T> {
  readonly source: number;
  readonly value: T;
}

/**
 * Asks each source for one value ahead, so that none of them waits for another. When one fails, or nobody asks any
 * more, the others are ended.
 */
export async function* interleaved<T>(
  sources: readonly AsyncIterable<T>[],
): AsyncGenerator<Interleaved<T>, void, undefined> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const arrived: { source: number; result: IteratorResult<T> }[] = [];
  let failed: { readonly error: unknown } | undefined;
  let wake = () => {};
  const ask = (source: number) => {
    iterators[source].next().then(
      (result) => arrived.push({ source, result }),
      (error) => failed ??= { error },
    ).then(() => wake());
  };
  try {
    iterators.forEach((_, source) => ask(source));
    for (let open = iterators.length; open > 0;) {
      const next = arrived.shift();
      if (next === undefined) {
        if (failed) throw failed.error;
        await new Promise<void>((resolve) => wake = resolve);
        continue;
      }
      if (next.result.done) {
        open--;
        continue;
      }
      yield { source: next.source, value: next.result.value };
      ask(next.source);
    }
  } finally {
    for (const iterator of iterators) iterator.return?.()?.catch(() => {});
  }
}
