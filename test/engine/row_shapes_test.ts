/** Rows that have axes: many rows of a kernel, of one request; and rows of other types than f32 and i32. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { lowerCell } from "../../src/engine/lowering/lower_cell.ts";
import {
  type KernelBuild,
  readKernels,
} from "../../src/engine/wall/runtime.ts";
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
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import {
  elementCount,
  type Tensor,
  tensor,
  type TensorData,
} from "../../src/tensor/tensor.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { macsOf } from "../npu/macs_of.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { onceModel } from "./random_cells.ts";

function random(seed: number, ...shape: number[]): Tensor {
  const prng = new Prng(seed);
  const data = new Float32Array(elementCount(shape));
  return tensor(shape, data.map(() => 2 * prng.float() - 1));
}

/** Kernels that a cell's operators become, those of an inner loop in brackets. */
function kernelsOf(cell: Cell): string[] {
  return lowerCell(cell, () => 0).calls.flatMap((call) =>
    call.call === "each"
      ? [`[${call.calls.map(({ kernel }) => kernel).join(" ")}]`]
      : call.call === "kernel"
      ? [call.kernel]
      : []
  );
}

const [tokens, k, n] = [5, 6, 9];
const weight = random(1, n, k);
const bias = random(2, n);

/** What is computed of every row by itself. */
const ROWWISE: Readonly<Record<string, (op: Operators, x: Value) => Value>> = {
  Gemm: (op, x) => op.Tanh(op.Gemm(x, weight, bias)),
  "Gemm and a residual": (op, x) => {
    const first = op.Gemm(x, weight);
    return op.Relu(op.Add(op.Gemm(x, weight, bias), first));
  },
  ArgMax: (op, x) => op.ArgMax(x),
  "Gemm and ArgMax": (op, x) => op.ArgMax(op.Gemm(x, weight)),
  TopK: (op, x) => op.TopK(x, 2).ids,
  Softmax: (op, x) => op.Softmax(x),
  LayerNormalization: (op, x) =>
    op.LayerNormalization(x, { scale: random(3, k), bias: random(4, k) }),
  RMSNormalization: (op, x) => op.RMSNormalization(x, { scale: random(3, k) }),
  Slice: (op, x) => op.Exp(op.Slice(x, 1, 4)),
  Concat: (op, x) => op.Concat(x, op.Abs(x), op.Slice(x, 2, 3)),
  "Concat before a Gemm": (op, x) =>
    op.Gemm(op.Concat(x, op.Neg(x)), random(5, 3, 2 * k)),
  "a shared row": (op, x) =>
    op.Add(x, op.Constant(tensor([k], random(6, k).data))),
  "a shared number": (op, x) => op.Div(x, op.Constant([3])),
  Gather: (op, x) => op.Gather(random(7, k, 4), op.ArgMax(x)),
};

for (const [name, apply] of Object.entries(ROWWISE)) {
  Deno.test(`${name}: rows of one request have the bits that they have as requests of their own`, () => {
    const define = (input: ReturnType<typeof row>) =>
      defineCell({
        name: "rowwise",
        inputs: { x: input },
        body: (op, { x }) => ({ y: apply(op, x) }),
      });
    const alone = define(f32(k));
    const together = define(row("f32", [tokens, k]));
    const requests = [11, 12, 13].map((seed) => random(seed, tokens, k).data);
    const got = runRequests(
      onceModel(together),
      requests.map((x) => [[...x]]),
      {
        policy: cellular(),
      },
    );
    requests.forEach((x, i) => {
      const rows = Array.from(
        { length: tokens },
        (_, t) => [[...x.subarray(t * k, (t + 1) * k)]],
      );
      const expected = runRequests(onceModel(alone), rows);
      assert.deepEqual(
        [...got[i]["y"].data],
        expected.flatMap(({ y }) => [...y.data]),
      );
    });
  });
}

