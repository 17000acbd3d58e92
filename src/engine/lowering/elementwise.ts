import type {
  Activation,
  ElementwiseOperator,
  Operator,
  Value,
} from "../../graph/operator.ts";
import { lastAxis } from "../../graph/row_layout.ts";
import type { Activation as KernelActivation } from "../../kernels/module/activations.ts";
import type {
  BinaryKernel,
  UnaryKernel,
} from "../../kernels/module/elementwise.ts";
import type { KernelExports } from "../../kernels/module/exports.ts";
import {
  type Lowering,
  type Lowerings,
  TILED_ELEMENTS,
  times,
} from "./lowering.ts";

/** Activations that kernels apply to what they compute. */
export const FUSED: Readonly<Record<Activation, KernelActivation>> = {
  Relu: "relu",
  Sigmoid: "sigmoid",
  Tanh: "tanh",
  Gelu: "gelu",
  GeluTanh: "geluTanh",
  Swish: "silu",
};

/** Lets the kernel that computes `value` apply the activation that alone reads it; says what then comes out. */
export function fuseActivation(
  value: Value,
  lowering: Lowering,
): { value: Value; act: KernelActivation } {
  const reader = lowering.onlyReader(value);
  if (reader === undefined || !(reader.op in FUSED)) {
    return { value, act: "none" };
  }
  lowering.fuse(reader);
  return { value: reader.outputs[0], act: FUSED[reader.op as Activation] };
}

/** Kernels of one signature. */
type KernelOf<Signature> = {
  [Name in keyof KernelExports]: KernelExports[Name] extends Signature
    ? Signature extends KernelExports[Name] ? Name : never
    : never;
}[keyof KernelExports];

const unary =
  (kernel: KernelOf<UnaryKernel>) =>
  ({ inputs, outputs }: Operator, lowering: Lowering): void => {
    const x = inputs[0];
    lowering.kernel(kernel, [
      "rows",
      x.width,
      lowering.tableOf(x),
      lowering.output(outputs[0]),
    ]);
  };

const binary =
  (kernel: KernelOf<BinaryKernel>) =>
  ({ inputs, outputs: [out] }: Operator, lowering: Lowering): void => {
    const small = inputs.find(({ width }) => width < out.width);
    const producer = small && lowering.producer(small);
    // A constant of a few elements is written out once for the whole row.
    const tiled = producer?.op === "Constant" && small!.width < TILED_ELEMENTS
      ? lowering.constantRow(tile(producer.value.data, out.width))
      : undefined;
    const n = tiled ? out.width : small?.width ?? out.width;
    const parts = out.width / n;
    const operands = inputs.map((value) => {
      if (value.width === out.width) {
        return lowering.spread(lowering.tableOf(value), parts, 4 * n);
      }
      return tiled ?? lowering.spread(lowering.tableOf(value), parts, 0);
    });
    lowering.kernel(kernel, [
      times(parts),
      n,
      ...operands,
      lowering.spread(lowering.output(out), parts, 4 * n),
    ]);
  };

/** Again and again, up to a length. */
function tile(data: Float32Array, length: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => data[i % data.length]);
}

export const elementwise: Lowerings<ElementwiseOperator> = {
  Add: binary("add_f32"),
  Sub: binary("sub_f32"),
  Mul: binary("mul_f32"),
  Div: binary("div_f32"),
  Max: binary("max_f32"),
  Min: binary("min_f32"),
  Relu: unary("relu_f32"),
  Sigmoid: unary("sigmoid_f32"),
  Tanh: unary("tanh_f32"),
  Exp: unary("exp_f32"),
  Gelu: unary("gelu_f32"),
  GeluTanh: unary("gelu_tanh_f32"),
  Swish: unary("silu_f32"),
  Erf: unary("erf_f32"),
  Sqrt: unary("sqrt_f32"),
  Neg: unary("neg_f32"),
  Abs: unary("abs_f32"),
  Clip: ({ least, most, ...operator }, lowering) =>
    inSteps(operator, lowering, [
      ...(least === undefined ? [] : [["max_f32", least] as const]),
      ...(most === undefined ? [] : [["min_f32", most] as const]),
    ]),
  LeakyRelu: ({ alpha, ...operator }, lowering) =>
    inSteps(operator, lowering, [["mul_f32", alpha]], "max_f32"),
  HardSigmoid: ({ alpha, beta, ...operator }, lowering) =>
    inSteps(operator, lowering, hardSteps(alpha, beta)),
  HardSwish: ({ alpha, beta, ...operator }, lowering) =>
    inSteps(operator, lowering, hardSteps(alpha, beta), "mul_f32"),

  Softmax({ inputs: [x], outputs: [y] }, lowering) {
    lowering.kernel("softmax_rows_f32", [
      lowering.rows(x),
      lastAxis(x),
      lowering.rowTable(x),
      lowering.outputRows(y),
    ]);
  },
};

type Step = readonly [kernel: KernelOf<BinaryKernel>, other: number];

const hardSteps = (alpha: number, beta: number): readonly Step[] => [
  ["mul_f32", alpha],
  ["add_f32", beta],
  ["max_f32", 0],
  ["min_f32", 1],
];

/** Elements of a row of one number, which all requests share. */
const SHARED_ELEMENTS = 4096;

/** One number after the other is applied, in place from the second one on; in the end, if told, x itself. */
function inSteps(
  { inputs: [x], outputs: [y] }: Pick<Operator, "inputs" | "outputs">,
  lowering: Lowering,
  steps: readonly Step[],
  last?: KernelOf<BinaryKernel>,
): void {
  const n = partOf(x.width);
  const parts = x.width / n;
  const first = lowering.spread(lowering.tableOf(x), parts, 4 * n);
  const to = lowering.spread(lowering.output(y), parts, 4 * n);
  let from = first;
  for (const [kernel, other] of steps) {
    const row = lowering.constantRow(new Float32Array(n).fill(other));
    const others = lowering.spread(row, parts, 0);
    lowering.kernel(kernel, [times(parts), n, from, others, to]);
    from = to;
  }
  if (last) lowering.kernel(last, [times(parts), n, first, to, to]);
}

/** The longest part, not above SHARED_ELEMENTS, that a row is a whole number of; all of a row that has none but short ones. */
function partOf(width: number): number {
  if (width <= SHARED_ELEMENTS) return width;
  for (let n = SHARED_ELEMENTS; n >= TILED_ELEMENTS; n--) {
    if (width % n === 0) return n;
  }
  return width;
}
