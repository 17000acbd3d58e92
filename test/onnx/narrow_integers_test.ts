/** Integers of 4 and 2 bits: weights behind DequantizeLinear and tables of GatherBlockQuantized, as integers of 8 bits. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { onnxModel } from "../../src/onnx/model.ts";
import { quantizeFile } from "../../src/onnx/quantize/quantize_file.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { plainOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { drawn } from "./cell_cases.ts";
import { contrib } from "./contrib_cases.ts";
import { bytes, integer, message, text } from "./wire.ts";
import {
  node,
  writeModel,
  type WrittenGraph,
  type WrittenTensor,
} from "./write_model.ts";

/** Type by its number in files, bits, and the least of its integers. */
const TYPES = {
  uint4: { code: 21, bits: 4, least: 0, plain: "uint8" },
  int4: { code: 22, bits: 4, least: -8, plain: "int8" },
  uint2: { code: 25, bits: 2, least: 0, plain: "uint8" },
  int2: { code: 26, bits: 2, least: -2, plain: "int8" },
} as const;
type Narrow = keyof typeof TYPES;
const NAMES = Object.keys(TYPES) as Narrow[];

/** As a file has them, the first one lowest in its byte. */
function packed(type: Narrow, values: readonly number[]): Uint8Array {
  const { bits } = TYPES[type];
  const found = new Uint8Array(Math.ceil(values.length * bits / 8));
  values.forEach((value, i) => {
    const [at, place] = [Math.floor(i * bits / 8), i * bits % 8];
    found[at] |= (value & (1 << bits) - 1) << place;
  });
  return found;
}

const raw = (
  type: Narrow,
  dims: readonly number[],
  values: readonly number[],
): WrittenTensor => ({
  fields: [
    ...dims.map((size) => integer(1, size)),
    integer(2, TYPES[type].code),
    bytes(9, packed(type, values)),
  ],
});

const typed = (
  type: Narrow,
  dims: readonly number[],
  values: readonly number[],
): WrittenTensor => ({
  fields: [
    ...dims.map((size) => integer(1, size)),
    integer(2, TYPES[type].code),
    ...Array.from(packed(type, values), (byte) => integer(5, byte)),
  ],
});

const read = (graph: WrittenGraph, opset = 25) =>
  readModel(
    writeModel({ graph, opsets: { "": opset, "com.microsoft": 1 } }),
    { label: "m.onnx" },
  );

const dequantized = (
  x: WrittenTensor,
  more: Partial<WrittenGraph> = {},
): WrittenGraph => ({
  outputs: [{ name: "y" }],
  initializers: { x, s: plainOf("float32", [], [1]) },
  nodes: [node("DequantizeLinear", ["x", "s"], ["y"])],
  ...more,
});

Deno.test("integers of less than 8 bits are read from their bytes, raw or typed", () => {
  fc.assert(fc.property(
    fc.constantFrom(...NAMES),
    fc.boolean(),
    fc.array(fc.nat(15), { maxLength: 9 }),
    (type, isRaw, drawn) => {
      const { bits, least, plain } = TYPES[type];
      const values = drawn.map((value) => value % (1 << bits) + least);
      const write = isRaw ? raw : typed;
      const { graph, notes } = read(
        dequantized(write(type, [values.length], values)),
      );
      const x = graph.initializers.get("x") as PlainTensor;
      assert.equal(x.type, plain);
      assert.equal(x.bits, bits);
      assert.deepEqual(Array.from(x.data, Number), values);
      assert.deepEqual(notes, [
        `1 tensor or value of ${type} as ${plain}, the first "x"`,
      ]);
    },
  ));
});

Deno.test("a weight of 4 bits in blocks, each with a scale, is the floats that it stands for", () => {
  // Columns of 4 numbers, blocks of 2 along the summed axis.
  const values = [...[-8, 7], ...[1, -1], ...[3, 0], ...[-2, 5]];
  const scales = [...[0.5, 2], ...[0.25, 1]];
  const zeros = [...[-1, 0], ...[2, 3]];
  const floats = values.map((value, i) => {
    const block = 2 * Math.floor(i / 4) + i % 2;
    return (value - zeros[block]) * scales[block];
  });
  const product = (
    initializers: WrittenGraph["initializers"],
    nodes: WrittenGraph["nodes"],
  ) =>
    onnxModel(read({
      inputs: [{ name: "x", dims: ["n", 4] }],
      outputs: [{ name: "y" }],
      initializers,
      nodes: [...nodes, node("MatMul", ["x", "w"], ["y"])],
    }));
  const blocks = { axis: 0, block_size: 2 };
  const given = {
    s: plainOf("float32", [2, 2], scales),
    z: raw("int4", [2, 2], zeros),
  };
  const requests = [drawn(1, 4), drawn(1, 4), drawn(1, 4)].map((
    { data },
    i,
  ) => ({
    x: (data as Float32Array).map((x) => x * (i + 1)),
  }));
  const wanted = runRequests(
    product({ w: plainOf("float32", [4, 2], floats) }, []),
    requests,
  );
  const asInitializer = product({ ...given, q: raw("int4", [4, 2], values) }, [
    node("DequantizeLinear", ["q", "s", "z"], ["w"], blocks),
  ]);
  const asConstant = product(given, [
    node("Constant", [], ["q"], {
      value: { tensor: raw("int4", [4, 2], values) },
    }),
    node("DequantizeLinear", ["q", "s", "z"], ["w"], blocks),
  ]);
  assert.deepEqual(runRequests(asInitializer, requests), wanted);
  assert.deepEqual(runRequests(asConstant, requests), wanted);
});

