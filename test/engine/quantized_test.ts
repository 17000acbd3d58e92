/** Operators of int8: integers and bytes are what their definitions say, to the bit, in every batch. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { lowerCell } from "../../src/engine/lowering/lower_cell.ts";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import { Prng } from "../../src/base/prng.ts";
import type { Cell } from "../../src/graph/cell.ts";
import {
  defineCell,
  f32,
  image,
  type Operators,
  row,
} from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import type { Value } from "../../src/graph/operator.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { CELL_Q8_SCRATCH_BYTES } from "../../src/kernels/pack/pack_q8_cells.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import type { QuantizedTensor } from "../../src/tensor/quantized.ts";
import { release } from "../kernels/builds.ts";
import { quantizeDynamic } from "../kernels/reference/q8.ts";
import { macsOf } from "../npu/macs_of.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { evaluateNaively } from "./naive_cell.ts";
import { bytes, floats } from "./quantized_numbers.ts";
import { onceModel } from "./random_cells.ts";

const RANGE = { scale: 1 / 16, zero: 100 };

/** Operators that make a quantised row of x. */
const ENTRIES: Readonly<Record<string, (op: Operators, x: Value) => Value>> = {
  "8 bits": (op, x) => op.DynamicQuantizeLinear(x),
  "8 bits a row": (op, x) => op.DynamicQuantizeLinear(x, { per: "row" }),
  "7 bits a row": (op, x) =>
    op.DynamicQuantizeLinear(x, { bits: 7, per: "row" }),
  "given": (op, x) => op.QuantizeLinear(x, RANGE),
};

/** Operators over quantised rows of [tokens][k]. */
const PRODUCTS: Readonly<
  Record<string, (op: Operators, q: Value, random: Prng) => Value>
> = {
  DequantizeLinear: (op, q) => op.DequantizeLinear(q),
  MatMulInteger: (op, q, random) =>
    op.MatMulInteger(q, bytes(random, 9, q.shape!.at(-1)!)),
  MatMulIntegerToFloat: (op, q, random) => {
    const weight = bytes(random, 9, q.shape!.at(-1)!);
    return op.Relu(op.MatMulIntegerToFloat(q, weight, floats(random, 9)));
  },
  QLinearMatMul: (op, q, random) =>
    op.DequantizeLinear(
      op.QLinearMatMul(q, bytes(random, 9, q.shape!.at(-1)!), {
        ...{ scale: 0.5, zero: 7, activation: "Relu" },
        bias: floats(random, 9),
      }),
    ),
};

const CONVOLUTIONS: typeof PRODUCTS = {
  DequantizeLinear: (op, q) => op.DequantizeLinear(q),
  ConvInteger: (op, q, random) =>
    op.ConvInteger(q, bytes(random, 4, 3, 2, 3), { pads: [1, 0, 0, 1] }),
  ConvIntegerToFloat: (op, q, random) =>
    op.Relu(
      op.ConvIntegerToFloat(q, bytes(random, 3, 1, 2, 2), {
        ...{ group: 3, strides: 2, pads: 1, bias: floats(random, 3) },
      }),
    ),
  QLinearConv: (op, q, random) =>
    op.DequantizeLinear(
      op.QLinearConv(
        op.QLinearConv(q, bytes(random, 5, 3, 1, 1), RANGE),
        bytes(random, 2, 5, 3, 3),
        { scale: 2, zero: 30, activation: "Relu", bias: floats(random, 2) },
      ),
    ),
};

const asserting = await WebAssembly.compile(await readKernels("shoal.debug"));

/** Every request as its definition says, and the same alone and in batches. */
function check(cell: Cell, requests: number[][][], tolerance = 0): void {
  const model = onceModel(cell);
  const alone = runRequests(model, requests);
  for (const batchSizeMax of [2, 64]) {
    const policy = merged({ batchSizeMax });
    assert.deepEqual(runRequests(model, requests, { policy }), alone);
  }
  // What kernels assert of their operands holds.
  assert.deepEqual(runRequests(model, requests, { kernels: asserting }), alone);
  requests.forEach((rows, i) => {
    const { outputs } = evaluateNaively(cell, rows);
    cell.outputs.forEach(({ name }, port) => {
      const got = [...alone[i][name].data];
      if (tolerance === 0) return assert.deepEqual(got, outputs[port]);
      got.forEach((x, k) =>
        assert(Math.abs(x - outputs[port][k]) <= tolerance, `${name}[${k}]`)
      );
    });
  });
}

