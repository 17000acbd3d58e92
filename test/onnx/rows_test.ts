/** Requests of several rows: what the file gives for all of them, with the bits of each alone. No data sets are needed. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { type OnnxCellModel, onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import {
  elementCount,
  type Tensor,
  type TensorData,
} from "../../src/tensor/tensor.ts";
import {
  node,
  writeModel,
  type WrittenNode,
  type WrittenValue,
} from "./write_model.ts";

const prng = new Prng(11);

const floats = (...dims: number[]): PlainTensor<"float32"> =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from({ length: elementCount(dims) }, () => prng.float() - 0.5),
  );
const integers = (...values: number[]) =>
  plainOf("int64", [values.length], values);

interface Written {
  inputs: readonly WrittenValue[];
  outputs?: readonly string[];
  constants?: Record<string, PlainTensor>;
  nodes: readonly WrittenNode[];
}

function read({ inputs, outputs = ["y"], constants = {}, nodes }: Written) {
  return readModel(writeModel({
    graph: {
      ...{ inputs, nodes, initializers: constants },
      outputs: outputs.map((name) => ({ name })),
    },
  }));
}

const x = (...dims: (number | string)[]) => ({ name: "x", dims });

/** An If of nodes that make r, or what is below 0 turned around. */
const either = (
  condition: string,
  output: string,
  nodes: readonly WrittenNode[],
) =>
  node("If", [condition], [output], {
    then_branch: { graph: { outputs: [{ name: "r" }], nodes } },
    else_branch: {
      graph: {
        outputs: [{ name: "o" }],
        nodes: [node("Abs", ["x"], ["o"])],
      },
    },
  });

const CONDITION = { name: "c", type: "bool" as const, dims: [] };

/** Files whose rows lie everywhere. */
const FILES: Record<string, Written> = {
  "a product with a sum and a softmax": {
    inputs: [x("N", 3, 6)],
    constants: { w: floats(6, 4), b: floats(3, 4) },
    nodes: [
      node("MatMul", ["x", "w"], ["a"]),
      node("Add", ["a", "b"], ["c"]),
      node("Softmax", ["c"], ["y"]),
    ],
  },
  "a batch of 1 is only declared; images, pooled and put in rows": {
    inputs: [x(1, 3, 8, 8)],
    constants: {
      w: floats(4, 3, 3, 3),
      v: floats(2, 16),
      flat: integers(1, 16),
    },
    nodes: [
      node("Conv", ["x", "w"], ["a"], { strides: [2, 2] }),
      node("MaxPool", ["a"], ["b"], { kernel_shape: [2, 2] }),
      node("Flatten", ["b"], ["c"]),
      node("Gemm", ["c", "v"], ["y"], { transB: 1 }),
    ],
  },
  "attention between the positions of a row": {
    inputs: [x("N", 5, 8)],
    constants: { split: integers(0, 0, 2, 4), join: integers(0, 0, 8) },
    nodes: [
      node("Reshape", ["x", "split"], ["h"]),
      node("Transpose", ["h"], ["q"], { perm: [0, 2, 1, 3] }),
      node("Transpose", ["h"], ["k"], { perm: [0, 2, 3, 1] }),
      node("MatMul", ["q", "k"], ["s"]),
      node("Softmax", ["s"], ["p"]),
      node("MatMul", ["p", "q"], ["o"]),
      node("Transpose", ["o"], ["t"], { perm: [0, 2, 1, 3] }),
      node("Reshape", ["t", "join"], ["y"]),
    ],
  },
  "a recurrent layer: rows are the second axis of states": {
    inputs: [
      { name: "x", dims: [1, 5, 3] },
      { name: "h", dims: [2, 1, 4] },
    ],
    outputs: ["y", "last"],
    constants: { w: floats(2, 12, 3), r: floats(2, 12, 4) },
    nodes: [
      node("Transpose", ["x"], ["t"], { perm: [1, 0, 2] }),
      node("GRU", ["t", "w", "r", "", "", "h"], ["y", "last"], {
        hidden_size: 4,
        direction: "bidirectional",
      }),
    ],
  },
  "images stretched, with a border": {
    inputs: [x("N", 2, 3, 3)],
    constants: {
      scales: plainOf("float32", [2], [1.5, 2]),
      pads: integers(0, 0, 1, 0, 0, 0, 1, 2),
    },
    nodes: [
      node("Resize", ["x", "", "scales"], ["a"], { axes: [2, 3] }),
      node("Pad", ["a", "pads"], ["y"]),
    ],
  },
  "an input that all rows share": {
    inputs: [x("N", 4), { name: "shift", dims: [4] }],
    constants: { axis: integers(1) },
    nodes: [
      node("Add", ["x", "shift"], ["a"]),
      node("ReduceMean", ["a", "axis"], ["b"], { keepdims: 1 }),
      node("Sub", ["a", "b"], ["y"]),
    ],
  },
  "ids, looked up; the mean of the positions": {
    inputs: [{ name: "x", type: "int64", dims: ["N", 3] }],
    constants: { table: floats(5, 2), axis: integers(1) },
    nodes: [
      node("Gather", ["table", "x"], ["a"]),
      node("ReduceMean", ["a", "axis"], ["b"], { keepdims: 0 }),
      node("Unsqueeze", ["b", "axis"], ["c"]),
      node("Squeeze", ["c", "axis"], ["y"]),
    ],
  },
};

