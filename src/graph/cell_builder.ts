import {
  type Dtype,
  elementCount,
  type Tensor,
  tensor,
} from "../tensor/tensor.ts";
import { checkFinite } from "../tensor/weights.ts";
import type { Cell, Phase, Port } from "./cell.ts";
import type { Operator, Value } from "./operator.ts";

/** Declares an input of a cell: a row of f32, or (width 1) an i32 such as a token id. */
export type PortSpec = { readonly dtype: Dtype; readonly width: number };

export const f32 = (width: number): PortSpec => ({ dtype: "f32", width });
export const i32 = (width = 1): PortSpec => ({ dtype: "i32", width });

export interface CellDefinition<I extends string, O extends string> {
  name: string;
  /** Default "static". */
  phase?: Phase;
  /** Default: false. */
  recurrent?: boolean;
  /** Default 0. */
  priority?: number;
  inputs: Record<I, PortSpec>;
  /** Applies operators to the inputs and names the outputs. Called once. */
  body(op: Operators, inputs: Record<I, Value>): Record<O, Value>;
  /** Growth stops when this i32 output equals `token` (null: only at the length limit). */
  stop?: { output: O; token: number | null };
}

/**
 * Builds a cell from operators with ONNX names and semantics.
 * @throws RangeError or TypeError naming cell, operator and shape when widths do not fit or a weight is not finite
 */
export function defineCell<I extends string, O extends string>(
  definition: CellDefinition<I, O>,
): Cell {
  const builder = new Operators(definition.name);
  const inputs: Port[] = [];
  const values = {} as Record<I, Value>;
  for (const [name, spec] of Object.entries<PortSpec>(definition.inputs)) {
    inputs.push({ name, ...spec });
    values[name as I] = builder.declare(spec.dtype, spec.width);
  }
  const outputs: Port[] = [];
  const results: Value[] = [];
  for (
    const [name, value] of Object.entries<Value>(
      definition.body(builder, values),
    )
  ) {
    builder.own(`output "${name}"`, value);
    outputs.push({ name, dtype: value.dtype, width: value.width });
    results.push(value);
  }
  if (outputs.length === 0) {
    throw new RangeError(`Cell "${definition.name}" has no output`);
  }
  return {
    name: definition.name,
    phase: definition.phase ?? "static",
    recurrent: definition.recurrent ?? false,
    priority: definition.priority ?? 0,
    inputs,
    outputs,
    operators: builder.operators,
    results,
    ...(definition.stop &&
      { stop: stopRule(definition.name, definition.stop, outputs) }),
  };
}

function stopRule(
  cell: string,
  stop: { output: string; token: number | null },
  outputs: readonly Port[],
): { port: number; token: number | null } {
  const port = outputs.findIndex((output) => output.name === stop.output);
  if (port < 0 || outputs[port]!.dtype !== "i32") {
    throw new RangeError(
      `Cell "${cell}" stops on "${stop.output}", which is not one of its i32 outputs`,
    );
  }
  return { port, token: stop.token };
}

/** The operators a cell's body may apply. Each call appends one operator and returns its value. */
export class Operators {
  readonly operators: Operator[] = [];
  readonly #values: Value[] = [];

  constructor(readonly cell: string) {}