const numbers = fc.record({
  seed: fc.nat(),
  k: fc.integer({ min: 1, max: 40 }),
  tokens: fc.integer({ min: 1, max: 5 }),
  count: fc.integer({ min: 1, max: 7 }),
});

for (const [entry, quantize] of Object.entries(ENTRIES)) {
  for (const [product, multiply] of Object.entries(PRODUCTS)) {
    Deno.test(`${product} of ${entry} is exact, whatever the batch`, () => {
      fc.assert(
        fc.property(numbers, ({ seed, k, tokens, count }) => {
          const random = new Prng(seed);
          const cell = defineCell({
            name: "product",
            inputs: { x: row("f32", [tokens, k]) },
            body: (op, { x }) => ({
              y: multiply(op, quantize(op, x), random),
            }),
          });
          const requests = Array.from(
            { length: count },
            () => [[...floats(random, tokens, k).data]],
          );
          check(cell, requests);
        }),
        { numRuns: propertyRuns(20) },
      );
    });
  }
  for (const [product, multiply] of Object.entries(CONVOLUTIONS)) {
    Deno.test(`${product} of an image of ${entry} is exact, whatever the batch`, () => {
      fc.assert(
        fc.property(numbers, ({ seed, count }) => {
          const random = new Prng(seed);
          const [height, width] = [3 + random.int(4), 3 + random.int(4)];
          const cell = defineCell({
            name: "convolution",
            inputs: { x: image(height, width, 3) },
            body: (op, { x }) => ({
              y: multiply(op, quantize(op, x), random),
            }),
          });
          const requests = Array.from(
            { length: count },
            () => [[...floats(random, height * width * 3).data]],
          );
          check(cell, requests);
        }),
        { numRuns: propertyRuns(10) },
      );
    });
  }
}

for (const bits of [7, 8] as const) {
  Deno.test(`products of two values of ${bits} bits are exact, whatever the batch`, () => {
    fc.assert(
      fc.property(numbers, fc.boolean(), (drawn, transposed) => {
        const { seed, k, tokens: m, count } = drawn;
        const n = 1 + seed % 11;
        const random = new Prng(seed);
        const cell = defineCell({
          name: "products",
          inputs: {
            a: row("f32", [2, m, k]),
            b: row("f32", [2, ...(transposed ? [n, k] : [k, n])]),
          },
          body: (op, { a, b }) => {
            const left = op.DynamicQuantizeLinear(a, { bits, per: "row" });
            const right = op.DynamicQuantizeLinear(b, {
              per: transposed ? "row" : "request",
            });
            const options = { transposed };
            return {
              sums: op.DynamicMatMulInteger(left, right, options),
              floats: op.Relu(
                op.DynamicMatMulIntegerToFloat(left, right, options),
              ),
            };
          },
        });
        check(
          cell,
          Array.from({ length: count }, () => [
            [...floats(random, 2 * m * k).data],
            [...floats(random, 2 * n * k).data],
          ]),
        );
      }),
      { numRuns: propertyRuns(40) },
    );
  });

  Deno.test(`steps of ${bits} bits quantise x and h of every request by itself`, () => {
    fc.assert(
      fc.property(numbers, ({ seed, k: hidden, tokens: inputs, count }) => {
        const random = new Prng(seed);
        const matrix = (rows: number, columns: number): QuantizedTensor => ({
          ...bytes(random, rows, columns),
          scale: Float32Array.of(0.3 / 128 / Math.sqrt(columns)),
          zero: [0],
        });
        const weights = (gates: number) => ({
          w: matrix(gates * hidden, inputs),
          r: matrix(gates * hidden, hidden),
          b: floats(random, 2 * gates * hidden),
          bits,
        });
        const cell = defineCell({
          name: "steps",
          inputs: { x: f32(inputs), h: f32(hidden), c: f32(hidden) },
          body: (op, { x, h, c }) => {
            const lstm = op.DynamicQuantizeLSTM(x, h, c, weights(4));
            const gru = op.DynamicQuantizeGRU(x, h, weights(3));
            return { ...lstm, gru };
          },
        });
        const requests = Array.from(
          { length: count },
          () =>
            [inputs, hidden, hidden].map((width) => [
              ...floats(random, width).data,
            ]),
        );
        // Sums are exact; gates are f32.
        check(cell, requests, 1e-4);
      }),
      { numRuns: propertyRuns(20) },
    );
  });
}

