/**
 * Operators that kernels compute, beside the same ones in plain TypeScript, where numbers are not finite, so small that
 * they have few digits, or 0 with either sign. Of infinities, NaN and what is none of them the two are of one mind;
 * what docs/onnx.md lists as different is left out of the cases.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { LOWERINGS } from "../../src/onnx/lower/registry.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { runPlainGraph } from "../../src/onnx/plain_graph.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  numbersOf,
  plainOf,
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import {
  node,
  writeModel,
  type WrittenAttribute,
  type WrittenNode,
} from "./write_model.ts";

/** A model of one operator, or of few around it. */
interface Case {
  /** Sizes of what a request brings. */
  readonly inputs: readonly (readonly number[])[];
  /** Constants, behind the inputs; undefined: left out. */
  readonly more?: readonly (PlainTensor | undefined)[];
  readonly attributes?: Record<string, WrittenAttribute>;
  readonly opset?: number;
  /** In place of one node of the operator, from x0, x1, .. and c0, c1, .. to y. */
  readonly nodes?: readonly WrittenNode[];
  /** No special numbers for the inputs from this one on. */
  readonly finiteFrom?: number;
  /** Special numbers that it is not given. */
  readonly without?: readonly number[];
}

const numbers = (dims: readonly number[], ...given: number[]) =>
  plainTensor(
    "float32",
    dims,
    Float32Array.from(
      { length: elementCount(dims) },
      (_, i) => given[i % given.length],
    ),
  );
const weight = (...dims: number[]) => numbers(dims, 1, -0.5, 2, 0.25, -1);
const above0 = (...dims: number[]) => numbers(dims, 1, 2, 0.5);
const whole = (...values: number[]) =>
  plainOf("int64", [values.length], values);
const float = (value: number) => plainOf("float32", [], [value]);
const byte = (value: number) => plainOf("uint8", [], [value]);

const PLAIN_ROW: readonly Case[] = [{ inputs: [[3, 6]] }];
const PAIR: readonly Case[] = [
  { inputs: [[3, 6], [3, 6]] },
  { inputs: [[2, 3, 4], [4]] },
  { inputs: [[3, 6]], more: [numbers([1], -3)] },
  { inputs: [[3, 6]], more: [numbers([6], 0.5, 1e-40)] },
];
const IMAGE = [1, 3, 4, 5];
const byAxes = (...axes: number[]): Case => ({
  inputs: [IMAGE],
  more: [whole(...axes)],
});
const REDUCED = [byAxes(-1), byAxes(1), byAxes(2, 3)];
const WINDOWS: readonly Case[] = [
  { inputs: [IMAGE], attributes: { kernel_shape: [2, 2] } },
  {
    inputs: [IMAGE],
    attributes: { kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [2, 1] },
  },
];
const RECURRENT = (gates: number, attributes = {}): readonly Case[] => [{
  inputs: [[3, 1, 2]],
  more: [
    weight(1, gates * 3, 2),
    weight(1, gates * 3, 3),
    weight(1, gates * 6),
  ],
  attributes: { hidden_size: 3, ...attributes },
}];
const ATTENTION = [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]];
const alphas = (...given: number[]): Case[] =>
  given.map((alpha) => ({
    inputs: [[3, 6]],
    attributes: { alpha: { float: alpha } },
  }));

