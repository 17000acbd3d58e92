/**
 * What is computed together with a convolution: the BatchNormalization behind it becomes part of its
 * weights, and the sum with a residual and the activation are applied to what it has just summed. Both
 * the kernels and the modelled NPU do so.
 */
import type { ImageShape } from "../tensor/image_shape.ts";
import type { CellUses } from "./cell_uses.ts";
import type { Activation, Operator, OperatorOf, Value } from "./operator.ts";

export interface ConvEpilogue {
  readonly batchNorm?: OperatorOf<"BatchNormalization">;
  /** Added before the activation. */
  readonly residual?: Value;
  readonly activation?: Activation;
  /** What comes out in the end. */
  readonly result: Value;
  /** Operators that need no work of their own any more. */
  readonly absorbed: readonly Operator[];
}

const ACTIVATIONS: ReadonlySet<string> = new Set<Activation>([
  "Relu",
  "Sigmoid",
  "Tanh",
  "Gelu",
  "GeluTanh",
  "Swish",
]);

/** Every channel has a kernel of its own. */
export function isDepthwise(
  { groups, channels, outChannels }: ImageShape,
): boolean {
  return groups > 1 && groups === channels && groups === outChannels;
}

/**
 * The epilogue of a convolution, or of a BatchNormalization by itself: in this order, each at most once,
 * BatchNormalization (behind a convolution), Add (of a map that is there before; not behind a depthwise
 * convolution) and an activation, as long as nobody else reads the values between them.
 */
export function convEpilogue(
  operator: OperatorOf<"Conv" | "ConvTranspose" | "BatchNormalization">,
  uses: CellUses,
): ConvEpilogue {
  const absorbed: Operator[] = [];
  let result = operator.outputs[0];
  const absorb = (next: Operator) => {
    absorbed.push(next);
    result = next.outputs[0];
  };

  let next = uses.onlyReader(result);
  const batchNorm =
    operator.op !== "BatchNormalization" && next?.op === "BatchNormalization"
      ? next
      : undefined;
  if (batchNorm) absorb(batchNorm);

  next = uses.onlyReader(result);
  const addable = operator.op !== "BatchNormalization" &&
    !(operator.op === "Conv" && isDepthwise(operator.shape));
  const residual = addable && next?.op === "Add"
    ? next.inputs.find((value) =>
      value !== result && value.width === result.width &&
      uses.precedes(value, operator)
    )
    : undefined;
  if (residual) absorb(next!);

  next = uses.onlyReader(result);
  const activation = next && ACTIVATIONS.has(next.op)
    ? next.op as Activation
    : undefined;
  if (activation) absorb(next!);

  return {
    ...(batchNorm && { batchNorm }),
    ...(residual && { residual }),
    ...(activation && { activation }),
    result,
    absorbed,
  };
}