Deno.test("a range is one request's, and includes 0: scale and zero point are ONNX's", () => {
  // ONNX's example of DynamicQuantizeLinear, of a tensor of three rows.
  const x = [1, 2.1, 1.3, 2.5, 3.34, 4, 1.5, 2.6, 3.9, 4, 3, 2.345];
  const exact = x.map(Math.fround);
  const { scale, zero, q } = quantizeDynamic(exact, 255);
  assert.deepEqual([scale, zero], [Math.fround(4 / 255), 0]);
  assert.deepEqual(q, [
    64,
    134,
    83,
    159,
    213,
    255,
    96,
    166,
    249,
    255,
    191,
    149,
  ]);
  const identity = {
    shape: [4, 4],
    data: Int8Array.from({ length: 16 }, (_, i) => i % 5 === 0 ? 1 : 0),
    scale: Float32Array.of(1),
  };
  const cell = defineCell({
    name: "onnx",
    inputs: { x: row("f32", [3, 4]) },
    body: (op, { x }) => ({
      bytes: op.MatMulInteger(op.DynamicQuantizeLinear(x), identity),
    }),
  });
  const requests = [exact, exact.map((value) => -100 * value), exact];
  const results = runRequests(onceModel(cell), requests.map((x) => [x]), {
    policy: merged({ batchSizeMax: 3 }),
  });
  assert.deepEqual(
    results[0]["bytes"],
    { shape: [3, 4], data: Int32Array.from(q) },
  );
  assert.deepEqual(results[2], results[0]);
});

const WIDE = 70;

/** Two quantised layers, as cells of their own: quantised rows go from one to the other. */
function layers(): Model<number[]> {
  const random = new Prng(5);
  const first = defineCell({
    name: "first",
    inputs: { x: f32(WIDE) },
    body: (op, { x }) => ({
      q: op.QLinearMatMul(
        op.DynamicQuantizeLinear(x),
        bytes(random, WIDE, WIDE),
        { ...RANGE, activation: "Relu" },
      ),
    }),
  });
  const second = defineCell({
    name: "second",
    inputs: { q: row("q8", [WIDE]) },
    body: (op, { q }) => ({
      y: op.MatMulIntegerToFloat(q, bytes(random, 3, WIDE)),
    }),
  });
  return {
    name: "layers",
    cells: [first, second],
    shape: "chain",
    check() {},
    unfold(x, graph) {
      const before = graph.node(first, {
        x: graph.row(graph.rows(x), 0, WIDE),
      });
      const node = graph.node(second, { q: graph.output(before, "q") });
      graph.result("y", graph.output(node, "y"));
    },
  };
}

for (const [name, { build }] of Object.entries(POLICIES)) {
  Deno.test(`${name}: what a request of int8 gets does not depend on who else is served`, () => {
    const model = layers();
    const requests = Array.from(
      { length: 9 },
      (_, seed) => [...floats(new Prng(seed), WIDE).data],
    );
    const alone = runRequests(model, requests);
    const policy = build();
    assert.deepEqual(
      runRequests(model, requests, { policy, workers: 2, gapNs: 700 }),
      alone,
    );
  });
}

