import assert from "node:assert/strict";
import {
  defineCell,
  f32,
  image,
  type Operators,
} from "../../src/graph/cell_builder.ts";
import type { Cell } from "../../src/graph/cell.ts";
import type { Value } from "../../src/graph/operator.ts";
import {
  CACHED_ROWS_BYTES,
  SCRATCH_ROWS_BYTES,
} from "../../src/engine/lowering/cell_program.ts";
import { lowerCell } from "../../src/engine/lowering/lower_cell.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { seededWeights } from "../../src/tensor/weights.ts";
import { runRequests } from "../run_requests.ts";
import { evaluateNaively } from "./naive_cell.ts";
import { onceModel } from "./random_cells.ts";

const weights = seededWeights(3);
const conv = (op: Operators, x: Value, name = "w") =>
  op.Conv(x, weights(name, [4, 4, 3, 3], 36), {
    pads: 1,
    bias: weights(`${name}.b`, [4], 36),
  });
const norm = (op: Operators, x: Value) =>
  op.BatchNormalization(x, {
    scale: weights("scale", [4], 4, 1),
    shift: weights("shift", [4], 4),
    mean: weights("mean", [4], 4),
    variance: weights("variance", [4], 4, 1),
  });
const depthwise = (op: Operators, x: Value) =>
  op.Conv(x, weights("depthwise", [4, 1, 3, 3], 9), { pads: 1, group: 4 });
const transposed = (op: Operators, x: Value) =>
  op.ConvTranspose(x, weights("transposed", [4, 4, 1, 1], 4));

type Body = (op: Operators, x: Value, other: Value) => Record<string, Value>;

const fused: Record<string, { body: Body; kernels: string[] }> = {
  "a convolution, its normalisation, the shortcut and the activation": {
    body: (op, x, other) => ({
      y: op.Relu(op.Add(norm(op, conv(op, x)), other)),
    }),
    kernels: ["conv_f32"],
  },
  "a shortcut on the left": {
    body: (op, x, other) => ({ y: op.Add(other, conv(op, x)) }),
    kernels: ["conv_f32"],
  },
  "of two summed convolutions the second with the sum": {
    body: (op, x, other) => ({
      y: op.Tanh(op.Add(conv(op, x), conv(op, other, "v"))),
    }),
    kernels: ["conv_f32", "conv_f32"],
  },
  "a depthwise convolution with normalisation and activation, no shortcut": {
    body: (op, x, other) => ({
      y: op.Relu(norm(op, depthwise(op, x))),
      z: op.Add(depthwise(op, x), other),
    }),
    kernels: ["depthwise_f32", "depthwise_f32", "add_f32"],
  },
  "a transposed convolution, its normalisation, the shortcut and the activation":
    {
      body: (op, x, other) => ({
        y: op.Sigmoid(op.Add(norm(op, transposed(op, x)), other)),
      }),
      kernels: ["conv_transpose_f32"],
    },
  "a transposed convolution in groups and its normalisation": {
    body: (op, x) => ({
      y: norm(
        op,
        op.ConvTranspose(x, weights("groups", [4, 2, 3, 3], 18), { group: 2 }),
      ),
    }),
    kernels: ["conv_transpose_f32"],
  },
  "nothing that others read": {
    body: (op, x, other) => {
      const sum = conv(op, x);
      return { sum, y: op.Relu(norm(op, sum)), z: op.Add(sum, other) };
    },
    kernels: ["conv_f32", "depthwise_f32", "add_f32"],
  },
  "no sum with itself": {
    body: (op, x) => {
      const sum = conv(op, x);
      return { y: op.Add(sum, sum) };
    },
    kernels: ["conv_f32", "add_f32"],
  },
};

const SIZE = [5, 4, 4] as const;

function cellOf(body: Body): Cell {
  return defineCell<"x" | "other", string>({
    name: "images",
    inputs: { x: image(...SIZE), other: image(...SIZE) },
    body: (op, { x, other }) => body(op, x, other),
  });
}

/** `count` requests' rows of pixels. */
function requests(cell: Cell, count: number): number[][][] {
  return Array.from(
    { length: count },
    (_, i) =>
      cell.inputs.map(({ width }, port) => [
        ...weights(`request ${i} port ${port}`, [width], 1).data,
      ]),
  );
}

