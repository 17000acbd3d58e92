/** What the papers' evaluations share: one simulated run, peaks found by search, and how they are printed. */
import { ascending, mean, percentile } from "../../src/base/statistics.ts";
import { NS_PER_MS, NS_PER_S } from "../../src/base/units.ts";
import type { CostModel } from "../../src/cost/cost_model.ts";
import type { ActiveSession } from "../../src/engine/core/active_request.ts";
import type { EngineCore } from "../../src/engine/core/engine.ts";
import { simulatedEngine } from "../../src/engine/virtual/simulated_engine.ts";
import type { StreamModel } from "../../src/graph/stream_model.ts";
import {
  driveVirtual,
  type VirtualArrival,
} from "../../src/engine/virtual/virtual_driver.ts";
import type { Launch, Note, Task } from "../../src/policy/launch.ts";
import { TARGETS_LEAST } from "../../src/plan/lasting.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { Observer } from "../../src/policy/records.ts";
import type { Context } from "./experiment.ts";

export interface Outcome {
  /** By order of arrival. */
  readonly latenciesNs: Float64Array;
  readonly sortedNs: Float64Array;
  /** From arrival to the start of the first task, by order of arrival. */
  readonly waitsNs: Float64Array;
  readonly meanMs: number;
  readonly p99Ms: number;
  /** First arrival to last departure. */
  readonly perS: number;
  /** Device time that a request took, and the share of the time in which the device was busy. */
  readonly workUs: number;
  readonly utilisation: number;
  /** Rows of the batch that a row was in, on average. */
  readonly rowsSeen: number;
  /** Rows of the largest batch. */
  readonly rowsMax: number;
  /** Notes of the decisions, by what was done. */
  readonly ops: Readonly<Partial<Record<Note["op"], number>>>;
}

/** A request, or a frame of a stream that has a number. */
export type SimulatedArrival = VirtualArrival & { readonly stream?: number };

export interface SimulateOptions {
  policy: Policy;
  cost: CostModel;
  workers?: number;
  /** Streams are opened with their first frame; as many frames wait in them as come. */
  arrivals: readonly SimulatedArrival[];
  /** Host time of every task before its worker has it, hidden behind what the worker executes; default 0. */
  submitNs?: number;
  /** Host time of a launch on top of it, before its first task: merging graphs; default: none. */
  launchNs?: (launch: Launch) => number;
  /** Hears of every decision, task and departure as well. */
  observer?: Pick<Observer, "decided" | "waited" | "task" | "request">;
}

/** Runs a policy on virtual time; every request must be done. */
export function simulate(
  { policy, cost, workers = 1, arrivals, submitNs = 0, launchNs, observer }:
    SimulateOptions,
): Outcome {
  const latenciesNs = new Float64Array(arrivals.length);
  const waitsNs = new Float64Array(arrivals.length);
  const ops: Partial<Record<Note["op"], number>> = {};
  let lastNs = 0;
  let busyNs = 0;
  let rows = 0;
  let squares = 0;
  let rowsMax = 0;
  /** Of launches of which nothing is submitted yet. */
  const dueNs = new Map<number, number>();
  const hostNs = ({ launchId }: Task): number => {
    const ns = submitNs + (dueNs.get(launchId) ?? 0);
    dueNs.delete(launchId);
    return ns;
  };
  const { engine, timeline } = simulatedEngine({
    models: [...new Set(arrivals.map(({ model }) => model))],
    policy,
    cost,
    workers,
    ...((submitNs > 0 || launchNs) && { submitNs: hostNs }),
    queueMax: Infinity,
    observer: {
      decided(atNs, launch, launchId) {
        if (launchNs) dueNs.set(launchId, launchNs(launch));
        for (const { op } of launch.notes ?? []) ops[op] = (ops[op] ?? 0) + 1;
        observer?.decided?.(atNs, launch, launchId);
      },
      waited(atNs, untilNs, why) {
        observer?.waited?.(atNs, untilNs, why);
      },
      task(task, record) {
        observer?.task?.(task, record);
        busyNs += record.endNs - record.startNs;
        rows += record.rows;
        squares += record.rows * record.rows;
        rowsMax = Math.max(rowsMax, record.rows);
      },
      request(request, record) {
        const { id, arrivalNs, startNs, endNs, outcome } = record;
        observer?.request?.(request, record);
        if (outcome !== "done") throw new Error(`Request ${id} is ${outcome}`);
        latenciesNs[id] = endNs - arrivalNs;
        waitsNs[id] = startNs - arrivalNs;
        lastNs = endNs;
      },
    },
  });
  driveVirtual(engine, timeline, inSessions(engine, arrivals));
  const durationNs = lastNs - arrivals[0].arrivalNs;
  const sortedNs = ascending(latenciesNs);
  return {
    latenciesNs,
    sortedNs,
    waitsNs,
    meanMs: mean(sortedNs) / NS_PER_MS,
    p99Ms: percentile(sortedNs, 0.99) / NS_PER_MS,
    perS: arrivals.length / durationNs * NS_PER_S,
    workUs: busyNs / arrivals.length / 1000,
    utilisation: busyNs / (workers * durationNs),
    rowsSeen: squares / rows,
    rowsMax,
    ops,
  };
}

function* inSessions(
  engine: EngineCore,
  arrivals: readonly SimulatedArrival[],
): Generator<VirtualArrival> {
  const sessions = new Map<number, ActiveSession>();
  for (const { stream, ...arrival } of arrivals) {
    if (stream === undefined) {
      yield arrival;
      continue;
    }
    let session = sessions.get(stream);
    if (session === undefined) {
      const model = arrival.model as StreamModel;
      session = engine.sessions.open(model, arrivals.length);
      sessions.set(stream, session);
    }
    yield { ...arrival, session };
  }
}

/** Targets that requests come for where a peak is looked for, so that it is too high by a hundredth at most. */
const PEAK_TARGETS = 5 * TARGETS_LEAST;
/** Requests that a percentile is taken of, at least. */
const PEAK_REQUESTS_LEAST = 1500;

/** Requests that a peak is looked for with, at a rate; with --quick as few as say anything. */
export function peakRequests(
  { quick }: Pick<Context, "quick">,
  ratePerS: number,
  sloNs: number,
): number {
  const targets = quick ? TARGETS_LEAST : PEAK_TARGETS;
  return Math.max(
    PEAK_REQUESTS_LEAST,
    Math.ceil(targets * sloNs * ratePerS / NS_PER_S),
  );
}

/** Highest rate, to half a percent, for which `holds`; it holds at `from`. */
export function highestRate(
  from: number,
  holds: (ratePerS: number) => boolean,
): number {
  let low = from;
  let high = from * 2;
  while (holds(high)) [low, high] = [high, high * 2];
  while (high / low > 1.005) {
    const middle = Math.sqrt(low * high);
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

export function percent(share: number, digits = 1): string {
  return `${(100 * share).toFixed(digits)} %`;
}
