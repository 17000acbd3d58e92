/** Policies beside the papers' algorithms, transcribed without a thought of what they cost. */
import fc from "fast-check";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { late } from "../../../src/policy/late_batching/late.ts";
import { lazy } from "../../../src/policy/lazybatching/lazy.ts";
import { iteration } from "../../../src/policy/rivals/iteration.ts";
import { propertyRuns } from "../../property_runs.ts";
import { runBeside } from "./beside.ts";
import {
  ANY_MODELS,
  anyRequests,
  CHAIN_MODELS,
  chainRequests,
  costs,
  few,
  workers,
} from "./loads.ts";
import { naiveCellular } from "./naive_cellular.ts";
import { naiveIteration } from "./naive_iteration.ts";
import { naiveLate } from "./naive_late.ts";
import { naiveLazy } from "./naive_lazy.ts";

const numRuns = propertyRuns(200);
const onAny = { models: ANY_MODELS } as const;

Deno.test("cellular launches what Algorithm 1, transcribed, launches", () => {
  const options = fc.record({
    batchSizeMax: few,
    batchSizeMin: fc.integer({ min: 1, max: 3 }),
    maxTasksToSubmit: few,
  });
  fc.assert(
    fc.property(anyRequests, workers, costs, options, (...drawn) => {
      const [requests, workers, cost, options] = drawn;
      const policy = cellular(options);
      const naive = naiveCellular(options);
      runBeside({ ...onAny, policy, naive, requests, workers, cost });
    }),
    { numRuns: propertyRuns(60) },
  );
});

Deno.test("late launches what section 2 of its paper, transcribed, launches", () => {
  const options = fc.record({ batchSizeMax: few, pushAhead: few });
  fc.assert(
    fc.property(anyRequests, workers, costs, options, (...drawn) => {
      const [requests, workers, cost, options] = drawn;
      const policy = late(options);
      const naive = naiveLate(options);
      runBeside({ ...onAny, policy, naive, requests, workers, cost });
    }),
    { numRuns },
  );
});

Deno.test("iteration launches what Orca's Algorithm 1, transcribed, launches", () => {
  const options = fc.record({ batchSizeMax: few });
  fc.assert(
    fc.property(anyRequests, workers, costs, options, (...drawn) => {
      const [requests, workers, cost, options] = drawn;
      const policy = iteration(options);
      const naive = naiveIteration(options);
      runBeside({ ...onAny, policy, naive, requests, workers, cost });
    }),
    { numRuns },
  );
});

Deno.test("lazy launches what section IV of its paper, transcribed, launches", () => {
  const options = fc.record({
    batchSizeMax: few,
    slaNs: fc.constantFrom(0, 20, 60, 150, 400, 1e9),
    decTimesteps: fc.integer({ min: 1, max: 8 }),
    emptyTable: fc.constantFrom("issue" as const, "check" as const),
    elapsedTime: fc.constantFrom("charge" as const, "ignore" as const),
    negativeSlack: fc.constantFrom("refuse" as const, "ignore" as const),
    nestedPreemption: fc.boolean(),
  });
  fc.assert(
    fc.property(chainRequests, workers, costs, options, (...drawn) => {
      const [requests, workers, cost, options] = drawn;
      const nodeNs: Parameters<typeof naiveLazy>[0]["nodeNs"] = (cell) =>
        cost.latencyNs(cell, 1);
      runBeside({
        models: CHAIN_MODELS,
        policy: lazy({
          ...options,
          profile: (cell, rows) => cost.latencyNs(cell, rows),
        }),
        naive: naiveLazy({ ...options, nodeNs }),
        requests,
        workers,
        cost,
      });
    }),
    { numRuns },
  );
});
