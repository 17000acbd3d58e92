import { assert } from "../../base/assert.ts";
import {
  finiteNonNegative,
  listOf,
  number,
  ofType,
  withMethods,
} from "../../base/checked_options.ts";
import { describe } from "../../base/describe.ts";
import { RANK } from "../../base/event_heap.ts";
import type { EngineCore } from "../core/engine.ts";
import type { Submission } from "../core/engine_options.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import type { Timeline } from "./timeline.ts";
import { checkTimeline } from "./virtual_workers.ts";

const checkEngine = withMethods("an EngineCore", ["submit", "pump"]);

const isTime = number("a time in nanoseconds", (ns) => !Number.isNaN(ns));

/** Waits after which a policy that is alone with its requests, and launches none, is taken to wait for ever. */
const WAITS_MAX = 1e6;

/** Something that happens to the engine from outside, at a time: arrivals and cancellations. */
export interface VirtualArrival extends Submission {
  /** When it enters the engine, after its inputs were copied in; default: arrivalNs. Ascending, too. */
  enterNs?: number;
  /** The request is cancelled at this time unless it has ended. */
  cancelAtNs?: number;
}

/**
 * Runs an engine on virtual time until every arrival has departed. Equal arrivals, policy and costs give equal runs.
 * @param timeline the one that the engine's executor has
 * @param arrivals in ascending order of arrivalNs; taken one by one, so that a generator will do
 * @param onRefused called when the engine refuses a request at the boundary; default: throws the error
 * @throws TypeError on an argument that is not one
 * @throws RangeError on an arrival whose times are none, or before those of the one that came last
 * @throws Error when requests are left but nothing will ever happen again (a policy that lost one), or
 * nothing but that the policy waits, a million times, as `driveTimeline` does
 *
 * @example A request is cancelled, another is refused
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, serial } from "@shoal/core";
 * import { constantCost, driveVirtual, EngineCore, SimExecutor, Timeline } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const timeline = new Timeline();
 * const executor = new SimExecutor({
 *   timeline,
 *   cost: constantCost(1000),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const outcomes: string[] = [];
 * const engine = new EngineCore({
 *   models: [model],
 *   policy: serial(),
 *   executor,
 *   observer: { request: (_, { outcome }) => outcomes.push(outcome) },
 * });
 * driveVirtual(
 *   engine,
 *   timeline,
 *   [
 *     { model, input: { tokens: [1, 2, 3, 4] }, arrivalNs: 0, cancelAtNs: 1500 },
 *     { model, input: { tokens: [99] }, arrivalNs: 100 },
 *     { model, input: { tokens: [1] }, arrivalNs: 200 },
 *   ],
 *   (_, error) => outcomes.push(error.name),
 * );
 * assert.deepEqual(outcomes, ["RangeError", "cancelled", "done"]);
 * ```
 */
export function driveVirtual(
  engine: EngineCore,
  timeline: Timeline,
  arrivals: Iterable<VirtualArrival>,
  onRefused: (arrival: VirtualArrival, error: Error) => void = (_, error) => {
    throw error;
  },
): void {
  checkEngine("engine", engine);
  checkTimeline("timeline", timeline);
  ofType("function")("onRefused", onRefused);
  if (typeof arrivals?.[Symbol.iterator] !== "function") {
    throw new TypeError(
      `"arrivals" are requests one after the other, got ${describe(arrivals)}`,
    );
  }
  const source = arrivals[Symbol.iterator]();
  const arriveNext = (): void => {
    const next = source.next();
    if (next.done) return;
    const arrival = next.value;
    const entersNs = checkedEntryNs(arrival, timeline.nowNs);
    timeline.at(entersNs, RANK.arrival, () => {
      let request: ActiveRequest | undefined;
      try {
        request = engine.submit(arrival);
      } catch (error) {
        onRefused(arrival, error as Error);
      }
      const { cancelAtNs } = arrival;
      if (request && cancelAtNs !== undefined) {
        const cancelled = request;
        timeline.at(Math.max(cancelAtNs, timeline.nowNs), RANK.arrival, () => {
          engine.cancel(
            cancelled,
            timeline.nowNs,
            new DOMException("Cancelled", "AbortError"),
          );
        });
      }
      arriveNext();
    });
  };
  arriveNext();
  driveTimeline(engine, timeline);
}

