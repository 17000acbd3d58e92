/** What bench:models is made of besides exported graphs, without timing. */
import assert from "node:assert/strict";
import {
  greatestDifference,
  numbersOf,
} from "../../../bench/models/compare.ts";
import {
  medianRatio,
  type NetworkResult,
} from "../../../bench/models/measure.ts";
import { modelsOptions } from "../../../bench/models/options.ts";
import { repeatedWeights } from "../../../bench/models/repeated_weights.ts";
import { networksTable } from "../../../bench/models/table.ts";
import { UsageError } from "../../../src/cli/terminal.ts";

Deno.test("options: networks by a part of their name, in any case, and what is refused", () => {
  const { networks, rounds, threads } = modelsOptions({
    only: "bert",
    batches: "4,4",
    quick: true,
  });
  assert.deepEqual(
    networks.map(({ name, batches }) => [name, batches]),
    [["BERT base, 32 tokens", [4]], ["BERT base, 128 tokens", [4]]],
  );
  assert.deepEqual([rounds, threads], [3, 1]);
  assert.equal(modelsOptions({}).networks.length, 6);
  for (
    const [values, message] of [
      [{ only: "vgg" }, /No network has "vgg" in its name; there are ResNet/],
      [{ batches: "0" }, /each of --batches is an integer from 1 to 32/],
      [{ rounds: "0" }, /--rounds is an integer from 1/],
      [{ threads: "none" }, /--threads is an integer from 1/],
    ] as const
  ) {
    assert.throws(
      () => modelsOptions(values),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  }
});

Deno.test("results of a batch: one request's numbers, images with channels last", () => {
  const rows = { dims: [2, 3], data: [1, 2, 3, 4, 5, 6] };
  const ids = { dims: [2], data: [7n, 8n] };
  assert.deepEqual(numbersOf([rows, ids], 1), [4, 5, 6, 8]);
  // Two channels of 1 x 3.
  const images = { dims: [1, 2, 1, 3], data: [1, 2, 3, 10, 20, 30] };
  assert.deepEqual(numbersOf([images], 0), [1, 10, 2, 20, 3, 30]);
});

Deno.test("results are compared relative to the greatest that is expected, or 1", () => {
  const compare = (got: number[], expected: number[]) =>
    greatestDifference("logits", { got, expected, tolerance: 0.01 });
  assert.equal(compare([1.25, -100.5], [1, -100]), 0.005);
  assert.throws(() => compare([0, 0.02], [0, 0]), /logits: 0.02 and 0 at 1/);
  assert.throws(() => compare([NaN, 5], [0, 5]), /logits: NaN and 0 at 0/);
  assert.throws(() => compare([1], [1, 2]), /logits: 1 and 2 numbers/);
});

Deno.test("ratios: the median of the rounds', not that of the times", () => {
  assert.equal(medianRatio([10, 30, 20], [10, 10, 10]), 2);
  assert.equal(medianRatio([10, 90, 20], [10, 10, 1]), 9);
  // Of two in the middle, their geometric mean.
  assert.equal(medianRatio([1, 4], [1, 1]), 2);
});

Deno.test("weights are the same of one name, others of another, within their scale", () => {
  const weights = repeatedWeights(3);
  const { data } = weights("a", [2000, 700], 25, 1);
  assert.deepEqual(data, repeatedWeights(3)("a", [2000, 700], 25, 1).data);
  assert.notDeepEqual(
    data.subarray(0, 100),
    weights("b", [10, 10], 25, 1).data,
  );
  assert(data.every((value) => Math.abs(value - 1) <= 0.2001));
  const mean = data.reduce((a, b) => a + b, 0) / data.length;
  assert(Math.abs(mean - 1) < 1e-3, `${mean}`);
});

Deno.test("the table: both thread counts, scaling, and the ratio to the peer", () => {
  const result: NetworkResult = {
    ...{ name: "ResNet-50", request: "an image", batch: 8, steps: 1 },
    bestMs: { "1 thread": 1234.5, "2 threads": 99.96, "onnxruntime-web": 3.1 },
    ...{ roundsMs: {}, ratio: 1.504, scaling: 1.8, difference: 0 },
  };
  const { columns, rows: [row] } = networksTable([result], 2);
  assert.deepEqual(columns.map(({ title }) => title), [
    ...["network", "batch", "1 thread, ms", "2 threads, ms", "over one"],
    ...["onnxruntime-web, ms", "over it"],
  ]);
  assert.deepEqual(row?.map(({ text }) => text), [
    ...["ResNet-50", "8", "1235", "100.0", "1.80x", "3.10", "1.50x"],
  ]);
});