const ROWS = 3;

/** Several rows of every input, and the same row by row. */
function requests(model: OnnxCellModel, file: Written) {
  const all: Record<string, Tensor<TensorData>> = {};
  const each = Array.from(
    { length: ROWS },
    (): Record<string, Tensor<TensorData>> => ({}),
  );
  for (const { name, dtype, shape } of model.inputs) {
    const isShared = file.inputs.find((input) => input.name === name)!.dims!
      .every((size) => size !== "N" && size !== 1);
    const axis = shape[0] === 1 ? 0 : 1;
    const count = isShared ? 1 : ROWS;
    const parts = Array.from({ length: count }, () => {
      const { data } = floats(...shape);
      return dtype === "i64"
        ? BigInt64Array.from(
          data,
          (value) => BigInt(Math.floor(5 * (value + 0.5))),
        )
        : data;
    });
    each.forEach((row, i) =>
      row[name] = { shape, data: parts[Math.min(i, count - 1)] }
    );
    const inner = elementCount(shape.slice(axis + 1));
    const outer = elementCount(shape.slice(0, axis));
    const data: (number | bigint)[] = [];
    for (let at = 0; at < outer; at++) {
      for (const part of parts) {
        data.push(...part.slice(at * inner, (at + 1) * inner));
      }
    }
    all[name] = {
      shape: isShared ? shape : shape.with(axis, ROWS),
      data: dtype === "i64"
        ? BigInt64Array.from(data as bigint[])
        : Float32Array.from(data as number[]),
    };
  }
  return { all, each };
}

for (const [name, written] of Object.entries(FILES)) {
  Deno.test(`rows: ${name}`, async () => {
    const file = read(written);
    const model = onnxModel(file, { cells: "layer" });
    assert.equal(model.whyOneRow, undefined);
    const { all, each } = requests(model, written);
    for (const policy of ["cellular", "graph"]) {
      await using engine = await ServingEngine.create({
        models: [model],
        policy: POLICIES[policy].build({}),
        workers: 0,
      });
      const alone = [];
      for (const row of each) alone.push(await engine.run(model, row));
      const { outputs, timing } = await engine.run(model, all, {
        batches: true,
      });
      // As the file has it, which declares no size of the batch, or is told another.
      const wanted = runPlainGraph(
        file.graph,
        new Map(
          Object.entries(all).map(([name, { shape, data }]) => [
            name,
            {
              type: data instanceof BigInt64Array ? "int64" : "float32",
              ...{ dims: shape, data },
            } as PlainTensor,
          ]),
        ),
      );
      for (const { name } of model.results) {
        const { shape, data } = outputs[name];
        const { dims, data: should } = wanted.get(name)!;
        assert.deepEqual(shape, dims);
        data.forEach((value, i) =>
          assert(Math.abs(Number(value) - Number(should[i])) < 1e-5)
        );
        const own = alone.map(({ outputs }) => outputs[name]);
        const axis = shape.findIndex((size, i) => size !== own[0].shape[i]);
        const inner = elementCount(shape.slice(axis + 1));
        data.forEach((value, i) => {
          const row = Math.floor(i / inner) % ROWS;
          const at = Math.floor(i / inner / ROWS) * inner + i % inner;
          assert.equal(value, own[row].data[at], `${name}, element ${i}`);
        });
      }
      assert(timing.batches!.some(({ batchSize }) => batchSize === ROWS));
      assert(timing.ranMs >= 0 && timing.batchCount! >= ROWS);
    }
  });
}