const CASES: Readonly<Record<string, readonly Case[]>> = {
  ...Object.fromEntries(
    [
      ...["Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Sqrt", "Neg", "Abs"],
      ...["HardSwish", "Reciprocal", "Mish", "Identity", "Transpose"],
      ...["Dropout", "Elu", "Celu", "HardSigmoid", "LeakyRelu", "Flatten"],
    ].map((op) => [op, PLAIN_ROW]),
  ),
  Elu: [...PLAIN_ROW, ...alphas(0, -1)],
  Celu: [...PLAIN_ROW, ...alphas(0.5)],
  LeakyRelu: [...PLAIN_ROW, ...alphas(1, 1e-40)],
  HardSigmoid: [...PLAIN_ROW, ...alphas(0, -1)],
  Gelu: [
    ...PLAIN_ROW,
    { inputs: [[3, 6]], attributes: { approximate: "tanh" } },
  ],
  Swish: [{ inputs: [[3, 6]], opset: 24 }],
  Cast: [{ inputs: [[3, 6]], attributes: { to: 1 } }],
  PRelu: [
    { inputs: [[3, 6], [6]], finiteFrom: 1 },
    { inputs: [[3, 6]], more: [weight(6)] },
  ],
  Clip: [
    { inputs: [[3, 6]], more: [float(-1), float(2)] },
    { inputs: [[3, 6]], more: [float(-Infinity), float(2)] },
    { inputs: [[3, 6]], attributes: { min: { float: 0 } }, opset: 6 },
  ],
  Pow: [
    { inputs: [[3, 6]], more: [float(1)] },
    { inputs: [[3, 6]], more: [float(2)] },
    // Of minus infinity a power is infinite, a root is none.
    { inputs: [[3, 6]], more: [float(0.5)], without: [-Infinity] },
  ],
  Add: PAIR,
  Sum: PAIR,
  Sub: PAIR,
  Mul: PAIR,
  Div: PAIR,
  Max: [...PAIR, { inputs: [[3, 6]], more: [numbers([1], -Infinity)] }],
  Min: [...PAIR, { inputs: [[3, 6]], more: [numbers([1], Infinity)] }],
  MatMul: [
    { inputs: [[2, 3]], more: [weight(3, 5)] },
    { inputs: [[2, 3], [3, 4]] },
  ],
  Gemm: [{ inputs: [[2, 3]], more: [weight(3, 5), weight(5)] }],
  Softmax: [
    { inputs: [[3, 6]], attributes: { axis: -1 } },
    { inputs: [[3, 6]], attributes: { axis: 0 } },
  ],
  LayerNormalization: [{ inputs: [[3, 4]], more: [weight(4), weight(4)] }],
  RMSNormalization: [{ inputs: [[3, 4]], more: [weight(4)], opset: 23 }],
  Conv: [
    {
      inputs: [IMAGE],
      more: [weight(2, 3, 3, 3)],
      attributes: { pads: [1, 1, 1, 1] },
    },
    {
      inputs: [IMAGE],
      more: [weight(3, 1, 3, 3), weight(3)],
      attributes: { group: 3 },
    },
    { inputs: [IMAGE], more: [weight(4, 3, 1, 1)] },
  ],
  ConvTranspose: [{
    inputs: [IMAGE],
    more: [weight(3, 2, 3, 3)],
    attributes: { strides: [2, 2] },
  }],
  BatchNormalization: [{
    inputs: [IMAGE],
    more: [weight(3), weight(3), weight(3), above0(3)],
  }],
  // The channels around are summed by a product, in which others have the weight 0.
  LRN: [{ inputs: [IMAGE], attributes: { size: 3 }, finiteFrom: 0 }],
  MaxPool: WINDOWS,
  AveragePool: WINDOWS,
  GlobalAveragePool: [{ inputs: [IMAGE] }],
  GlobalMaxPool: [{ inputs: [IMAGE] }],
  Resize: [{ inputs: [IMAGE], more: [undefined, numbers([4], 1, 1, 2, 3)] }],
  Upsample: [{ inputs: [IMAGE], more: [numbers([4], 1, 1, 2, 3)], opset: 9 }],
  InstanceNormalization: [{ inputs: [IMAGE], more: [weight(3), weight(3)] }],
  GroupNormalization: [{
    inputs: [[1, 4, 3, 2]],
    more: [weight(4), weight(4)],
    attributes: { num_groups: 2 },
    opset: 21,
  }],
  Concat: [{ inputs: [[3, 2], [3, 4]], attributes: { axis: 1 } }],
  Slice: [{ inputs: [[3, 4]], more: [whole(1), whole(3)] }],
  Split: [{
    inputs: [[4, 4]],
    nodes: [node("Split", ["x0"], ["y", "y2"], { num_outputs: 2 })],
  }],
  Gather: [{ inputs: [[3, 4]], more: [whole(0, 2)] }],
  Reshape: [{ inputs: [[3, 4]], more: [whole(2, 6)] }],
  Squeeze: [{ inputs: [[1, 3, 4]], more: [whole(0)] }],
  Unsqueeze: [{ inputs: [[3, 4]], more: [whole(1)] }],
  Expand: [{ inputs: [[3, 1]], more: [whole(3, 4)] }],
  Pad: [
    { inputs: [IMAGE], more: [whole(0, 0, 1, 1, 0, 0, 0, 2), float(-3)] },
    {
      inputs: [IMAGE],
      more: [whole(0, 0, 1, 1, 0, 0, 0, 2)],
      attributes: { mode: "reflect" },
    },
  ],
  DepthToSpace: [{ inputs: [[1, 4, 2, 2]], attributes: { blocksize: 2 } }],
  SpaceToDepth: [{ inputs: [[1, 2, 4, 2]], attributes: { blocksize: 2 } }],
  Tile: [{ inputs: [[3, 4]], more: [whole(2, 2)] }],
  ReduceSum: REDUCED,
  ReduceMean: REDUCED,
  ReduceMax: REDUCED,
  ReduceL2: REDUCED,
  ReduceSumSquare: REDUCED,
  LSTM: RECURRENT(4),
  GRU: RECURRENT(3, { linear_before_reset: 1 }),
  RNN: RECURRENT(1),
  // A key of which f32 has no share any more is 0 times its value, which is NaN where that is infinite.
  Attention: [
    { inputs: ATTENTION, opset: 23, finiteFrom: 2 },
    {
      inputs: ATTENTION,
      attributes: { is_causal: 1 },
      opset: 23,
      finiteFrom: 2,
    },
    {
      inputs: ATTENTION,
      attributes: { is_causal: 1 },
      opset: 23,
      without: [Infinity, -Infinity],
    },
  ],
  QuantizeLinear: [{
    inputs: [[3, 6]],
    more: [float(0.1), byte(3)],
    nodes: [
      node("QuantizeLinear", ["x0", "c0", "c1"], ["q"]),
      node("DequantizeLinear", ["q", "c0", "c1"], ["y"]),
    ],
  }],
};

