/** Runs an engine over stepped workers: who does what next is drawn. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import type { ActiveRequest } from "../../src/engine/core/active_request.ts";
import type { Policy } from "../../src/policy/policy.ts";
import {
  engineOf,
  type RunOptions,
  type RunOutcome,
  watched,
} from "./harness.ts";
import { SteppedExecutor } from "./stepped_executor.ts";

/** How the workers behave. */
export interface Pace {
  readonly seed: number;
  /** How often each is looked at, beside the engine's 4. */
  readonly speeds: readonly number[];
  /** Bytes of each arena to begin with; larger where a task would never fit. */
  readonly taskBytes: number;
  /** One in so many tasks is the last of its crew, which does not come to say so; 0: none. */
  readonly deaths: number;
}

const ENGINE_SPEED = 4;

/** Time that passes between two that do something. */
const TURN_NS = 100;

/** More than any run takes: what goes on for longer goes on for ever. */
const TURNS_MAX = 200_000;

/** What runs; a policy is made for each engine. */
export interface SteppedRun extends Pick<RunOptions, "models" | "arrivals"> {
  policy(): Policy;
}

export function runStepped(
  options: SteppedRun,
  pace: Pace,
): RunOutcome {
  for (let { taskBytes } = pace;; taskBytes *= 2) {
    try {
      const policy = options.policy();
      return run({ ...options, policy }, { ...pace, taskBytes });
    } catch (error) {
      if (!lacksTaskBytes(error)) throw error;
    }
  }
}

/** Whether an engine was given too little room for the tables of a task. */
export function lacksTaskBytes(error: unknown): boolean {
  return /give the engine more taskBytes/.test(`${error}`);
}

function run(
  options: Omit<RunOptions, "cost">,
  { seed, speeds, taskBytes, deaths }: Pace,
): RunOutcome {
  const { models } = options;
  const prng = new Prng(seed);
  const executor = new SteppedExecutor({
    models,
    workers: speeds.length,
    taskBytes,
  });
  const { outcome, arrivals, observer } = watched(options);
  const engine = engineOf({ ...options, isRemote: true }, executor, observer);
  let cancelled: { request: ActiveRequest; atNs: number }[] = [];
  const isDue = ({ atNs }: { atNs: number }) => atNs <= nowNs;
  let nowNs = 0;
  let next = 0;
  /** When the policy wants to be asked again. */
  let wakeNs = Infinity;
  let seen = executor.bell;
  /** Whether something happened that wakes a sleeping engine up. */
  const isAwake = () =>
    executor.bell !== seen || wakeNs <= nowNs ||
    arrivals[next]?.arrivalNs <= nowNs || cancelled.some(isDue);
  const turn = () => {
    seen = executor.bell;
    for (const { task } of executor.poll()) {
      engine.completed(task, nowNs, nowNs);
    }
    for (; arrivals[next]?.arrivalNs <= nowNs; next++) {
      const request = engine.submit(arrivals[next]);
      const { cancelAtNs: atNs } = arrivals[next];
      if (atNs !== undefined) cancelled.push({ request, atNs });
    }
    for (const { request } of cancelled.filter(isDue)) {
      engine.cancel(request, nowNs, new Error("cancelled"));
    }
    cancelled = cancelled.filter((cancel) => !isDue(cancel));
    wakeNs = engine.pump(nowNs);
  };
  const all = ENGINE_SPEED + speeds.reduce((a, b) => a + b, 0);
  for (let turns = 0;; turns++) {
    assert(turns < TURNS_MAX, "the run comes to an end");
    if (
      next === arrivals.length && engine.active === 0 &&
      engine.tasksInFlight === 0
    ) return outcome;
    nowNs += TURN_NS;
    let drawn = prng.int(all) - ENGINE_SPEED;
    if (drawn < 0) {
      // Nothing happens before then.
      if (engine.tasksInFlight === 0) {
        const arrivalNs = arrivals[next]?.arrivalNs ?? Infinity;
        const soonNs = Math.min(wakeNs, arrivalNs);
        if (soonNs < Infinity) nowNs = Math.max(nowNs, soonNs);
      }
      if (isAwake()) turn();
      continue;
    }
    const worker = speeds.findIndex((speed) => (drawn -= speed) < 0);
    executor.step(worker, deaths > 0 && prng.int(deaths) === 0);
  }
}