Deno.test("rows of requests cost the NPU what as many requests cost", () => {
  const macs = (cell: Cell, rows: number) =>
    cellLayers(cell, rows).reduce((sum, layer) => sum + macsOf(layer), 0);
  const layer = (input: ReturnType<typeof row>) =>
    defineCell({
      name: "layer",
      inputs: { x: input },
      body: (op, { x }) => ({
        y: op.RMSNormalization(op.Gelu(op.Gemm(x, weight)), {
          scale: random(1, n),
        }),
      }),
    });
  const together = layer(row("f32", [tokens, k]));
  const alone = layer(f32(k));
  assert.equal(macs(together, 3), 3 * tokens * n * k);
  const work = (cell: Cell, rows: number) =>
    cellLayers(cell, rows).flatMap(({ vector }) =>
      vector.map(({ elements, passes }) => elements * passes)
    );
  assert.deepEqual(work(together, 3), work(alone, 3 * tokens));
  const products = defineCell({
    name: "products",
    inputs: { x: row("f32", [2, tokens, k]) },
    body: (op, { x }) => ({
      y: op.MatMul(x, x, { transposed: true }),
      z: op.RowAttention(x, x, x, { heads: 2 }),
    }),
  });
  // Scores, and twice as much for attention: scores and means.
  assert.equal(macs(products, 3), 3 * 3 * 2 * tokens * tokens * k);
});

Deno.test("rows of all requests go to a kernel at once", () => {
  const cell = defineCell({
    name: "layer",
    inputs: { x: row("f32", [tokens, k]) },
    body: (op, { x }) => {
      const y = op.Gemm(x, random(1, k, k));
      return { y: op.Softmax(op.Gelu(op.Add(y, x))) };
    },
  });
  assert.deepEqual(kernelsOf(cell), ["gemm_residual_f32", "softmax_rows_f32"]);
  assert.deepEqual(cell.outputs[0].shape, [tokens, k]);
  const { calls } = lowerCell(cell, () => 0);
  const gemm = calls.find((call) => call.call === "kernel");
  assert.deepEqual(gemm?.args[0], { rowsTimes: tokens });
});

Deno.test("a sum is a Gemm's own only where it has as many rows", () => {
  const cell = defineCell({
    name: "broadcast",
    inputs: { x: row("f32", [tokens, k]), shared: f32(n) },
    body: (op, { x, shared }) => ({ y: op.Add(op.Gemm(x, weight), shared) }),
  });
  assert.deepEqual(kernelsOf(cell), ["gemm_f32", "add_f32"]);
});

Deno.test("MatMul multiplies matrices of each request", () => {
  const cell = (b: readonly number[], transposed: boolean) =>
    defineCell({
      name: "product",
      inputs: { a: row("f32", [2, 3, 4]), b: row("f32", b) },
      body: (op, { a, b }) => ({ y: op.MatMul(a, b, { transposed }) }),
    });
  const own = cell([2, 4, 5], false);
  assert.deepEqual(kernelsOf(own), ["[pack_gemm_f32 gemm_f32]"]);
  assert.deepEqual(own.outputs[0].shape, [2, 3, 5]);
  for (
    const [b, transposed] of [
      [[2, 4, 5], false],
      [[2, 5, 4], true],
      [[4, 5], false],
      [[1, 5, 4], true],
    ] as const
  ) {
    const inputs = [1, 2, 3].map((seed) => [
      [...random(seed, 24).data],
      [...random(seed + 9, ...b).data],
    ]);
    const results = runRequests(onceModel(cell(b, transposed)), inputs, {
      policy: merged({ batchSizeMax: 3 }),
    });
    inputs.forEach(([left, right], i) => {
      const expected = Array.from({ length: 30 }, (_, at) => {
        const [column, row] = [at % 5, Math.floor(at / 5)];
        const matrix = b[0] === 2 ? Math.floor(row / 3) * 20 : 0;
        let sum = 0;
        for (let t = 0; t < 4; t++) {
          const other = transposed ? column * 4 + t : t * 5 + column;
          sum = Math.fround(
            sum + Math.fround(left[row * 4 + t] * right[matrix + other]),
          );
        }
        return sum;
      });
      assert.deepEqual([...results[i]["y"].data], expected);
    });
  }
  assert.throws(
    () => cell([3, 4, 5], false),
    /MatMul of 2 x 3 x 4 and 3 x 4 x 5/,
  );
});

