/**
 * Where the time of refusals goes: on the way to the server's handler, in it, and from there to whoever asked. The
 * first and the last part are of both event loops, of sockets and of what the system runs instead. Requests bear
 * numbers (`x-request-id`), by which two processes' times are put together.
 */
import { absoluteMsOf } from "../../src/engine/wall/clock.ts";
import type { Wire, WireAnswer } from "../../src/load/wire.ts";
import { LogHistogram } from "../soak/histogram.ts";
import type { Captured } from "./wire_capture.ts";

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

/** Milliseconds of refusals as the wire has them, and of the ways to it and from it. */
export interface WireParts {
  /** From the request's last byte to the answer's first: what the server owes. */
  readonly onWire: LogHistogram;
  /** The same from the request's first byte. */
  readonly onWireFromFirst: LogHistogram;
  /** From sending to the request's last byte: the generator's own, and its runtime's. */
  readonly toWire: LogHistogram;
  /** From there until the handler is called. */
  readonly wireToHandler: LogHistogram;
  /** From the handler's answer to the answer's first byte. */
  readonly handlerToWire: LogHistogram;
  /** From there until the generator has heard of it. */
  readonly wireToClient: LogHistogram;
}

/** @param answered see `refusalParts` */
export function wireParts(
  sent: TimesByNumber,
  answered: readonly (readonly [number, number, number])[],
  { exchanges }: Captured,
): WireParts {
  const parts = {
    onWire: new LogHistogram(),
    onWireFromFirst: new LogHistogram(),
    toWire: new LogHistogram(),
    wireToHandler: new LogHistogram(),
    handlerToWire: new LogHistogram(),
    wireToClient: new LogHistogram(),
  };
  const handled = new TimesByNumber();
  for (const times of answered) handled.note(...times);
  for (const { status, number, firstMs, lastMs, answerMs } of exchanges) {
    if (status !== 503) continue;
    parts.onWire.add(answerMs - lastMs);
    parts.onWireFromFirst.add(answerMs - firstMs);
    const client = number === undefined ? undefined : sent.of(number);
    const server = number === undefined ? undefined : handled.of(number);
    if (client === undefined || server === undefined) continue;
    // Clocks of processes and of the kernel are apart by some microseconds.
    parts.toWire.add(Math.max(0, lastMs - client[0]));
    parts.wireToHandler.add(Math.max(0, server[0] - lastMs));
    parts.handlerToWire.add(Math.max(0, answerMs - server[1]));
    parts.wireToClient.add(Math.max(0, client[1] - answerMs));
  }
  return parts;
}

/** What a table calls them. */
export const PART_TITLES: Readonly<
  Record<keyof RefusalParts | keyof WireParts, string>
> = {
  toHandler: "until the handler",
  inHandler: "in it",
  toClient: "from it to the client",
  onWire: "on the wire",
  onWireFromFirst: "… from the first byte",
  toWire: "client to wire",
  wireToHandler: "wire to handler",
  handlerToWire: "handler to wire",
  wireToClient: "wire to client",
};
