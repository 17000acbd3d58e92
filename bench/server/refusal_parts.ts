/**
 * Where the time of refusals goes: on the way to the server's handler, in it, and from there to whoever asked. The
 * first and the last part are of both event loops, of sockets and of what the system runs instead. Requests bear
 * numbers (`x-request-id`), by which two processes' times are put together.
 */
import { absoluteMsOf } from "../../src/engine/wall/clock.ts";
import type { Wire, WireAnswer } from "../../src/load/wire.ts";
import { LogHistogram } from "../soak/histogram.ts";

/** Times of requests by their number, in milliseconds since 1970, outside of the heap. */
export class TimesByNumber {
  #ms = new Float64Array(2 * 4096).fill(NaN);

  note(number: number, fromMs: number, toMs: number): void {
    if (2 * number >= this.#ms.length) {
      const grown = new Float64Array(4 * number).fill(NaN);
      grown.set(this.#ms);
      this.#ms = grown;
    }
    this.#ms[2 * number] = fromMs;
    this.#ms[2 * number + 1] = toMs;
  }

  /** @returns undefined of one that there is none of */
  of(number: number): readonly [fromMs: number, toMs: number] | undefined {
    const [fromMs, toMs] = this.#ms.subarray(2 * number, 2 * number + 2);
    return fromMs >= 0 ? [fromMs, toMs] : undefined;
  }

  /** [number, from, to] of all that there are. */
  *entries(): Generator<[number, number, number]> {
    for (let number = 0; 2 * number < this.#ms.length; number++) {
      const times = this.of(number);
      if (times) yield [number, ...times];
    }
  }
}

/** Numbers requests, and notes when refusals were sent and heard of. */
export function numberedWire(
  wire: Wire,
  times: TimesByNumber,
  nowNs: () => number,
): Wire {
  let sent = 0;
  return {
    async send(request, options): Promise<WireAnswer> {
      const number = sent++;
      const fromNs = nowNs();
      const headers = { ...request.headers, "x-request-id": `${number}` };
      const answer = await wire.send({ ...request, headers }, options);
      if (answer.status === 503) {
        times.note(number, absoluteMsOf(fromNs), absoluteMsOf(answer.endNs));
      }
      return answer;
    },
    close: () => wire.close(),
  };
}

/** Milliseconds that refusals spent in each part. */
export interface RefusalParts {
  readonly toHandler: LogHistogram;
  readonly inHandler: LogHistogram;
  readonly toClient: LogHistogram;
}

/** @param answered by the server: number, when its handler was called, when it had an answer */
export function refusalParts(
  sent: TimesByNumber,
  answered: readonly (readonly [number, number, number])[],
): RefusalParts {
  const parts = {
    toHandler: new LogHistogram(),
    inHandler: new LogHistogram(),
    toClient: new LogHistogram(),
  };
  for (const [number, calledMs, answeredMs] of answered) {
    const client = sent.of(number);
    if (client === undefined) continue;
    const [fromMs, toMs] = client;
    parts.toHandler.add(Math.max(0, calledMs - fromMs));
    parts.inHandler.add(answeredMs - calledMs);
    parts.toClient.add(Math.max(0, toMs - answeredMs));
  }
  return parts;
}