Deno.test("Transpose moves axes as ONNX does, whatever the order", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 })
        .chain((shape) =>
          fc.tuple(
            fc.constant(shape),
            fc.shuffledSubarray(shape.map((_, i) => i), {
              minLength: shape.length,
            }),
          )
        ),
      ([shape, perm]) => {
        const cell = defineCell({
          name: "turned",
          inputs: { x: row("f32", shape) },
          body: (op, { x }) => ({ y: op.Transpose(x, perm) }),
        });
        const data = Float32Array.from(
          { length: elementCount(shape) },
          (_, i) => i,
        );
        const results = runRequests(
          onceModel(cell),
          [data, data.map((x) => -x - 1)].map((x) => [[...x]]),
          { policy: merged({ batchSizeMax: 2 }) },
        );
        const to = perm.map((axis) => shape[axis]);
        data.forEach((x, i) => {
          const at = new Array<number>(shape.length);
          for (let axis = shape.length - 1, left = i; axis >= 0; axis--) {
            at[axis] = left % shape[axis];
            left = Math.floor(left / shape[axis]);
          }
          const place = perm.reduce(
            (sum, axis, j) => sum * to[j] + at[axis],
            0,
          );
          assert.equal(results[0]["y"].data[place], x);
          assert.equal(results[1]["y"].data[place], -x - 1);
        });
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("RowAttention gives the bits that Attention gives in a ragged cell of as many tokens", () => {
  const heads = 2;
  const width = 2 * k;
  for (const causal of [false, true]) {
    const options = { heads, causal };
    const rows = defineCell({
      name: "rows",
      inputs: { x: row("f32", [2, tokens, width]) },
      body: (op, { x }) => ({
        y: op.RowAttention(x, op.Exp(x), op.Neg(x), options),
      }),
    });
    assert.deepEqual(kernelsOf(rows).slice(2), [
      "attention_append_f32",
      "attention_f32",
    ]);
    const ragged = defineCell({
      name: "ragged",
      tokensMax: tokens,
      inputs: { x: f32(width) },
      body: (op, { x }) => ({
        y: op.Attention(x, { k: op.Exp(x), v: op.Neg(x) }, options),
      }),
    });
    const sequences: Model<number[]> = {
      name: "sequences",
      cells: [ragged],
      shape: "chain",
      check() {},
      unfold(x, graph) {
        const source = graph.row(graph.rows(x), 0, width);
        const node = graph.node(ragged, { x: source }, { length: tokens });
        graph.result("y", graph.output(node, "y"));
      },
    };
    // Two sequences a request, and three requests.
    const given = [1, 2, 3, 4, 5, 6].map((seed) => [
      ...random(seed, tokens, width).data,
    ]);
    const together = runRequests(
      onceModel(rows),
      [0, 2, 4].map((i) => [[...given[i], ...given[i + 1]]]),
      { policy: merged({ batchSizeMax: 3 }) },
    );
    assert.deepEqual(
      together.flatMap(({ y }) => [...y.data]),
      runRequests(sequences, given).flatMap(({ y }) => [...y.data]),
    );
  }
  assert.throws(
    () =>
      defineCell({
        name: "misfit",
        inputs: { q: row("f32", [3, 4]), k: row("f32", [5, 4]) },
        body: (op, { q, k }) => ({
          y: op.RowAttention(q, k, k, { heads: 2, causal: true }),
        }),
      }),
    /RowAttention, causal, of 2 heads .* over 3 x 4, 5 x 4, 5 x 4/,
  );
});

Deno.test("activations that kernels know are theirs", () => {
  const square = random(1, k, k);
  const kernel = random(2, 3, 2, 1, 1);
  for (
    const act of [
      "Relu",
      "Sigmoid",
      "Tanh",
      "Gelu",
      "GeluTanh",
      "Swish",
    ] as const
  ) {
    const product = defineCell({
      name: act,
      inputs: { x: f32(k) },
      body: (op, { x }) => ({ y: op[act](op.Gemm(x, square)) }),
    });
    assert.deepEqual(kernelsOf(product), ["gemm_f32"]);
    const convolution = defineCell({
      name: act,
      inputs: { x: image(2, 3, 2) },
      body: (op, { x }) => ({ y: op[act](op.Conv(x, kernel)) }),
    });
    assert.deepEqual(kernelsOf(convolution), ["conv_f32"]);
  }
});

/** Every element type, and rows that are no whole number of words. */
const TYPED: Readonly<Record<string, TensorData>> = {
  f32: Float32Array.of(1.5, -2, 3),
  i32: Int32Array.of(-1, 2 ** 31 - 1, 3),
  i64: BigInt64Array.of(-1n, 2n ** 62n, 3n),
  i8: Int8Array.of(-128, 127, 3),
  u8: Uint8Array.of(0, 255, 3),
  bool: Uint8Array.of(0, 1, 1),
};

async function compiled(build: KernelBuild): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await readKernels(build));
}