/** Bytes alone go in, of which none is special: `quantized_models_test.ts` has them to the bit. */
const OF_BYTES = [
  ...["DequantizeLinear", "QLinearMatMul", "QLinearConv", "MatMulInteger"],
  "ConvInteger",
];
/** A transform mixes all that it reads, in another order than the sum: `signal_cells_test.ts`. */
const TRANSFORMS = ["DFT", "STFT"];

const SPECIAL = [NaN, Infinity, -Infinity, -0, 0, 1e-40, -1e-40, 1.2e-38];
const ORDINARY = [1, -1, 0.5, -0.5, 2, 3, -3, 0.25, 20, -25];

function fileOf(op: string, given: Case) {
  const { inputs, more = [], attributes = {}, opset = 20, nodes } = given;
  const constants = more.flatMap((tensor, i) =>
    tensor ? [[`c${i}`, tensor] as const] : []
  );
  const names = [
    ...inputs.map((_, i) => `x${i}`),
    ...more.map((tensor, i) => tensor ? `c${i}` : ""),
  ];
  return readModel(writeModel({
    graph: {
      inputs: inputs.map((dims, i) => ({ name: `x${i}`, dims })),
      outputs: [{ name: "y" }],
      initializers: Object.fromEntries(constants),
      nodes: nodes ?? [node(op, names, ["y"], attributes)],
    },
    opsets: { "": opset },
  }));
}

/** Numbers of a request. */
function drawn({ inputs, finiteFrom = Infinity, without = [] }: Case) {
  const special = fc.constantFrom(
    ...SPECIAL.filter((x) => !without.includes(x)),
  );
  const ordinary = fc.constantFrom(...ORDINARY);
  return fc.tuple(...inputs.map((dims, i) => {
    const count = elementCount(dims);
    const any = i < finiteFrom
      ? fc.oneof({ arbitrary: ordinary, weight: 4 }, special)
      : ordinary;
    return fc.array(any, { minLength: count, maxLength: count }).map((row) =>
      numbers(dims, ...row)
    );
  }));
}

