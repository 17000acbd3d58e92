import { type CellBody, sameImage, shapeOf } from "../cell_body.ts";
import type { Value } from "../operator.ts";

/** Element by element over rows of one width; Softmax over the whole row. */
export type ElementwiseOperators =
  & Record<"Add" | "Sub" | "Mul", (a: Value, b: Value) => Value>
  & Record<
    "Relu" | "Sigmoid" | "Tanh" | "Exp" | "Gelu" | "Softmax",
    (x: Value) => Value
  >;

export const elementwiseOperators = (body: CellBody): ElementwiseOperators => {
  const binary = (op: "Add" | "Sub" | "Mul") => (a: Value, b: Value): Value => {
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
  const unary =
    (op: "Relu" | "Sigmoid" | "Tanh" | "Exp" | "Gelu" | "Softmax") =>
    (x: Value): Value => {
      body.float(op, x);
      body.expect(
        op !== "Softmax" || x.image === undefined,
        `Softmax of an image of ${shapeOf(x)}: it takes plain rows; ` +
          `pool to one pixel and Flatten it`,
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
  };
};
