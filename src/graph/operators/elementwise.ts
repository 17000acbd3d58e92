import { describe } from "../../base/describe.ts";
import { type CellBody, sameImage, shapeOf } from "../cell_body.ts";
import type { ElementwiseOperator, Value } from "../operator.ts";

type Binary = "Add" | "Sub" | "Mul";
type Unary = Exclude<ElementwiseOperator["op"], Binary | "Clip">;

/** ONNX's bounds of Clip; at least one of them. */
export interface ClipBounds {
  /** What is less becomes this; default none. */
  readonly min?: number;
  /** What is more becomes this; default none. */
  readonly max?: number;
}

/** Element by element over f32 rows of one width, images of one shape; Softmax over the whole row. */
export interface ElementwiseOperators {
  /** a + b. */
  Add(a: Value, b: Value): Value;
  /** a - b. */
  Sub(a: Value, b: Value): Value;
  /** a b, element by element. */
  Mul(a: Value, b: Value): Value;
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
  /** e^(x - max) over their sum, over the whole row; of plain rows, not of images. */
  Softmax(x: Value): Value;
  /** min(max(x, bounds.min), bounds.max). */
  Clip(x: Value, bounds: ClipBounds): Value;
}

export const elementwiseOperators = (body: CellBody): ElementwiseOperators => {
  const binary = (op: Binary) => (a: Value, b: Value): Value => {
    body.float(op, a, b);
    body.expect(
      a.width === b.width && sameImage(a, b),
      `${op} of rows of ${shapeOf(a)} and ${shapeOf(b)} elements`,
    );
    return body.emit({
      op,
      inputs: [a, b],
      outputs: [body.declare("f32", a.width, a.image)],
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
      outputs: [body.declare("f32", x.width, x.image)],
    });
  };
  return {
    Add: binary("Add"),
    Sub: binary("Sub"),
    Mul: binary("Mul"),
    Relu: unary("Relu"),
    Sigmoid: unary("Sigmoid"),
    Tanh: unary("Tanh"),
    Exp: unary("Exp"),
    Gelu: unary("Gelu"),
    Softmax: unary("Softmax"),
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
        outputs: [body.declare("f32", x.width, x.image)],
      });
    },
  } satisfies Record<ElementwiseOperator["op"], unknown>;
};
