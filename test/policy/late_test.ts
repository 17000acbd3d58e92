/** Late Batching, section 2: ahead-of-time scheduling, and the order in which blocks are pushed. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import { late } from "../../src/policy/late_batching/late.ts";
import { staticChain } from "./static_chain.ts";
import { told } from "./told.ts";

const STEPS = staticChain({ cells: ["A*"] });
/** B has the priority, which nobody asks for here. */
const AB = staticChain({ cells: ["A", "B"], priorities: { B: 1 } });

const steps = (arrivalNs: number, steps: number) => ({
  arrivalNs,
  input: { steps },
});

/** A block takes 10 on the device; the driver takes 4 to schedule and push it. */
const run = (pushAhead: number | undefined) =>
  told({
    policy: late({ ...(pushAhead !== undefined && { pushAhead }) }),
    models: [STEPS],
    requests: [steps(0, 3), steps(11, 2)],
    cost: constantCost(10),
    submitNs: () => 4,
  });

Deno.test("Late Batching section 2: scheduled after completion, every block makes the device wait", () => {
  assert.deepEqual(run(1), [
    "4..14 w0 A:1",
    "18..28 w0 A:1,2",
    "32..42 w0 A:1,2",
  ]);
});

Deno.test("Late Batching section 2: scheduled ahead of time, the driver works while the device does", () => {
  const ahead = [
    "4..14 w0 A:1",
    "14..24 w0 A:1",
    // Pushed at 14, when the first was done; request 2 came at 11.
    "24..34 w0 A:1,2",
    "34..44 w0 A:2",
  ];
  assert.deepEqual(run(2), ahead);
  assert.deepEqual(run(undefined), ahead);
});

Deno.test("Late Batching section 2: the further ahead, the later newcomers join", () => {
  assert.deepEqual(run(3), [
    "4..14 w0 A:1",
    "14..24 w0 A:1",
    "24..34 w0 A:1",
    "34..44 w0 A:2",
    "44..54 w0 A:2",
  ]);
});

Deno.test("Late Batching section 2: the oldest request's next block is pushed, without priorities", () => {
  const models = [AB];
  assert.deepEqual(
    told({
      policy: late({ pushAhead: 1 }),
      models,
      requests: [{ arrivalNs: 0 }, { arrivalNs: 1 }],
    }),
    ["0..1 w0 A:1", "1..2 w0 B:1", "2..3 w0 A:2", "3..4 w0 B:2"],
  );
  assert.deepEqual(
    told({
      policy: late({ batchSizeMax: 1, pushAhead: 1 }),
      models: [AB, STEPS],
      requests: [{ arrivalNs: 0, model: STEPS, input: { steps: 2 } }, {
        arrivalNs: 0,
      }],
    }),
    ["0..1 w0 A:1", "1..2 w0 A:1", "2..3 w0 A:2", "3..4 w0 B:2"],
  );
});

Deno.test("late uses one device", () => {
  assert.deepEqual(
    told({
      policy: late(),
      models: [STEPS],
      requests: [steps(0, 3), steps(1, 1)],
      workers: 2,
    }),
    // The second worker's standing still does not make anybody push further ahead.
    ["0..1 w0 A:1", "1..2 w0 A:1", "2..3 w0 A:1,2"],
  );
});
