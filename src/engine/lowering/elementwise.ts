import type {
  ElementwiseOperator,
  Operator,
  OperatorOf,
  Value,
} from "../../graph/operator.ts";
import type { Activation } from "../../kernels/module/activations.ts";
import type {
  BinaryKernel,
  UnaryKernel,
} from "../../kernels/module/elementwise.ts";
import type { KernelExports } from "../../kernels/module/exports.ts";
import type { Lowering, Lowerings } from "./lowering.ts";

/** Activations that kernels apply to what they compute. */
const FUSED: Partial<Record<Operator["op"], Activation>> = {
  Relu: "relu",
  Sigmoid: "sigmoid",
  Tanh: "tanh",
  Gelu: "gelu",
};

/** Lets the kernel that computes `value` apply the activation that alone reads it; says what then comes out. */
export function fuseActivation(
  value: Value,
  lowering: Lowering,
): { value: Value; act: Activation } {
  const reader = lowering.onlyReader(value);
  const act = reader && FUSED[reader.op];
  if (act === undefined) return { value, act: "none" };
  lowering.fuse(reader!);
  return { value: reader!.outputs[0], act };
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
  ({ inputs, outputs }: Operator, lowering: Lowering): void => {
    const [a, b] = inputs as [Value, Value];
    lowering.kernel(kernel, [
      "rows",
      a.width,
      lowering.tableOf(a),
      lowering.tableOf(b),
      lowering.output(outputs[0]),
    ]);
  };

export const elementwise: Lowerings<ElementwiseOperator> = {
  Add: binary("add_f32"),
  Sub: binary("sub_f32"),
  Mul: binary("mul_f32"),
  Relu: unary("relu_f32"),
  Sigmoid: unary("sigmoid_f32"),
  Tanh: unary("tanh_f32"),
  Exp: unary("exp_f32"),
  Gelu: unary("gelu_f32"),
  Softmax: unary("softmax_rows_f32"),
  Clip: lowerClip,
};

/** Bounds are rows that all requests share; the second one is applied in place. */
function lowerClip(
  { least, most, inputs: [x], outputs: [y] }: OperatorOf<"Clip">,
  lowering: Lowering,
): void {
  const bounds = [
    { kernel: "max_f32", bound: least },
    { kernel: "min_f32", bound: most },
  ] as const;
  const to = lowering.output(y);
  let from = lowering.tableOf(x);
  for (const { kernel, bound } of bounds) {
    if (bound === undefined) continue;
    const row = new Float32Array(x.width).fill(bound);
    const other = lowering.fixedTable(lowering.place(row), 0);
    lowering.kernel(kernel, ["rows", x.width, from, other, to]);
    from = to;
  }
}