const MIXING: Record<string, [Written, why: RegExp]> = {
  "a mean over the batch": [{
    inputs: [x("N", 4)],
    constants: { axis: integers(0) },
    nodes: [
      node("ReduceMean", ["x", "axis"], ["m"]),
      { ...node("Sub", ["x", "m"], ["y"]), name: "centred" },
    ],
  }, /^node "ReduceMean:m" \(ReduceMean\): it computes across the rows$/],
  "a product of rows with rows": [{
    inputs: [x("N", 4)],
    nodes: [
      node("Transpose", ["x"], ["t"]),
      node("MatMul", ["x", "t"], ["y"]),
    ],
  }, /\(MatMul\): rows of its inputs lie along different axes/],
  "a product that sums rows up": [{
    inputs: [x("N", 4)],
    constants: { w: floats(2, 1) },
    nodes: [node("MatMul", ["w", "x"], ["y"])],
  }, /\(MatMul\): it sums the rows up/],
  "a running sum": [{
    inputs: [x("N", 4)],
    constants: { axis: plainOf("int64", [], [0]) },
    nodes: [node("CumSum", ["x", "axis"], ["y"])],
  }, /\(CumSum\): nobody knows what it does with rows/],
  "rows in one": [{
    inputs: [x("N", 2, 4)],
    constants: { flat: integers(-1) },
    nodes: [node("Reshape", ["x", "flat"], ["y"])],
  }, /\(Reshape\): it puts rows together with another axis/],
  "positions that are rows": [{
    inputs: [x("N", 1, 3)],
    constants: { w: floats(1, 12, 3), r: floats(1, 12, 4) },
    nodes: [node("GRU", ["x", "w", "r"], ["y"], { hidden_size: 4 })],
  }, /\(GRU\): rows lie where it does not look for them/],
  "the first row": [{
    inputs: [x("N", 4)],
    constants: { from: integers(0), to: integers(1), axis: integers(0) },
    nodes: [node("Slice", ["x", "from", "to", "axis"], ["y"])],
  }, /\(Slice\): it takes some of the rows/],
  "rows behind the first, of which one row has none": [{
    inputs: [x("N", 4)],
    constants: { from: integers(1), to: integers(2 ** 31), axis: integers(0) },
    nodes: [
      node("Slice", ["x", "from", "to", "axis"], ["others"]),
      node("Concat", ["others", "x"], ["y"], { axis: 0 }),
    ],
  }, /\(Slice\): it takes some of the rows/],
  "rows stretched by less than one": [{
    inputs: [x("N", 4)],
    constants: { scales: plainOf("float32", [2], [1.5, 1]) },
    nodes: [node("Resize", ["x", "", "scales"], ["y"])],
  }, /\(Resize\): it makes others of the rows/],
  "rows moved by one": [{
    inputs: [x("N", 4)],
    constants: { pads: integers(1, 0, -1, 0) },
    nodes: [node("Pad", ["x", "pads"], ["y"])],
  }, /\(Pad\): it puts something beside the rows/],
  "places in the whole batch": [{
    inputs: [x("N", 2, 4)],
    nodes: [node("MaxPool", ["x"], ["v", "y"], { kernel_shape: [2] })],
  }, /\(MaxPool\): it says where its maxima lie among all rows/],
  "another row behind": [{
    inputs: [x("N", 4)],
    constants: { more: floats(1, 4) },
    nodes: [node("Concat", ["x", "more"], ["y"], { axis: 0 })],
  }, /\(Concat\): it puts something beside the rows/],
  "an output of none of them": [{
    inputs: [x("N", 4), { name: "z", dims: [3] }],
    outputs: ["y", "v"],
    nodes: [node("Relu", ["x"], ["y"]), node("Relu", ["z"], ["v"])],
  }, /^output "v" has no axis of rows$/],
  "a branch that sums rows up": [{
    inputs: [x("N", 4), CONDITION],
    outputs: ["y", "v"],
    constants: { axis: integers(0) },
    nodes: [
      either("c", "s", [node("ReduceSum", ["x", "axis"], ["r"])]),
      node("Add", ["x", "s"], ["y"]),
      node("Relu", ["x"], ["v"]),
    ],
  }, /\(ReduceSum\): it computes across the rows$/],
  "a branch that takes the first row": [{
    inputs: [x("N", 4), CONDITION],
    constants: { first: plainOf("int64", [1, 1], [0]) },
    nodes: [
      either("c", "s", [node("GatherND", ["x", "first"], ["r"])]),
      node("Add", ["x", "s"], ["y"]),
    ],
  }, /\(If\): nobody knows what it does with rows$/],
  "no rows in front": [{
    inputs: [x(4)],
    nodes: [node("Relu", ["x"], ["y"])],
  }, /^no input has an axis of rows$/],
};

