/** What a policy answers when it is asked what to do: an answer that is none ends the engine, with words for its author. */
import { describe } from "../../base/describe.ts";
import type { Launch } from "../../policy/launch.ts";
import type { Decision, Policy } from "../../policy/policy.ts";

/** Rows or tokens that a launch is padded to, at most: beyond it padding would be all that a worker ever does. */
const PADDED_MAX = 2 ** 20;

/** What ends an engine whose policy answers something else than a decision. */
export function noDecision({ name }: Policy, answered: unknown): TypeError {
  if (answered instanceof Promise) answered.catch(() => {});
  return new TypeError(
    `"schedule" of policy "${name}" returns a launch, a wait or idle, got ${
      describe(answered)
    }`,
  );
}

/** @throws TypeError when there is no such launch on so many workers */
export function checkLaunch(
  launch: Launch,
  workers: number,
  { name }: Policy,
): void {
  const { worker, steps, release } = launch ?? {};
  if (!isCount(worker, workers - 1)) {
    throw mistake(name, `"worker" of 0 to ${workers - 1}`, worker);
  }
  if (!Array.isArray(steps) || steps.length === 0) {
    throw mistake(name, 'one or more "steps"', steps);
  }
  if (release !== "step" && release !== "end") {
    throw mistake(name, '"release" "step" or "end"', release);
  }
  for (const key of ["paddedRows", "paddedLength"] as const) {
    if (!isCount(launch[key] ?? 0, PADDED_MAX)) {
      throw mistake(name, `"${key}" of 0 to ${PADDED_MAX}`, launch[key]);
    }
  }
}

/** @throws TypeError unless the wait ends later than now */
export function checkWait(
  { untilNs }: Decision & { kind: "wait" },
  nowNs: number,
  { name }: Policy,
): void {
  if (typeof untilNs === "number" && untilNs > nowNs) return;
  throw new TypeError(
    `A wait of policy "${name}" has "untilNs" later than now, ${nowNs}, got ${
      describe(untilNs)
    }`,
  );
}

function isCount(value: unknown, most: number): boolean {
  return Number.isInteger(value) && value as number >= 0 &&
    value as number <= most;
}

function mistake(policy: string, needed: string, value: unknown): TypeError {
  return new TypeError(
    `A launch of policy "${policy}" has ${needed}, got ${describe(value)}`,
  );
}
