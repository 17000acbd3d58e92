/**
 * An invariant does not hold: a bug in Shoal, or in a policy or driver of one's own; never what a request brings.
 *
 * @example A policy that starts nothing
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, type Policy } from "@shoal/core";
 * import { AssertionError, constantCost, driveVirtual, EngineCore, SimExecutor, Timeline } from "@shoal/core/simulate";
 *
 * const policy: Policy = { name: "none", supports() {}, enqueue() {}, schedule: () => ({ kind: "idle" }) };
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const timeline = new Timeline();
 * const executor = new SimExecutor({ timeline, cost: constantCost(1000), onCompleted() {} });
 * const engine = new EngineCore({ models: [model], policy, executor });
 * const arrivals = [{ model, input: { tokens: [1] }, arrivalNs: 0 }];
 * assert.throws(() => driveVirtual(engine, timeline, arrivals), AssertionError);
 * ```
 */
export class AssertionError extends Error {
  /** "AssertionError". */
  override name = "AssertionError";
}

/**
 * Checks an internal invariant; stays on in production.
 * Bad input is not an assertion: the boundary throws RangeError or TypeError for it.
 */
export function assert(
  condition: unknown,
  message = "invariant broken",
): asserts condition {
  if (!condition) throw new AssertionError(message);
}