for (const [name, [written, why]] of Object.entries(MIXING)) {
  Deno.test(`one row only: ${name}`, () => {
    const model = onnxModel(read(written));
    assert.match(model.whyOneRow!, why);
    // One row is as ever.
    const one = model.inputs.map(({ name, shape }) => [
      name,
      new Float32Array(elementCount(shape)),
    ]);
    assert.equal(model.rows!.split(Object.fromEntries(one)), undefined);
    if (!model.inputs.every(({ shape }) => shape[0] === 1)) return;
    const two = model.inputs.map(({ name, shape }) => [
      name,
      new Float32Array(2 * elementCount(shape)),
    ]);
    assert.throws(
      () => model.rows!.split(Object.fromEntries(two)),
      /A request to "the model" is one row, got 2: /,
    );
  });
}

Deno.test("what is no several rows is refused as one", async () => {
  const model = onnxModel(read({
    inputs: [x("N", 4), { name: "z", dims: ["N", 2] }],
    outputs: ["y", "v"],
    nodes: [node("Relu", ["x"], ["y"]), node("Relu", ["z"], ["v"])],
  }));
  await using engine = await ServingEngine.create({
    models: [model],
    policy: POLICIES["cellular"].build({}),
    workers: 0,
  });
  const numbers = (length: number) => new Float32Array(length);
  const cases: [unknown, RegExp][] = [
    [{ x: numbers(8), z: numbers(6) }, /has 2 rows of "x", 3 of "z", which is/],
    [{ x: numbers(7), z: numbers(4) }, /Input "x".*\[1, 4\], got 7 elements/],
    [
      { x: { shape: [4, 2], data: numbers(8) }, z: numbers(4) },
      /Input "x".*\[1, 4\], got \[4, 2\]/,
    ],
    [{ x: numbers(8), z: new Int32Array(4) }, /Input "z" .*Float32Array/],
    [{ x: numbers(8), z: numbers(4), w: numbers(1) }, /no tensor "w"/],
    [
      { x: numbers(4 * 70_000), z: numbers(2 * 70_000) },
      /has up to 65536 rows, got 70000/,
    ],
    [null, /Input of "the model"/],
  ];
  for (const [input, message] of cases) {
    await assert.rejects(engine.run(model, input as never), message);
  }
});
