/**
 * The open loop: every request is started when it is due, whatever has become of those before. Latency counts from
 * when it was due, so that a server that stands still is charged for all that it kept waiting, not for one request a
 * connection ("coordinated omission").
 */
import { Fifo } from "../base/fifo.ts";
import { Ledger } from "./ledger.ts";
import type { LoadPlan } from "./plan.ts";
import type { LoadClock, Wire, WireAnswer } from "./wire.ts";

/** Requests that are started before the event loop has a turn, when the generator is behind. */
const BURST = 32;

/** What a run needs besides its plan. */
export interface RunOptions {
  readonly wire: Wire;
  readonly clock: LoadClock;
  /** Requests on the wire at most; more of them wait, and that counts. */
  readonly connections: number;
  /** After this from when it was due a client gives up: the request has failed. */
  readonly timeoutNs: number;
  /** Stops starting requests; those under way are waited for. */
  readonly stop?: AbortSignal;
  /** Told of each request that is over. */
  readonly onEnd?: (ledger: Ledger, i: number) => void;
}

/**
 * Sends what the plan says and waits until all of it is over.
 * @returns the books, times counted from the start of the plan; requests after a `stop` have no `launchedNs`
 */
export async function runLoad(
  plan: LoadPlan,
  { wire, clock, connections, timeoutNs, stop, onEnd }: RunOptions,
): Promise<Ledger> {
  const { dueNs, choice, requests, leaveNs, warmUpNs } = plan;
  const ledger = new Ledger(dueNs.length);
  const startNs = clock.nowNs();
  const waiting = new Fifo<number>();
  let onWire = 0;
  let open = 0;
  let allOver: () => void = () => {};

  /** When its client gives up, and whether that is as planned. */
  const patience = (i: number) => {
    const leaves = leaveNs[i] < timeoutNs;
    return {
      untilNs: startNs + dueNs[i] + (leaves ? leaveNs[i] : timeoutNs),
      why: leaves ? "left" as const : "timed out" as const,
    };
  };
  const over = (i: number, answer: WireAnswer, why?: "left" | "timed out") => {
    ledger.ended(
      i,
      {
        ...answer,
        firstNs: answer.firstNs - startNs,
        endNs: answer.endNs - startNs,
        eventsNs: answer.eventsNs.map((ns) => ns - startNs),
      },
      why,
      dueNs[i] >= warmUpNs,
    );
    open--;
    onEnd?.(ledger, i);
    if (open === 0) allOver();
  };
  const send = async (i: number): Promise<void> => {
    onWire++;
    ledger.sentNs[i] = clock.nowNs() - startNs;
    const { untilNs, why } = patience(i);
    const abandon = new AbortController();
    const takeBack = clock.at(untilNs, () => abandon.abort());
    const answer = await wire.send(requests[choice[i]], {
      abandon: abandon.signal,
    });
    takeBack();
    onWire--;
    over(i, answer, abandon.signal.aborted ? why : undefined);
    pump();
  };
  /** Gives free connections to those that wait, as far as their clients still do. */
  const pump = () => {
    while (onWire < connections) {
      const next = waiting.shift();
      if (next === undefined) return;
      const { untilNs, why } = patience(next);
      if (clock.nowNs() < untilNs) void send(next);
      else over(next, neverSent(untilNs), why);
    }
  };

  let burst = 0;
  for (let i = 0; i < dueNs.length; i++) {
    const atNs = startNs + dueNs[i];
    if (clock.nowNs() < atNs) {
      await clock.until(atNs, stop);
      burst = 0;
    } else if (++burst % BURST === 0) await clock.turn();
    if (stop?.aborted) break;
    ledger.dueNs[i] = dueNs[i];
    ledger.launchedNs[i] = clock.nowNs() - startNs;
    open++;
    ledger.openMost = Math.max(ledger.openMost, open);
    waiting.push(i);
    pump();
  }
  if (open > 0) await new Promise<void>((resolve) => allOver = resolve);
  return ledger;
}

/** Of a request whose client was gone before there was a connection. */
function neverSent(endNs: number): WireAnswer {
  return {
    ...{ status: 0, error: "no connection in time", firstNs: NaN, endNs },
    ...{ bytes: 0, eventsNs: [] },
  };
}