for (const [what, { body, kernels }] of Object.entries(fused)) {
  Deno.test(`lowerCell() fuses ${what}`, () => {
    const cell = cellOf(body);
    const { calls } = lowerCell(cell, () => 0);
    assert.deepEqual(
      calls.map((call) => call.call === "kernel" ? call.kernel : call.call),
      kernels,
    );
    const inputs = requests(cell, 3);
    const model = onceModel(cell);
    const results = runRequests(model, inputs, {
      policy: merged({ batchSizeMax: 3 }),
    });
    inputs.forEach((rows, i) => {
      const { outputs } = evaluateNaively(cell, rows);
      cell.outputs.forEach(({ name }, port) =>
        results[i][name].data.forEach((value, k) => {
          const expected = outputs[port][k];
          assert(
            Math.abs(value - expected) <= 1e-5 * (1 + Math.abs(expected)),
            `${name}[${k}] of request ${i} is ${value}, expected ${expected}`,
          );
        })
      );
    });
  });
}

Deno.test("CenterCropPad takes the middle; of an odd rest the smaller half is left out before it", () => {
  const [height, width, channels] = SIZE;
  for (const [rows, columns] of [[2, 2], [5, 1], [4, 3], [1, 4]]) {
    const cell = cellOf((op, x) => ({ y: op.CenterCropPad(x, rows, columns) }));
    const top = Math.floor((height - rows) / 2);
    const left = Math.floor((width - columns) / 2);
    const inputs = requests(cell, 3);
    const results = runRequests(onceModel(cell), inputs, {
      policy: merged({ batchSizeMax: 3 }),
    });
    inputs.forEach(([x], i) => {
      const expected = Array.from({ length: rows }, (_, row) => {
        const at = ((top + row) * width + left) * channels;
        return x.slice(at, at + columns * channels);
      }).flat();
      assert.deepEqual(
        [...results[i].y.data],
        expected,
        `${rows} x ${columns}`,
      );
    });
  }
});

Deno.test("lowerCell() computes fewer rows at once where scratch rows are large; the bits stay", () => {
  const width = Math.floor(SCRATCH_ROWS_BYTES / 4 / 5);
  const cell = defineCell({
    name: "wide",
    inputs: { x: f32(3) },
    body: (op, { x }) => {
      const wide = op.Constant(new Array<number>(width).fill(0.5));
      const both = op.Sub(op.Relu(wide), op.Exp(wide));
      return { y: op.Add(x, op.Slice(both, width - 3, width)) };
    },
  });
  const { rowsPerCall, scratchBytes } = lowerCell(cell, () => 0);
  assert.equal(rowsPerCall, 1, "three rows of a fifth of what there is");
  assert(scratchBytes <= SCRATCH_ROWS_BYTES);
  const small = lowerCell(
    cellOf((op, x) => ({ y: op.Relu(op.Exp(x)) })),
    () => 0,
  );
  assert.equal(small.rowsPerCall, 256);

  const inputs = requests(cell, 5);
  const model = onceModel(cell);
  assert.deepStrictEqual(
    runRequests(model, inputs, { policy: merged({ batchSizeMax: 5 }) }),
    runRequests(model, inputs, { policy: serial() }),
  );
});

Deno.test("lowerCell() computes as many images at once as caches hold, unless weights are read once for each", () => {
  const [side, width] = [64, 4 * 64 * 64];
  const imagesAtOnce = (last: Body) => {
    const cell = defineCell({
      name: "images",
      inputs: { x: image(side, side, 4), other: image(side, side, 4) },
      body: (op, { x, other }) => last(op, op.Exp(conv(op, x)), other),
    });
    return lowerCell(cell, () => 0).rowsPerCall;
  };
  const cached = CACHED_ROWS_BYTES / (4 * width);
  const twoRows = imagesAtOnce((op, x) => ({ y: op.Relu(conv(op, x, "v")) }));
  assert(twoRows <= cached && twoRows >= cached / 2, `${twoRows} of ${cached}`);
  const dense = imagesAtOnce((op, x) => ({
    y: op.Gemm(op.Flatten(x), weights("dense", [2, width], width)),
  }));
  assert(dense > cached, `${dense} of ${cached}`);
});
