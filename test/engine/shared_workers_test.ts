/** The GPU-like device: concurrent slots, copy engines, shared capacity. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { overlapBound } from "../cost/co_running.ts";
import { RESNET_TITAN_RTX, sharedTable } from "../../src/cost/published.ts";
import type { SharedCost } from "../../src/cost/shared_cost.ts";
import { throughInStream } from "../../src/engine/virtual/virtual_driver.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { dvabatch } from "../../src/policy/dvabatch/dvabatch.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { nEbird } from "../../src/policy/e2bird/n_ebird.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import {
  letters,
  simulateStatic,
  staticChain,
} from "../policy/static_chain.ts";
import { propertyRuns } from "../property_runs.ts";
import { runPaired, runSimulated } from "./harness.ts";

const network = staticChain({ cells: ["network"] });

Deno.test("one slot without copies is a device like any other", () => {
  const model = staticChain({ cells: letters(3) });
  const gaps = fc.array(fc.nat(9), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(
      gaps,
      fc.constantFrom(serial, graph, cellular),
      (gaps, policy) => {
        let arrivalNs = 0;
        const requests = gaps.map((gap) => ({ arrivalNs: arrivalNs += gap }));
        const latencyNs = (_: unknown, rows: number) => 2 + rows;
        const run = (cost: SharedCost | { latencyNs: typeof latencyNs }) =>
          simulateStatic(policy(), [model], requests, { cost });
        assert.deepEqual(
          run({ latencyNs, demand: () => 0.7 }),
          run({ latencyNs }),
        );
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("DVABatch Fig. 3 case I on a device that four rows fill: 2.5 T", () => {
  const model = staticChain({ cells: ["A*"] });
  const requests = [2, 2, 2, 4].map((steps) => ({ arrivalNs: 0, steps }));
  const { departNs } = simulateStatic(
    dvabatch({ policy: "I", stages: 1, windowNs: 0, batchSizeMax: 4 }),
    [model],
    requests,
    {
      workers: 2,
      cost: {
        latencyNs: () => 10,
        demand: (_, rows) => rows / 4,
      } as SharedCost,
    },
  );
  assert.deepEqual(departNs.slice(1), [20, 20, 20, 40]);
});

/** Executes a backlog of full batches and tells when the last one is back. */
function backlogNs(batches: number, overlap: boolean): number {
  const copyNs = 25;
  const computeNs = 400;
  const size = 4;
  const arrivals = Array.from({ length: batches * size }, () => ({
    model: network,
    input: {},
    arrivalNs: 0,
  }));
  const { records } = runSimulated({
    models: [network],
    policy: graph({ batchSizeMax: size, windowNs: 1e9 }),
    arrivals: overlap ? throughInStream(arrivals, copyNs) : arrivals,
    cost: {
      latencyNs: () => computeNs,
      demand: () => 1,
      htodNs: (_, rows) => overlap ? 0 : copyNs * rows,
    } as SharedCost,
  });
  return Math.max(...records.map(({ endNs }) => endNs));
}

Deno.test("E2bird Eq. 1: copying in as requests come saves t_T of t_T + t_C", () => {
  const batches = 50;
  const serialNs = backlogNs(batches, false);
  assert.equal(serialNs, batches * (100 + 400));
  // The first copy is nobody's to hide.
  const overlapNs = backlogNs(batches, true);
  assert.equal(overlapNs, 100 + batches * 400);
  const { timeSaved, throughputGain } = overlapBound(100, 400);
  assert.equal((serialNs - (overlapNs - 100)) / serialNs, timeSaved);
  assert.equal(serialNs / (overlapNs - 100) - 1, throughputGain);
});

Deno.test("copies out of two streams queue behind each other, beside the computation", () => {
  const { departNs } = simulateStatic(
    serial(),
    [network],
    [{ arrivalNs: 0 }, { arrivalNs: 0 }, { arrivalNs: 0 }],
    {
      workers: 3,
      cost: {
        latencyNs: () => 10,
        demand: () => 0.3,
        dtohNs: () => 5,
      } as SharedCost,
    },
  );
  assert.deepEqual(departNs.slice(1), [15, 20, 25]);
});

Deno.test("n-ebird on the GPU-like device: equal bits, and neighbours beside each other", () => {
  const model = staticChain({ cells: letters(3) });
  const arrivals = Array.from({ length: 13 }, (_, i) => ({
    model,
    arrivalNs: i,
    input: { x: [i, -i, i / 3] },
  }));
  const run = (policy: typeof nEbird | typeof serial, workers: number) =>
    runPaired({
      models: [model],
      policy: policy(),
      arrivals,
      workers,
      cost: sharedTable(RESNET_TITAN_RTX["resnet50"], {
        htodNs: 7,
        dtohNs: 3,
      }),
    }).endings.map((ending) => ending?.result);
  assert.deepStrictEqual(run(nEbird, 6), run(serial, 1));
});
