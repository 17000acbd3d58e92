/** One-hot codes times a matrix, as rows of it: the bits of the sum, whatever the ids are. */
import assert from "node:assert/strict";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import type { TensorData } from "../../src/tensor/tensor.ts";
import { runRequests } from "../run_requests.ts";
import { node, writeModel } from "./write_model.ts";

interface Case {
  ids?: PlainTensor;
  /** What ids are compared with. */
  codes?: PlainTensor;
  /** Of four rows, unless there are other codes. */
  matrix?: readonly number[];
  /** Whether the codes are a result, too. */
  isRead?: boolean;
}

const IDS = plainOf("int32", [1, 7, 1], [2, 0, -1, 3, 4, -5, 2]);
const CODES = plainOf("int32", [1, 1, 4], [0, 1, 2, 3]);
const MATRIX = [0.1, -2, -0, 1e-40, 3e38, -7, 5, 0.3];

/** The model's plain operators, in the order of the cell, and its result beside the plain graph's. */
function cut(
  { ids = IDS, codes = CODES, matrix = MATRIX, isRead = false }: Case,
) {
  const rows = codes.dims.at(-1)!;
  const weight = plainTensor(
    "float32",
    [rows, matrix.length / rows],
    Float32Array.from(matrix),
  );
  const { graph, ...file } = readModel(writeModel({
    graph: {
      inputs: [{ name: "ids", type: ids.type, dims: ids.dims }],
      outputs: [{ name: "y" }, ...(isRead ? [{ name: "hot" }] : [])],
      initializers: { codes, weight },
      nodes: [
        node("Equal", ["codes", "ids"], ["same"]),
        node("Cast", ["same"], ["hot"], { to: 1 }),
        node("MatMul", ["hot", "weight"], ["y"]),
      ],
    },
  }));
  const wanted = runPlainGraph(graph, new Map([["ids", ids]])).get("y")!;
  const model = onnxModel({ ...file, graph });
  const [{ y }] = runRequests(model, [{ ids: ids.data as TensorData }]);
  const names = model.cells.flatMap(({ operators }) =>
    operators.flatMap((one) => one.op === "Plain" ? [one.name] : [])
  );
  return { names, got: y, wanted };
}

const LOOKED_UP: Readonly<Record<string, Case>> = {
  "ids of 32 bits": {},
  "ids of 64 bits, of two axes": {
    ids: plainOf("int64", [1, 2, 3, 1], [2, 0, -1, 3, 4, -(2 ** 40)]),
    codes: plainOf("int64", [1, 4], [0, 1, 2, 3]),
  },
  "codes in another order, with gaps": {
    codes: plainOf("int32", [4], [3, 9, 0, 2]),
    ids: plainOf("int32", [1, 6, 1], [0, 1, 2, 3, 9, 10]),
  },
  "as many codes as a large vocabulary has": {
    codes: plainOf(
      "int32",
      [150_000],
      Array.from({ length: 150_000 }).keys().toArray(),
    ),
    ids: plainOf("int32", [1, 2, 1], [149_999, 150_000]),
    matrix: Array.from({ length: 150_000 }, (_, i) => i),
  },
};

for (const [name, given] of Object.entries(LOOKED_UP)) {
  Deno.test(`one-hot codes times a matrix are looked up: ${name}`, () => {
    const { names, got, wanted } = cut(given);
    assert.deepEqual(names, ["Clip", "Gather"]);
    assert.deepEqual(got.shape, wanted.dims);
    assert.deepEqual(got.data, wanted.data);
  });
}

const LEFT_ALONE: Readonly<Record<string, Case>> = {
  "a code twice": { codes: plainOf("int32", [4], [0, 1, 1, 3]) },
  "a negative code": { codes: plainOf("int32", [4], [0, 1, -2, 3]) },
  "codes far apart": { codes: plainOf("int32", [4], [0, 1, 2, 999]) },
  "an infinite weight": { matrix: MATRIX.with(3, Infinity) },
  "ids that are not one for each code": {
    ids: plainOf("int32", [1, 2, 4], [0, 1, 2, 3, 3, 1, 2, 0]),
  },
  "codes that somebody else reads": { isRead: true },
};

for (const [name, given] of Object.entries(LEFT_ALONE)) {
  Deno.test(`a product of codes is left alone: ${name}`, () => {
    const { names, got, wanted } = cut(given);
    assert(names.includes("Equal") && !names.includes("Gather"));
    assert.deepEqual(got.shape, wanted.dims);
    if (name !== "an infinite weight") {
      assert.deepEqual(got.data.map((x) => x as number + 0), wanted.data);
    }
  });
}
