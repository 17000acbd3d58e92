/** Padding with buckets (Cellular Batching, section 7.1): which bucket's turn it is, and who shares one. */
import assert from "node:assert/strict";
import { bucketed } from "../../src/policy/baselines/bucketed.ts";
import { las } from "../../src/models/las.ts";
import { staticChain } from "./static_chain.ts";
import { told } from "./told.ts";

const STEPS = staticChain({ cells: ["A*"] });

function batches(lengths: readonly number[], batchSizeMax: number): string[] {
  return told({
    policy: bucketed({ bucketWidth: 2, batchSizeMax }),
    models: [STEPS],
    requests: lengths.map((steps) => ({ arrivalNs: 0, input: { steps } })),
  });
}

Deno.test("buckets take turns round robin, a full queue does not keep its turn", () => {
  // Buckets up to 2, 4 and 6, in order of creation.
  assert.deepEqual(batches([2, 2, 4, 6, 2], 1), [
    "0..1 w0 A:1",
    "1..2 w0 A:1",
    "2..3 w0 A:3",
    "3..4 w0 A:3",
    "4..5 w0 A:3",
    "5..6 w0 A:3",
    ...[6, 7, 8, 9, 10, 11].map((ns) => `${ns}..${ns + 1} w0 A:4`),
    "12..13 w0 A:2",
    "13..14 w0 A:2",
    "14..15 w0 A:5",
    "15..16 w0 A:5",
  ]);
});

Deno.test("a bucket holds lengths in (i*width, (i+1)*width], and batches the oldest of them", () => {
  assert.deepEqual(batches([1, 3, 2, 4, 2], 2), [
    "0..1 w0 A:1,3",
    // Request 1 is padded to two steps.
    "1..2 w0 A:3",
    "2..3 w0 A:2,4",
    "3..4 w0 A:2,4",
    "4..5 w0 A:2,4",
    "5..6 w0 A:4",
    "6..7 w0 A:5",
    "7..8 w0 A:5",
  ]);
});

Deno.test("an empty bucket is passed over, and the turn goes on behind the one that was served", () => {
  const model = STEPS;
  const request = (arrivalNs: number, steps: number) => ({
    model,
    arrivalNs,
    input: { steps },
  });
  const order = told({
    policy: bucketed({ bucketWidth: 2, batchSizeMax: 1 }),
    models: [model],
    requests: [
      request(0, 2),
      request(0, 4),
      request(0, 6),
      // Now it is the turn of the bucket up to 2, which is empty; behind the one up to 4 comes that up to 6.
      request(12, 4),
      request(12, 4),
      request(12, 6),
    ],
  }).map((line) => line.split(":")[1]);
  assert.deepEqual([...new Set(order)], ["1", "2", "3", "4", "6", "5"]);
});

Deno.test("a batch is padded to its bucket's edge", () => {
  assert.deepEqual(batches([1], 1), ["0..1 w0 A:1", "1..2 w0 A:"]);
});

Deno.test("a pyramid's layers are padded to what a request as long as the edge has", () => {
  const features = 1;
  const model = las({
    features,
    hidden: 1,
    pyramidLayers: 2,
    spellerLayers: 1,
  });
  const cellsOf = (frames: number) =>
    told({
      policy: bucketed({ bucketWidth: 16 }),
      models: [model],
      requests: [{
        arrivalNs: 0,
        input: { frames: new Float32Array(features * frames), maxSteps: 1 },
      }],
    }).map((task) => /(\w+):/.exec(task)![1]);
  const steps = (name: string, count: number) =>
    ["forward", "backward"].flatMap((way) =>
      new Array<string>(count).fill(`listener_${name}_${way}`)
    );
  const whole = [...steps("1", 16), ...steps("2", 8), ...steps("3", 4)];
  assert.deepEqual(cellsOf(16).slice(0, -2), whole);
  assert.deepEqual(cellsOf(13).slice(0, -2), whole);
});