Deno.test("rows of a table of 4 bits are the floats that they stand for, zero points 0 where there are none", () => {
  for (const type of ["uint4", "int4"] as const) {
    const { least } = TYPES[type];
    const values = [0, 1, 2, 3, 4, 5].map((value) => value + least);
    const rows = (zeros: readonly number[] | undefined) =>
      onnxModel(read({
        inputs: [{ name: "i", type: "int64", dims: [2] }],
        outputs: [{ name: "y" }],
        initializers: {
          q: raw(type, [2, 3], values),
          s: plainOf("float32", [2, 2], [1, 2, 3, 4]),
          ...(zeros && { z: raw(type, [2, 2], zeros) }),
        },
        nodes: [
          contrib(
            "GatherBlockQuantized",
            ["q", "i", "s", ...(zeros ? ["z"] : [])],
            ["y"],
            { block_size: 2 },
          ),
        ],
      }));
    const request = { i: BigInt64Array.of(1n, 0n) };
    const scales = [...[1, 1, 2], ...[3, 3, 4]];
    const floats = (zeros: readonly number[]) => {
      const all = values.map((value, i) => (value - zeros[i]) * scales[i]);
      return [...all.slice(3), ...all.slice(0, 3)];
    };
    const [plain] = runRequests(rows(undefined), [request]);
    assert.deepEqual([...plain.y.data], floats([0, 0, 0, 0, 0, 0]));
    const [shifted] = runRequests(rows([1, 2, 3, 0]), [request]);
    assert.deepEqual([...shifted.y.data], floats([1, 1, 2, 3, 3, 0]));
  }
});

Deno.test("who reads integers of less than 8 bits and does not dequantise them is refused by name", () => {
  const weight = raw("int4", [1], [3]);
  const why =
    /"x" is integers of less than 8 bits, which only DequantizeLinear and GatherBlockQuantized read/;
  const refused: readonly Partial<WrittenGraph>[] = [
    // A zero point says what QuantizeLinear makes.
    {
      inputs: [{ name: "f", dims: [4] }],
      nodes: [node("QuantizeLinear", ["f", "s", "x"], ["y"])],
    },
    { nodes: [node("Identity", ["x"], ["y"])] },
    { outputs: [{ name: "x", type: "int8" }], nodes: [] },
    {
      initializers: { yes: plainOf("bool", [], [1]) },
      nodes: [
        node("Constant", [], ["x"], { value: { tensor: weight } }),
        node("If", ["yes"], ["y"], {
          then_branch: {
            graph: {
              outputs: [{ name: "a" }],
              nodes: [node("Neg", ["x"], ["a"])],
            },
          },
        }),
      ],
    },
  ];
  for (const graph of refused) {
    assert.throws(() => read(dequantized(weight, graph)), why);
  }
  const cast = read({
    inputs: [{ name: "f", dims: [4] }],
    outputs: [{ name: "y" }],
    nodes: [node("Cast", ["f"], ["y"], { to: 22 })],
  });
  assert.throws(
    () => onnxModel(cast),
    /int4/,
  );
});

Deno.test("bytes that are not as many as the integers need are refused", () => {
  const short: WrittenTensor = {
    fields: [integer(1, 3), integer(2, 22), bytes(9, Uint8Array.of(1))],
  };
  assert.throws(
    () => read(dequantized(short)),
    /initializer "x": it has 1 bytes, its dims need 2 elements of 1/,
  );
  const few: WrittenTensor = {
    fields: [integer(1, 3), integer(2, 22), integer(5, 1)],
  };
  assert.throws(
    () => read(dequantized(few)),
    /initializer "x": it has 1 bytes, its dims \[3\] need 2/,
  );
});

Deno.test("a file with integers of 4 bits beside it is quantised, and they come into the new one", () => {
  const outside: WrittenTensor = {
    fields: [
      integer(1, 3),
      integer(2, 22),
      integer(14, 1),
      message(13, [text(1, "location"), text(2, "w.bin")]),
    ],
  };
  const file = writeModel({
    graph: {
      inputs: [{ name: "f", dims: ["n", 3] }],
      outputs: [{ name: "y" }],
      initializers: {
        x: outside,
        s: plainOf("float32", [], [0.5]),
        w: plainOf("float32", [3, 2], [1, 2, 3, 4, 5, 6]),
      },
      nodes: [
        node("DequantizeLinear", ["x", "s"], ["d"]),
        node("Mul", ["f", "d"], ["m"]),
        node("MatMul", ["m", "w"], ["y"]),
      ],
    },
    opsets: { "": 21 },
  });
  const external = (name: string) =>
    name === "w.bin" ? packed("int4", [-8, 1, 7]) : undefined;
  const { bytes: made } = quantizeFile(file, { label: "m.onnx", external }, {});
  const { graph } = readModel(made);
  const x = graph.initializers.get("x") as PlainTensor;
  assert.deepEqual([x.bits, ...x.data], [4, -8, 1, 7]);
});