  /** A new value; used for input ports and by the operators themselves. */
  declare(dtype: Dtype, width: number): Value {
    if (!Number.isInteger(width) || width < 1) {
      throw new RangeError(
        `Cell "${this.cell}": a row's width is a positive integer, got ${width}`,
      );
    }
    const value = { id: this.#values.length, dtype, width };
    this.#values.push(value);
    return value;
  }

  /** @throws TypeError when a value is not one of this cell's */
  own(what: string, value: Value): void {
    if (this.#values[value?.id] !== value) {
      throw new TypeError(
        `Cell "${this.cell}": ${what} is not a value of this cell`,
      );
    }
  }

  /** Row `id` of `table` [count][width]. */
  Gather(table: Tensor, id: Value): Value {
    this.own("the id of Gather", id);
    this.#expect(
      id.dtype === "i32" && id.width === 1,
      `Gather takes one i32 id, got ${id.dtype}[${id.width}]`,
    );
    this.#expect(
      table.shape.length === 2,
      `Gather takes a table of shape [count, width], got [${
        table.shape.join(", ")
      }]`,
    );
    this.#finite("Gather table", table);
    return this.#emit({
      op: "Gather",
      table,
      inputs: [id],
      outputs: [this.declare("f32", table.shape[1]!)],
    });
  }

  /** W x + b, W of shape [n, k]. */
  Gemm(x: Value, weight: Tensor, bias?: Tensor): Value {
    this.#float("Gemm", x);
    this.#shape("Gemm weight", weight, [weight.shape[0]!, x.width]);
    if (bias) this.#shape("Gemm bias", bias, [weight.shape[0]!]);
    return this.#emit({
      op: "Gemm",
      weight,
      ...(bias && { bias }),
      inputs: [x],
      outputs: [this.declare("f32", weight.shape[0]!)],
    });
  }

  /** One step; W [4h, x], R [4h, h], B [8h]; gates i, o, f, c. */
  LSTM(
    x: Value,
    h: Value,
    c: Value,
    weights: { w: Tensor; r: Tensor; b?: Tensor },
  ): { h: Value; c: Value } {
    this.#float("LSTM", x, h, c);
    this.#expect(
      h.width === c.width,
      `LSTM h (${h.width}) and c (${c.width}) have one width`,
    );
    this.#shape("LSTM W", weights.w, [4 * h.width, x.width]);
    this.#shape("LSTM R", weights.r, [4 * h.width, h.width]);
    if (weights.b) this.#shape("LSTM B", weights.b, [8 * h.width]);
    const outputs = [
      this.declare("f32", h.width),
      this.declare("f32", h.width),
    ];
    this.operators.push({ op: "LSTM", ...weights, inputs: [x, h, c], outputs });
    return { h: outputs[0]!, c: outputs[1]! };
  }

  /** One step, linear_before_reset = 1; W [3h, x], R [3h, h], B [6h]; gates z, r, h. */
  GRU(
    x: Value,
    h: Value,
    weights: { w: Tensor; r: Tensor; b?: Tensor },
  ): Value {
    this.#float("GRU", x, h);
    this.#shape("GRU W", weights.w, [3 * h.width, x.width]);
    this.#shape("GRU R", weights.r, [3 * h.width, h.width]);
    if (weights.b) this.#shape("GRU B", weights.b, [6 * h.width]);
    return this.#emit({
      op: "GRU",
      ...weights,
      inputs: [x, h],
      outputs: [this.declare("f32", h.width)],
    });
  }

  /** W [3h, x], b [3h]; gates i, o, u. */
  TreeLSTMLeaf(
    x: Value,
    weights: { w: Tensor; b?: Tensor },
  ): { h: Value; c: Value } {
    this.#float("TreeLSTMLeaf", x);
    const hidden = weights.w.shape[0]! / 3;
    this.#expect(
      Number.isInteger(hidden),
      `TreeLSTMLeaf W has ${weights.w.shape[0]} rows, expected three per unit`,
    );
    this.#shape("TreeLSTMLeaf W", weights.w, [3 * hidden, x.width]);
    if (weights.b) this.#shape("TreeLSTMLeaf b", weights.b, [3 * hidden]);
    const outputs = [this.declare("f32", hidden), this.declare("f32", hidden)];
    this.operators.push({
      op: "TreeLSTMLeaf",
      ...weights,
      inputs: [x],
      outputs,
    });
    return { h: outputs[0]!, c: outputs[1]! };
  }

  /** U [(3 + n)h, n h], b [(3 + n)h]; gates i, f_1..f_n, o, u. */
  TreeLSTMNode(
    h: readonly Value[],
    c: readonly Value[],
    weights: { u: Tensor; b?: Tensor },
  ): { h: Value; c: Value } {
    const arity = h.length;
    this.#expect(
      arity >= 1 && arity <= 8 && c.length === arity,
      `TreeLSTMNode takes 1 to 8 children, each h and c, got ${arity} h and ${c.length} c`,
    );
    this.#float("TreeLSTMNode", ...h, ...c);
    const hidden = h[0]!.width;
    this.#expect(
      [...h, ...c].every((value) => value.width === hidden),
      `TreeLSTMNode children have one width, got ${
        [...h, ...c].map(({ width }) => width).join(", ")
      }`,
    );
    this.#shape("TreeLSTMNode U", weights.u, [
      (3 + arity) * hidden,
      arity * hidden,
    ]);
    if (weights.b) {
      this.#shape("TreeLSTMNode b", weights.b, [(3 + arity) * hidden]);
    }
    const outputs = [this.declare("f32", hidden), this.declare("f32", hidden)];
    this.operators.push({
      op: "TreeLSTMNode",
      arity,
      ...weights,
      inputs: [...h, ...c],
      outputs,
    });
    return { h: outputs[0]!, c: outputs[1]! };
  }

  Add(a: Value, b: Value): Value {
    return this.#binary("Add", a, b);
  }

  Sub(a: Value, b: Value): Value {
    return this.#binary("Sub", a, b);
  }

  Mul(a: Value, b: Value): Value {
    return this.#binary("Mul", a, b);
  }

  Relu(x: Value): Value {
    return this.#unary("Relu", x);
  }

  Sigmoid(x: Value): Value {
    return this.#unary("Sigmoid", x);
  }

  Tanh(x: Value): Value {
    return this.#unary("Tanh", x);
  }

  Exp(x: Value): Value {
    return this.#unary("Exp", x);
  }

  Softmax(x: Value): Value {
    return this.#unary("Softmax", x);
  }

  Concat(...parts: Value[]): Value {
    this.#float("Concat", ...parts);
    this.#expect(parts.length > 0, "Concat takes at least one row");
    const width = parts.reduce((sum, part) => sum + part.width, 0);
    return this.#emit({
      op: "Concat",
      inputs: parts,
      outputs: [this.declare("f32", width)],
    });
  }

  /** Elements [start, end). */
  Slice(x: Value, start: number, end: number): Value {
    this.#float("Slice", x);
    this.#expect(
      Number.isInteger(start) && Number.isInteger(end) &&
        start >= 0 && end > start && end <= x.width,
      `Slice [${start}, ${end}) of a row of ${x.width}`,
    );
    return this.#emit({
      op: "Slice",
      start,
      inputs: [x],
      outputs: [this.declare("f32", end - start)],
    });
  }

  ArgMax(x: Value): Value {
    this.#float("ArgMax", x);
    return this.#emit({
      op: "ArgMax",
      inputs: [x],
      outputs: [this.declare("i32", 1)],
    });
  }

  /** A row given as numbers or as a tensor of one axis. */
  Constant(value: Tensor | readonly number[]): Value {
    const count = "shape" in value ? value.data.length : value.length;
    this.#expect(count > 0, "Constant takes at least one number");
    const row = "shape" in value
      ? value
      : tensor([count], Float32Array.from(value));
    this.#finite("Constant", row);
    return this.#emit({
      op: "Constant",
      value: row,
      inputs: [],
      outputs: [this.declare("f32", elementCount(row.shape))],
    });
  }

  #binary(op: "Add" | "Sub" | "Mul", a: Value, b: Value): Value {
    this.#float(op, a, b);
    this.#expect(
      a.width === b.width,
      `${op} of rows of ${a.width} and ${b.width} elements`,
    );
    return this.#emit({
      op,
      inputs: [a, b],
      outputs: [this.declare("f32", a.width)],
    });
  }

  #unary(op: "Relu" | "Sigmoid" | "Tanh" | "Exp" | "Softmax", x: Value): Value {
    this.#float(op, x);
    return this.#emit({
      op,
      inputs: [x],
      outputs: [this.declare("f32", x.width)],
    });
  }

  #emit(operator: Operator): Value {
    this.operators.push(operator);
    return operator.outputs[0]!;
  }

  #float(what: string, ...values: Value[]): void {
    for (const value of values) {
      this.own(`an input of ${what}`, value);
      this.#expect(
        value.dtype === "f32",
        `${what} takes f32 rows, got ${value.dtype}`,
      );
    }
  }

  #shape(what: string, given: Tensor, expected: readonly number[]): void {
    const fits = given.shape.length === expected.length &&
      given.shape.every((size, i) => size === expected[i]);
    this.#expect(
      fits,
      `${what} has shape [${given.shape.join(", ")}], expected [${
        expected.join(", ")
      }]`,
    );
    this.#finite(what, given);
  }

  #finite(what: string, given: Tensor): void {
    checkFinite(`${this.cell}: ${what}`, given);
  }

  #expect(condition: boolean, message: string): void {
    if (!condition) throw new RangeError(`Cell "${this.cell}": ${message}`);
  }
}
