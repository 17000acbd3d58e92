import { describe } from "../../base/describe.ts";
import { nextTurn } from "./next_turn.ts";

/**
 * Results of what comes in, in order, with a bounded number under way: what is asked for is not asked for earlier than
 * it may go on, and a result does not wait for what comes in next.
 * @param push starts one
 * @param ahead under way at once, at most
 * @param onError hears of those that fail, which are left out then, and is waited for; default: the first ends the
 * iteration
 */
export async function* orderedResults<In, Out>(
  inputs: AsyncIterable<In> | Iterable<In>,
  push: (input: In) => Promise<Out>,
  ahead: number,
  onError?: (error: Error, index: number) => void,
): AsyncGenerator<Out, void, undefined> {
  const source = (inputs as AsyncIterable<In>)[Symbol.asyncIterator]?.() ??
    (inputs as Iterable<In>)[Symbol.iterator]();
  const underWay: Promise<Out>[] = [];
  let asked: Promise<void> | undefined;
  let came: IteratorResult<In> | undefined;
  let broken: { readonly error: unknown } | undefined;
  let isOver = false;
  let index = 0;

  const ask = async (): Promise<void> => {
    try {
      came = asResult(await source.next());
    } catch (error) {
      broken = { error };
    }
  };
  const take = (): void => {
    asked = undefined;
    if (broken || came?.done) isOver = true;
    else {
      const result = push(came!.value);
      // Who looks at it later hears of it still.
      result.catch(() => {});
      underWay.push(result);
    }
    came = undefined;
  };

  let failure: { readonly error: unknown } | undefined;
  try {
    for (;;) {
      if (!isOver && underWay.length < ahead) asked ??= ask();
      const [first] = underWay;
      if (asked !== undefined) {
        await (first ? Promise.race([asked, settled(first)]) : asked);
        if (came || broken) {
          take();
          continue;
        }
      }
      if (first === undefined) break;
      underWay.shift();
      const number = index++;
      let result: Out;
      try {
        result = await first;
      } catch (error) {
        if (onError === undefined) throw error;
        await onError(error as Error, number);
        // What is refused at once, as there is no room, would otherwise keep everybody from making some.
        await new Promise<void>(nextTurn);
        continue;
      }
      // Out there: what whoever iterates throws in here is no input's error.
      yield result;
    }
  } catch (error) {
    failure = { error };
    throw error;
  } finally {
    const isComing = asked !== undefined && !came && !broken;
    if (!isOver) await end(source, failure !== undefined || isComing);
  }
  if (broken) throw broken.error;
}

/** @throws TypeError on what is no result of an iterator, as for await does */
function asResult<In>(result: IteratorResult<In>): IteratorResult<In> {
  if (typeof result === "object" && result !== null) return result;
  throw new TypeError(`Iterator result ${describe(result)} is not an object`);
}

function settled(promise: Promise<unknown>): Promise<void> {
  return promise.then(() => {}, () => {});
}

/**
 * Tells who makes the inputs that no more are asked for.
 * @param unheard whether nobody wants to know what comes of it: there is another error, or an input under way that may
 * never come, behind which a generator's return() waits
 */
async function end(
  source: AsyncIterator<unknown> | Iterator<unknown>,
  unheard: boolean,
): Promise<void> {
  const returned = (async () => void await source.return?.())();
  if (unheard) returned.catch(() => {});
  else await returned;
}
