/** Latency targets of policies that have an option for them. */
import { describe } from "../../base/describe.ts";
import { nonNegative } from "../options.ts";
import type { Request } from "../request.ts";

/** Latency that requests may have, from their arrival, in all or by model name; a model without one has no target. */
export type SlaNs = number | Readonly<Record<string, number>>;

const DEFAULT_NS = 100_000_000;

/**
 * @returns the latency that a request may have, from its arrival: by its own deadline for starting if it has one, and
 * no longer than until its deadline for finishing; Infinity without
 * @throws TypeError or RangeError naming the policy when it is no target
 */
export function targetOf(
  policy: string,
  slaNs?: SlaNs,
): (request: Request) => number {
  const ofModel = modelTarget(policy, slaNs);
  return ({ model, arrivalNs, deadlineNs, finishNs }) => {
    const targetNs = deadlineNs === Infinity
      ? ofModel(model)
      : deadlineNs - arrivalNs;
    // One for finishing may be a time-out, far behind the target; where it is nearer it is what counts.
    return Math.min(targetNs, finishNs - arrivalNs);
  };
}

/**
 * @param slaNs default 100 ms
 * @returns the latency that requests to a model may have
 * @throws TypeError or RangeError naming the policy when it is no target
 */
export function modelTarget(
  policy: string,
  slaNs: SlaNs = DEFAULT_NS,
): (model: Request["model"]) => number {
  if (typeof slaNs === "object" && slaNs === null) {
    throw new TypeError(
      `"slaNs" of policy "${policy}" is a number, or numbers by model, got ${
        describe(slaNs)
      }`,
    );
  }
  for (const ns of typeof slaNs === "object" ? Object.values(slaNs) : [slaNs]) {
    nonNegative(policy, "slaNs", ns);
  }
  return ({ name }) =>
    typeof slaNs === "object" ? slaNs[name] ?? Infinity : slaNs;
}
