import { describe } from "../../base/describe.ts";
import type { CellBody } from "../cell_body.ts";
import type { ElementwiseOperator, OperatorOf, Value } from "../operator.ts";
import { axesOf, shapeOf } from "../row_layout.ts";

type Binary = OperatorOf<"Add">["op"];
type Unary = OperatorOf<"Relu" | "Swish">["op"];

/** ONNX's bounds of Clip; at least one of them. */
export interface ClipBounds {
  /** What is less becomes this; default none. */
  readonly min?: number;
  /** What is more becomes this; default none. */
  readonly max?: number;
}

/**
 * Element by element over f32 rows of the same axes, or of which one's are the other's last ones (it is taken again
 * and again, ONNX's broadcasting of leading axes); Softmax over the last axis.
 */
export interface ElementwiseOperators {
  /** a + b. */
  Add(a: Value, b: Value): Value;
  /** a - b. */
  Sub(a: Value, b: Value): Value;
  /** a b, element by element. */
  Mul(a: Value, b: Value): Value;
  /** a / b. */
  Div(a: Value, b: Value): Value;
  /** The larger one; NaN if either is. */
  Max(a: Value, b: Value): Value;
  /** The smaller one; NaN if either is. */
  Min(a: Value, b: Value): Value;
  /** max(x, 0). */
  Relu(x: Value): Value;
  /** 1 / (1 + e^-x). */
  Sigmoid(x: Value): Value;
  /** Hyperbolic tangent. */
  Tanh(x: Value): Value;
  /** e^x. */
  Exp(x: Value): Value;
  /** x / 2 (1 + erf(x / sqrt 2)): the exact form, ONNX's approximate = "none". */
  Gelu(x: Value): Value;
  /** x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): ONNX Gelu's approximate = "tanh". */
  GeluTanh(x: Value): Value;
  /** x / (1 + e^-x), also known as SiLU. */
  Swish(x: Value): Value;
  /** The error function. */
  Erf(x: Value): Value;
  /** Square root. */
  Sqrt(x: Value): Value;
  /** -x. */
  Neg(x: Value): Value;
  /** |x|. */
  Abs(x: Value): Value;
  /** e^(x - max) over their sum, over the last axis; of plain rows, not of images. */
  Softmax(x: Value): Value;
  /** min(max(x, bounds.min), bounds.max). */
  Clip(x: Value, bounds: ClipBounds): Value;
  /**
   * alpha x where x is below 0. Of alpha 0 it is Relu, 0 of minus infinity, too, where ONNX's is NaN.
   * @param alpha from 0 to 1; default 0.01
   */
  LeakyRelu(x: Value, alpha?: number): Value;
  /**
   * min(max(alpha x + beta, 0), 1).
   * @param alpha default 0.2
   * @param beta default 0.5
   */
  HardSigmoid(x: Value, alpha?: number, beta?: number): Value;
  /** x min(max(x / 6 + 1 / 2, 0), 1). */
  HardSwish(x: Value): Value;
}

/** Whether every axis of `small`, but for leading ones of one, is the axis of `large` that stands as far from the end. */
function endsIn(large: Value, small: Value): boolean {
  const axes = [...axesOf(small)];
  while (axes.length > 0 && axes[0] === 1) axes.shift();
  const last = axesOf(large).slice(axesOf(large).length - axes.length);
  return axes.length === last.length && axes.every((n, i) => n === last[i]);
}

export const elementwiseOperators = (body: CellBody): ElementwiseOperators => {
  const binary = (op: Binary) => (a: Value, b: Value): Value => {
    body.float(op, a, b);
    const [large, small] = b.width > a.width ||
        b.width === a.width && axesOf(b).length > axesOf(a).length
      ? [b, a]
      : [a, b];
    body.expect(
      endsIn(large, small),
      `${op} of rows of ${shapeOf(a)} and ${shapeOf(b)} elements`,
    );
    return body.emit({
      op,
      inputs: [a, b],
      outputs: [body.declare("f32", large.width, large)],
    });
  };
  const unary = (op: Unary) => (x: Value): Value => {
    body.float(op, x);
    body.expect(
      op !== "Softmax" || x.image === undefined,
      `Softmax of an image of ${shapeOf(x)}: it takes plain rows; ` +
        `Flatten it`,
    );
    return body.emit({
      op,
      inputs: [x],
      outputs: [body.declare("f32", x.width, x)],
    });
  };
  const hard =
    (op: "HardSigmoid" | "HardSwish") =>
    (x: Value, alpha: number, beta: number): Value => {
      body.float(op, x);
      body.expect(
        Number.isFinite(alpha) && Number.isFinite(beta),
        `${op} takes finite alpha and beta, got ${describe(alpha)} and ${
          describe(beta)
        }`,
      );
      return body.emit({
        op,
        alpha: Math.fround(alpha),
        beta: Math.fround(beta),
        inputs: [x],
        outputs: [body.declare("f32", x.width, x)],
      });
    };
  const hardSigmoid = hard("HardSigmoid");
  const hardSwish = hard("HardSwish");
  return {
    Add: binary("Add"),
    Sub: binary("Sub"),
    Mul: binary("Mul"),
    Div: binary("Div"),
    Max: binary("Max"),
    Min: binary("Min"),
    Relu: unary("Relu"),
    Sigmoid: unary("Sigmoid"),
    Tanh: unary("Tanh"),
    Exp: unary("Exp"),
    Gelu: unary("Gelu"),
    GeluTanh: unary("GeluTanh"),
    Swish: unary("Swish"),
    Erf: unary("Erf"),
    Sqrt: unary("Sqrt"),
    Neg: unary("Neg"),
    Abs: unary("Abs"),
    Softmax: unary("Softmax"),
    HardSigmoid: (x: Value, alpha = 0.2, beta = 0.5) =>
      hardSigmoid(x, alpha, beta),
    HardSwish: (x: Value) => hardSwish(x, 1 / 6, 0.5),
    LeakyRelu(x: Value, alpha = 0.01): Value {
      body.float("LeakyRelu", x);
      body.expect(
        alpha >= 0 && alpha <= 1,
        `LeakyRelu takes an alpha from 0 to 1, got ${describe(alpha)}`,
      );
      // The kernel takes the larger one of x and alpha x, which is NaN where x is infinite and alpha 0.
      const slope = Math.fround(alpha);
      const operands = {
        inputs: [x],
        outputs: [body.declare("f32", x.width, x)],
      };
      return slope === 0
        ? body.emit({ op: "Relu", ...operands })
        : body.emit({ op: "LeakyRelu", alpha: slope, ...operands });
    },
    Clip(x: Value, bounds: ClipBounds): Value {
      body.float("Clip", x);
      body.known("Clip", bounds, ["min", "max"]);
      const { min: least, max: most } = bounds;
      const isBound = (bound: unknown) =>
        bound === undefined ||
        typeof bound === "number" && Number.isFinite(Math.fround(bound));
      body.expect(
        isBound(least) && isBound(most) && (least ?? most) !== undefined &&
          !(least! > most!),
        `Clip takes a finite min, max or both, in this order, got ${
          describe(least)
        } and ${describe(most)}`,
      );
      return body.emit({
        op: "Clip",
        ...(least !== undefined && { least: Math.fround(least) }),
        ...(most !== undefined && { most: Math.fround(most) }),
        inputs: [x],
        outputs: [body.declare("f32", x.width, x)],
      });
    },
  } satisfies Record<ElementwiseOperator["op"], unknown>;
};