Deno.test("quantised rows are no results, nor operands of f32 operators", () => {
  const quantized = defineCell({
    name: "quantized",
    inputs: { x: f32(4) },
    body: (op, { x }) => ({ q: op.DynamicQuantizeLinear(x) }),
  });
  assert.throws(
    () => runRequests(onceModel(quantized), [[[1, 2, 3, 4]]]),
    /Result "q" is quantised; DequantizeLinear it/,
  );
  const refused = (
    body: (op: Operators, x: Value) => Value,
    message: RegExp,
  ) =>
    assert.throws(
      () =>
        defineCell({
          name: "refused",
          inputs: { x: row("f32", [2, 4]) },
          body: (op, { x }) => ({ y: body(op, x) }),
        }),
      message,
    );
  const weight = bytes(new Prng(1), 3, 4);
  refused(
    (op, x) => op.Relu(op.DynamicQuantizeLinear(x)),
    /Relu takes f32 rows, got q8/,
  );
  refused(
    (op, x) => op.MatMulInteger(x, weight),
    /MatMulInteger takes quantised rows, got f32; QuantizeLinear them/,
  );
  refused(
    (op, x) => op.DynamicQuantizeLinear(x, { bits: 7 }),
    /DynamicQuantizeLinear to 7 bits per "request" of 2 x 4/,
  );
  refused(
    (op, x) => op.Reshape(op.DynamicQuantizeLinear(x), [8]),
    /Reshape of quantised rows of 4 to 8/,
  );
  const byRow = { per: "row" } as const;
  refused(
    (op, x) => {
      const q = op.DynamicQuantizeLinear(op.Transpose(x, [1, 0]), byRow);
      return op.DynamicMatMulInteger(op.DynamicQuantizeLinear(x), q);
    },
    /DynamicMatMulInteger of rows of 4 x 2 that have ranges of their own/,
  );
  refused(
    (op, x) => op.QuantizeLinear(x, { scale: 0 }),
    /QuantizeLinear takes a positive scale/,
  );
  refused(
    (op, x) =>
      op.MatMulInteger(op.DynamicQuantizeLinear(x), { ...weight, zero: [999] }),
    /MatMulInteger weight has/,
  );
});

Deno.test("bytes of 7 bits are told to products, those of 8 are not", () => {
  const flags = (bits: 7 | 8) => {
    const cell = defineCell({
      name: "flag",
      inputs: { x: f32(4) },
      body: (op, { x }) => {
        const q = op.Reshape(op.DynamicQuantizeLinear(x, { bits }), [1, 4]);
        return { y: op.MatMulInteger(q, bytes(new Prng(1), 3, 4)) };
      },
    });
    return lowerCell(cell, () => 0).calls.flatMap((call) =>
      call.call === "kernel" && call.kernel === "gemm_q8_i32"
        ? [call.args[3]]
        : []
    );
  };
  assert.deepEqual([flags(7), flags(8)], [[1], [0]]);
});

Deno.test("int8 steps have the scratch memory that kernels ask for", () => {
  assert(release.kernels.cell_q8_scratch_bytes() <= CELL_Q8_SCRATCH_BYTES);
});

Deno.test("products of int8 cost the NPU as many multiplications as those of its words", () => {
  const cell = (quantizes: boolean) =>
    defineCell({
      name: "cost",
      inputs: { x: row("f32", [5, 4]), image: image(4, 4, 3) },
      body: (op, { x, image }) => {
        const random = new Prng(1);
        return quantizes
          ? {
            y: op.MatMulInteger(
              op.DynamicQuantizeLinear(x),
              bytes(random, 3, 4),
            ),
            z: op.ConvInteger(
              op.QuantizeLinear(image, RANGE),
              bytes(random, 2, 3, 3, 3),
            ),
          }
          : {
            y: op.Gemm(x, floats(random, 3, 4)),
            z: op.Conv(image, floats(random, 2, 3, 3, 3)),
          };
      },
    });
  const macs = (quantizes: boolean) =>
    cellLayers(cell(quantizes), 7).reduce((sum, one) => sum + macsOf(one), 0);
  assert.equal(
    macs(true),
    macs(false),
  );
});