/** When it enters. @throws RangeError on times that are none, or not in order */
function checkedEntryNs(
  { arrivalNs, enterNs = arrivalNs, cancelAtNs }: VirtualArrival,
  nowNs: number,
): number {
  finiteNonNegative("arrivalNs", arrivalNs);
  finiteNonNegative("enterNs", enterNs);
  if (cancelAtNs !== undefined) isTime("cancelAtNs", cancelAtNs);
  if (enterNs < arrivalNs) {
    throw new RangeError(
      `"enterNs" is not before "arrivalNs", ${arrivalNs}, got ${enterNs}`,
    );
  }
  if (enterNs >= nowNs) return enterNs;
  throw new RangeError(
    `Arrivals are in order of time, got one at ${enterNs} ns behind one at ${nowNs} ns; sort them`,
  );
}

/**
 * Lets happen what a timeline has, and what follows from it, and pumps the engine every time: for those who put
 * arrivals on the timeline themselves, such as frames or callers' next requests that come when others have ended.
 * @param timeline the one that the engine's executor has
 * @throws Error when requests are left but nothing will ever happen again (a policy that lost one), or
 * nothing but that the policy waits, a million times
 *
 * @example Two streams of 50 frames, one every 8 ms
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstmStream } from "@shoal/core";
 * import { constantCost, driveTimeline, EngineCore, SimExecutor, Timeline } from "@shoal/core/simulate";
 *
 * const model = lstmStream();
 * const timeline = new Timeline();
 * const executor = new SimExecutor({
 *   timeline,
 *   cost: constantCost(1_000_000),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const engine = new EngineCore({ models: [model], policy: cellular(), executor });
 * const input = { x: new Float32Array(40) };
 * let done = 0;
 * for (const session of [engine.sessions.open(model, 8), engine.sessions.open(model, 8)]) {
 *   for (let frame = 0; frame < 50; frame++) {
 *     const arrivalNs = frame * 8_000_000;
 *     const push = () => void engine.submit({ model, session, input, arrivalNs, onEnd: () => done++ });
 *     timeline.at(arrivalNs, 1, push);
 *   }
 * }
 * driveTimeline(engine, timeline);
 * assert.equal(done, 100);
 * ```
 */
export function driveTimeline(engine: EngineCore, timeline: Timeline): void {
  let wakeNs = Infinity;
  let waits = 0;
  let before = engine.active;
  while (timeline.advance()) {
    const nextNs = engine.pump(timeline.nowNs);
    const { active } = engine;
    if (timeline.isOver && active === 0) return;
    waits = timeline.isOver && active === before ? waits + 1 : 0;
    before = active;
    assert(
      waits < WAITS_MAX,
      `${left(engine)} waiting, and does nothing but wait, ${waits} times now`,
    );
    if (nextNs < Infinity && (nextNs < wakeNs || wakeNs <= timeline.nowNs)) {
      wakeNs = nextNs;
      timeline.at(nextNs, RANK.schedule, () => {});
    }
  }
  assert(engine.active === 0, `${left(engine)} waiting for nothing`);
}

function left({ policyName, active }: EngineCore): string {
  return `Policy "${policyName}" leaves ${active} requests`;
}

/**
 * Arrivals whose inputs are copied in one by one as they come, before the engine sees them.
 * Source: E2bird, section 5.1 (the memory pool's InStream).
 * @param arrivals in ascending order of arrivalNs
 * @param copyNs time of one request's copy
 * @returns copies of the arrivals, with the time at which each enters the engine; latency still counts from arrivalNs
 * @throws TypeError or RangeError on an argument that is not one
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm } from "@shoal/core";
 * import { throughInStream } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const at = (arrivalNs: number) => ({ model, input: { tokens: [1] }, arrivalNs });
 * const arrivals = throughInStream([at(0), at(10), at(900)], 100);
 * assert.deepEqual(arrivals.map(({ enterNs }) => enterNs), [100, 200, 1000]);
 * ```
 */
export function throughInStream(
  arrivals: readonly VirtualArrival[],
  copyNs: number,
): VirtualArrival[] {
  listOf(ofType("object"))("arrivals", arrivals);
  finiteNonNegative("copyNs", copyNs);
  let freeNs = 0;
  return arrivals.map((arrival) => {
    freeNs = Math.max(freeNs, arrival.arrivalNs) + copyNs;
    return { ...arrival, enterNs: freeNs };
  });
}
