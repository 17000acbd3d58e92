/** What is computed element by element, on values as they lie. */
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import { broadcastDims } from "../../plain/layout.ts";
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { isShape, tensor } from "../../tensor/tensor.ts";
import { attributeOf } from "../ir.ts";
import { besideEachOther } from "./broadcast.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";
import { imageSizeOf, Operand } from "./operand.ts";

function isFinite({ data }: PlainTensor): boolean {
  return data.every((value: number | bigint) => Number.isFinite(Number(value)));
}

function isFloat(view: LoweredNode): boolean {
  return view.operands.every(({ type }) => type === "float32");
}

const unary =
  (make: (op: Operators, x: Value, view: LoweredNode) => Value | undefined) =>
  (view: LoweredNode): Value | undefined =>
    view.operand().type === "float32"
      ? make(view.op, view.operand().any, view)
      : undefined;

type Binary = "Add" | "Sub" | "Mul" | "Div" | "Max" | "Min";

function apply(op: Operators, name: Binary, a: Operand, b: Operand) {
  const dims = broadcastDims(a.dims, b.dims);
  const pair = besideEachOther(op, [a, b], dims, imageSizeOf(dims));
  if (!pair) return undefined;
  return new Operand(op, { type: "float32", dims }, op[name](...pair));
}

/** What a comparison with it leaves as it is: exporters write reductions with it. */
const NEUTRAL: Readonly<Partial<Record<Binary, number>>> = {
  Max: -Infinity,
  Min: Infinity,
};

/** Of two operands or more. */
const binary = (name: Binary): NodeLowering => (view) => {
  if (!isFloat(view)) return undefined;
  const isNeutral = ({ constant, elements }: Operand) =>
    constant !== undefined && elements === 1 &&
    constant.data[0] === NEUTRAL[name];
  const operands = view.operands.filter((x) => !isNeutral(x));
  const isRow = (x: Operand) => !x.constant || isFinite(x.constant);
  if (operands.length === 0 || !operands.every(isRow)) return undefined;
  let sum: Operand | undefined = operands[0];
  if (operands.length === 1 && !isShape(sum.dims, view.dims())) {
    return undefined;
  }
  for (const next of operands.slice(1)) {
    sum = sum && apply(view.op, name, sum, next);
  }
  return sum?.any;
};

const clip: NodeLowering = (view) => {
  if (view.operand().type !== "float32") return undefined;
  const bound = (i: number, name: string): number | null | undefined => {
    if (view.version < 11) return attributeOf(view.node, name, "float");
    if (!view.has(i)) return undefined;
    const given = view.constant(i);
    return given?.type === "float32" && given.data.length === 1
      ? given.data[0] as number
      : null;
  };
  const [min, max] = [bound(1, "min"), bound(2, "max")];
  // Who does not know its bounds before, each a float, or has them the wrong way round, is no kernel's.
  if (min === null || max === null) return undefined;
  const [least, most] = [min ?? -Infinity, max ?? Infinity];
  if (!(least <= most && least < Infinity && most > -Infinity)) {
    return undefined;
  }
  const known = Number.isFinite;
  if (!known(least) && !known(most)) return undefined;
  return view.op.Clip(view.operand().any, {
    ...(known(least) && { min: least }),
    ...(known(most) && { max: most }),
  });
};

const power: NodeLowering = (view) => {
  const exponent = view.constant(1)?.data;
  if (!isFloat(view) || exponent?.length !== 1) return undefined;
  const x = view.operand();
  if (view.operand(1).rank > x.rank) return undefined;
  switch (Number(exponent[0])) {
    case 1:
      return x.any;
    case 2:
      return view.op.Mul(x.any, x.any);
    case 0.5:
      return view.op.Sqrt(x.any);
    default:
      return undefined;
  }
};

const number = (op: Operators, value: number): Value =>
  op.Constant(tensor([1], Float32Array.of(value)));