/** Requests side by side. */
const BATCH = { minLength: 1, maxLength: 8 };

/** Tensors as a request brings them. */
const requestOf = (named: readonly (readonly [string, PlainTensor])[]) =>
  Object.fromEntries(
    named.map(([name, { data }]) => [name, data as Float32Array]),
  );

/** What is infinite or no number is the same; the rest as near as f32 is to f64. */
function checkSame(got: ArrayLike<number>, wanted: readonly number[]): void {
  const most = wanted.reduce(
    (most, x) => Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most,
    1,
  );
  wanted.forEach((want, i) =>
    assert(
      Object.is(got[i], want) || Math.abs(got[i] - want) <= 1e-5 * most,
      `[${i}] is ${got[i]} by the kernels, ${want} in plain TypeScript`,
    )
  );
}

for (const [op, cases] of Object.entries(CASES)) {
  Deno.test(`${op} of numbers of any kind is the same on kernels and in plain TypeScript`, () => {
    for (const given of cases) {
      const file = fileOf(op, given);
      const model = onnxModel(file);
      assert(
        model.cells.every(({ operators }) =>
          operators.every((each) => each.op !== "Plain" || each.name !== op)
        ),
        `kernels do not compute it of [${given.inputs.join("], [")}]`,
      );
      fc.assert(
        fc.property(fc.array(drawn(given), BATCH), (batch) => {
          const named = batch.map((tensors) =>
            tensors.map((x, i) => [`x${i}`, x] as const)
          );
          const got = runRequests(model, named.map(requestOf));
          named.forEach((request, at) => {
            const wanted = runPlainGraph(file.graph, new Map(request));
            const { data } = got[at].y;
            checkSame(data as Float32Array, numbersOf(wanted.get("y")!));
          });
        }),
        { numRuns: propertyRuns(8) },
      );
    }
  });
}

Deno.test("every operator that kernels compute is compared with itself in plain TypeScript", () => {
  assert.deepEqual(
    Object.keys(LOWERINGS).filter((op) => !Object.hasOwn(CASES, op)).sort(),
    [...OF_BYTES, ...TRANSFORMS].sort(),
  );
});

/** Attributes that no kernel takes. */
const ODD: Readonly<Record<string, readonly [string, Case]>> = {
  "an infinite slope": ["Elu", alphas(Infinity)[0]],
  "no number for a slope": ["Elu", alphas(NaN)[0]],
  "a width of which there is no reciprocal": ["Celu", alphas(1e-40)[0]],
  "an infinite width": ["Celu", alphas(Infinity)[0]],
  "an infinite factor": ["HardSigmoid", alphas(Infinity)[0]],
  "a slope of 0": ["LeakyRelu", alphas(0)[0]],
  "no number for a bound": ["Clip", {
    inputs: [[3, 6]],
    attributes: { min: { float: NaN }, max: { float: 1 } },
    opset: 6,
  }],
  "an infinite factor of a product": ["Gemm", {
    inputs: [[2, 3]],
    more: [weight(3, 5), weight(5)],
    attributes: { alpha: { float: Infinity } },
  }],
  "no number for the scale of scores": ["Attention", {
    inputs: ATTENTION,
    attributes: { scale: { float: NaN } },
    opset: 23,
  }],
};

for (const [what, [op, given]] of Object.entries(ODD)) {
  Deno.test(`${op} with ${what} is left to plain TypeScript`, () => {
    const file = fileOf(op, given);
    const request = given.inputs.map((dims, i) =>
      [`x${i}`, numbers(dims, ...ORDINARY, ...SPECIAL)] as const
    );
    const [{ y }] = runRequests(onnxModel(file), [requestOf(request)]);
    const wanted = runPlainGraph(file.graph, new Map(request)).get("y")!;
    assert.deepEqual([...y.data], numbersOf(wanted));
  });
}
