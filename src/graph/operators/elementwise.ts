import type { CellBody } from "../cell_body.ts";
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
      a.width === b.width,
      `${op} of rows of ${a.width} and ${b.width} elements`,
    );
    return body.emit({
      op,
      inputs: [a, b],
      outputs: [body.declare("f32", a.width)],
    });
  };
  const unary =
    (op: "Relu" | "Sigmoid" | "Tanh" | "Exp" | "Gelu" | "Softmax") =>
    (x: Value): Value => {
      body.float(op, x);
      return body.emit({
        op,
        inputs: [x],
        outputs: [body.declare("f32", x.width)],
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