/** x, where it is below 0 factor (e^(x / width) - 1). */
function exponentialBelow(
  op: Operators,
  x: Value,
  factor: number,
  width = 1,
): Value {
  const below = op.Min(x, number(op, 0));
  const scaled = width === 1 ? below : op.Mul(below, number(op, 1 / width));
  const less = op.Sub(op.Exp(scaled), number(op, 1));
  return op.Add(op.Relu(x), op.Mul(less, number(op, factor)));
}

/** Above this tanh(log(1 + e^x)) is 1 in f32, and e^2x is none of its numbers long after. */
const MISH_MOST = 20;

/** x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2). */
function mish(op: Operators, x: Value): Value {
  const e = op.Exp(op.Min(x, number(op, MISH_MOST)));
  const n = op.Mul(e, op.Add(e, number(op, 2)));
  return op.Mul(x, op.Div(n, op.Add(n, number(op, 2))));
}

/** What is above 0, and a multiple of what is below. */
const slopes: NodeLowering = (view) => {
  const { op } = view;
  const [x, slope] = [view.operand(), view.operand(1)];
  if (!isFloat(view) || view.version < 7 || x.constant) return undefined;
  if (slope.constant && !isFinite(slope.constant)) return undefined;
  const { type, dims } = x;
  const above = new Operand(op, { type, dims }, op.Relu(x.any));
  const below = new Operand(op, { type, dims }, op.Relu(op.Neg(x.any)));
  const scaled = apply(op, "Mul", below, slope);
  return scaled && apply(op, "Sub", above, scaled)?.any;
};

/** x if its type stays, and nothing else. */
const same: NodeLowering = (view) => {
  const { type, canLie } = view.operand();
  const to = view.around.known(view.node.outputs[0]).type;
  return type === to && canLie && !view.wants(1)
    ? view.operand().any
    : undefined;
};

export const ELEMENTWISE: Readonly<Record<string, NodeLowering>> = {
  Relu: unary((op, x) => op.Relu(x)),
  Sigmoid: unary((op, x) => op.Sigmoid(x)),
  Tanh: unary((op, x) => op.Tanh(x)),
  Exp: unary((op, x) => op.Exp(x)),
  Erf: unary((op, x) => op.Erf(x)),
  Sqrt: unary((op, x) => op.Sqrt(x)),
  Neg: unary((op, x) => op.Neg(x)),
  Abs: unary((op, x) => op.Abs(x)),
  HardSwish: unary((op, x) => op.HardSwish(x)),
  Reciprocal: unary((op, x) =>
    op.Div(op.Constant(tensor([1], Float32Array.of(1))), x)
  ),
  Gelu: unary((op, x, view) =>
    view.text("approximate", "none") === "tanh" ? op.GeluTanh(x) : op.Gelu(x)
  ),
  LeakyRelu: unary((op, x, view) => {
    const alpha = view.float("alpha", 0.01);
    // Kernels take the larger one of x and alpha x, which is NaN where x is infinite and alpha 0.
    const isSlope = Math.fround(alpha) > 0 && alpha <= 1;
    return isSlope ? op.LeakyRelu(x, alpha) : undefined;
  }),
  HardSigmoid: unary((op, x, view) =>
    op.HardSigmoid(x, view.float("alpha", 0.2), view.float("beta", 0.5))
  ),
  Swish: unary((op, x, view) =>
    view.float("alpha", 1) === 1 ? op.Swish(x) : undefined
  ),
  Elu: unary((op, x, view) => exponentialBelow(op, x, view.float("alpha", 1))),
  Celu: unary((op, x, view) => {
    const alpha = view.float("alpha", 1);
    const isWidth = alpha > 0 && Number.isFinite(Math.fround(1 / alpha));
    return isWidth ? exponentialBelow(op, x, alpha, alpha) : undefined;
  }),
  Mish: unary(mish),
  PRelu: slopes,
  Clip: clip,
  Pow: power,
  Add: binary("Add"),
  Sum: binary("Add"),
  Sub: binary("Sub"),
  Mul: binary("Mul"),
  Div: binary("Div"),
  Max: binary("Max"),
  Min: binary("Min"),
  Identity: same,
  Cast: same,
  Dropout: same,
};