Deno.test("rows of every type go from a request into its result, with their axes", async () => {
  const cell = defineCell<string, string>({
    name: "copies",
    inputs: Object.fromEntries(
      Object.keys(TYPED).map((dtype) => [dtype, row(dtype as "f32", [1, 3])]),
    ),
    body: (op, values) =>
      Object.fromEntries(
        Object.entries(values).map((
          [name, x],
        ) => [name, op.Reshape(x, [3, 1])]),
      ),
  });
  const model: Model<{ from: number }> = {
    name: "typed",
    cells: [cell],
    shape: "dag",
    outputs: Object.fromEntries(
      Object.keys(TYPED).map((dtype) => [dtype, dtype as "f32"]),
    ),
    check() {},
    unfold({ from }, graph) {
      const node = graph.node(
        cell,
        Object.fromEntries(
          Object.entries(TYPED).map(([name, data]) => {
            // The second of two rows, the first one of something else.
            const both = new (data.constructor as typeof Uint8Array)(6);
            both.set(data as Uint8Array, from * 3);
            return [name, graph.row(graph.data(both), from, 3)];
          }),
        ),
      );
      for (const name of Object.keys(TYPED)) {
        graph.result(name, graph.output(node, name));
      }
    },
  };
  // Of bytes a row may begin anywhere, which the debug build is to allow.
  for (const build of ["shoal", "shoal.debug"] as const) {
    const results = runRequests(
      model,
      [{ from: 0 }, { from: 1 }, { from: 1 }],
      { policy: merged({ batchSizeMax: 3 }), kernels: await compiled(build) },
    );
    for (const result of results) {
      for (const [name, data] of Object.entries(TYPED)) {
        assert.deepEqual(result[name], { shape: [3, 1], data });
      }
    }
  }
});

Deno.test("a model declares results that are neither f32 nor i32, and data are of the port's type", () => {
  const cell = defineCell({
    name: "bytes",
    inputs: { x: row("u8", [2]) },
    body: (_, { x }) => ({ x }),
  });
  const model = (data: TensorData): Model<number> => ({
    name: "undeclared",
    cells: [cell],
    shape: "dag",
    check() {},
    unfold(_, graph) {
      const node = graph.node(cell, { x: graph.row(graph.data(data), 0, 2) });
      graph.result("x", graph.output(node, "x"));
    },
  });
  assert.throws(
    () => runRequests(model(Uint8Array.of(1, 2)), [0]),
    /result "x" of model "undeclared" is u8: .* declared in its "outputs"/i,
  );
  assert.throws(
    () => runRequests(model(Int8Array.of(1, 2)), [0]),
    /Input "x" of cell "bytes" is u8\[2\], got i8\[2\]/,
  );
});

Deno.test("ragged cells refuse tokens that do not end with a word", () => {
  const define = (width: number) =>
    defineCell({
      name: "tokens",
      tokensMax: 3,
      inputs: { x: row("u8", [width]) },
      body: (_, { x }) => ({ x }),
    });
  assert.throws(() => define(3), /"x" of a ragged cell is u8\[3\] a token/);
  assert.equal(define(8).outputs[0].width, 8);
});
