import { describe } from "../base/describe.ts";
import { elementBytes, elementCount } from "../tensor/tensor.ts";
import type { CacheSpec } from "./cache.ts";
import { CellBody } from "./cell_body.ts";
import { checkDefinition, checkName } from "./definition_checks.ts";
import type { Cell, Phase, Port } from "./cell.ts";
import type { CacheRef, OperatorName, Value } from "./operator.ts";
import {
  type AttentionOperators,
  attentionOperators,
} from "./operators/attention.ts";
import { type CellOperators, cellOperators } from "./operators/cells.ts";
import { type DenseOperators, denseOperators } from "./operators/dense.ts";
import {
  type ElementwiseOperators,
  elementwiseOperators,
} from "./operators/elementwise.ts";
import { type ImageOperators, imageOperators } from "./operators/images.ts";
import { type PlainOperators, plainRowOperators } from "./operators/plain.ts";
import {
  type QuantizedOperators,
  quantizedOperators,
} from "./operators/quantized.ts";
import {
  type RecurrentOperators,
  recurrentOperators,
} from "./operators/recurrent.ts";
import { type RowOperators, rowOperators } from "./operators/rows.ts";
import { type SignalOperators, signalOperators } from "./operators/signals.ts";
import type { RowShape, RowType } from "./row_layout.ts";

/** Declares an input of a cell: what `f32`, `i32`, `image` and `row` return. */
export type PortSpec = RowShape;

/**
 * Declares an input of a cell that is a row of `width` floats.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineCell, f32 } from "@shoal/core";
 *
 * const sum = defineCell({
 *   name: "sum",
 *   inputs: { a: f32(8), b: f32(8) },
 *   body: (op, { a, b }) => ({ y: op.Add(a, b) }),
 * });
 * assert.equal(sum.outputs[0].width, 8);
 * ```
 */
export const f32 = (width: number): PortSpec => ({ dtype: "f32", width });

/**
 * Declares an input of a cell that is a row of `width` 32-bit integers; one, such as the id of a token, unless
 * told. Operators take ids one at a time (`Gather`).
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineCell, i32, tensor } from "@shoal/core";
 *
 * const table = tensor([2, 3], Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6));
 * const embed = defineCell({
 *   name: "embed",
 *   inputs: { token: i32() },
 *   body: (op, { token }) => ({ x: op.Gather(table, token) }),
 * });
 * assert.equal(embed.outputs[0].width, 3);
 * ```
 */
export const i32 = (width = 1): PortSpec => ({ dtype: "i32", width });

/**
 * Declares an input of a cell that is an image: a row of floats, [height][width][channels].
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineCell, image } from "@shoal/core";
 *
 * const pool = defineCell({
 *   name: "pool",
 *   inputs: { x: image(8, 8, 3) },
 *   body: (op, { x }) => ({ y: op.MaxPool(x, { kernelShape: 2, strides: 2 }) }),
 * });
 * assert.deepEqual(pool.outputs[0].image, { height: 4, width: 4, channels: 3 });
 * ```
 */
export const image = (
  height: number,
  width: number,
  channels: number,
): PortSpec => ({
  dtype: "f32",
  width: height * width * channels,
  image: { height, width, channels },
});

/**
 * Declares an input of a cell that has axes: `[]` is one number. Operators over rows (Gemm, Softmax,
 * LayerNormalization, ...) take the last axis and compute every row of it, as if each were a request's.
 * @param dtype type of the elements; "q8": numbers that `QuantizeLinear` and its like made, in another cell
 * @param shape sizes of the axes, the slowest first
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineCell, row, tensor } from "@shoal/core";
 *
 * const weight = tensor([2, 3], Float32Array.of(1, 2, 3, 4, 5, 6));
 * const layer = defineCell({
 *   name: "layer",
 *   inputs: { x: row("f32", [7, 3]) },
 *   body: (op, { x }) => ({ y: op.Gemm(x, weight) }),
 * });
 * assert.deepEqual(layer.outputs[0].shape, [7, 2]);
 * ```
 */
export const row = (dtype: RowType, shape: readonly number[]): PortSpec => ({
  dtype,
  width: elementCount(shape),
  shape,
});

/**
 * What `defineCell` makes a cell of.
 * @typeParam I names of the inputs
 * @typeParam O names of the outputs
 * @typeParam C names of the caches
 */
export interface CellDefinition<
  I extends string,
  O extends string,
  C extends string = never,
> {
  /** What profiles, cost tables and records tell it apart by, and messages call it. */
  name: string;
  /** "decoder" for a cell that a graph grows by (see `Model.grow`); default "static". */
  phase?: Phase;
  /** Whether a node of it can follow another one, as a step of a sequence does; default false. */
  recurrent?: boolean;
  /** Larger runs first among equals (Cellular Batching, section 4.3); default 0. */
  priority?: number;
  /** Its inputs by name: `f32(width)`, `i32()`, `image(height, width, channels)` or `row(dtype, shape)`. */
  inputs: Record<I, PortSpec>;
  /** Caches of the request that it reads or appends to, by name; default none. */
  caches?: Record<C, CacheSpec>;
  /**
   * Makes the cell ragged: its nodes bring up to so many tokens each (see Cell.tokensMax). Not together with
   * phase "decoder" or `stop`.
   */
  tokensMax?: number;
  /** Applies operators to the inputs and names the outputs. Called once, by `defineCell`. */
  body(
    op: Operators,
    inputs: Record<I, Value>,
    caches: Record<C, CacheRef>,
  ): Record<O, Value>;
  /** Growth stops when this i32 output equals `token` (null: only at the length limit). */
  stop?: { output: O; token: number | null };
}

/**
 * Builds a cell, the unit of batching, from operators with ONNX names and semantics. Nodes batch together when
 * they are of the same `Cell` object: define a cell once, for all requests.
 * @throws RangeError or TypeError naming cell, operator and shape when widths do not fit, a weight is not floats
 * or not finite, or the definition has what no definition has
 *
 * @example A layer of two units
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineCell, f32, tensor } from "@shoal/core";
 *
 * const weight = tensor([2, 3], Float32Array.of(1, 2, 3, 4, 5, 6));
 * const layer = defineCell({
 *   name: "layer",
 *   inputs: { x: f32(3) },
 *   body: (op, { x }) => ({ y: op.Relu(op.Gemm(x, weight)) }),
 * });
 * assert.deepEqual(layer.outputs, [{ name: "y", dtype: "f32", width: 2 }]);
 * ```
 */
export function defineCell<
  I extends string,
  O extends string,
  C extends string = never,
>(
  definition: CellDefinition<I, O, C>,
): Cell {
  checkDefinition(definition);
  const { tokensMax } = definition;
  const builder = new CellBody(definition.name, tokensMax);
  if (tokensMax !== undefined) {
    builder.count("tokensMax", tokensMax);
    builder.expect(
      definition.phase !== "decoder" && !definition.stop,
      "a cell that grows takes one row a step; it cannot be ragged",
    );
  }
  const specs = Object.entries<CacheSpec>(definition.caches ?? {});
  const caches = {} as Record<C, CacheRef>;
  specs.forEach(([name, spec], index) => {
    builder.count(`positionsMax of cache "${name}"`, spec.positionsMax);
    builder.count(`keyWidth of cache "${name}"`, spec.keyWidth);
    builder.count(`valueWidth of cache "${name}"`, spec.valueWidth);
    caches[name as C] = builder.addCache({ kind: "port", index, ...spec });
  });
  const inputs: Port[] = [];
  const values = {} as Record<I, Value>;
  for (const [name, spec] of Object.entries<PortSpec>(definition.inputs)) {
    inputs.push({ name, ...spec });
    values[name as I] = builder.declare(spec.dtype, spec.width, spec);
    checkTokens(builder, name, spec);
  }
  const outputs: Port[] = [];
  const results: Value[] = [];
  const body: unknown = definition.body(operatorsOf(builder), values, caches);
  if (typeof body !== "object" || body === null || body instanceof Promise) {
    throw new TypeError(
      `The body of cell "${definition.name}" returns its outputs by name, got ${
        describe(body)
      }`,
    );
  }
  for (const [name, value] of Object.entries(body as Record<O, Value>)) {
    checkName(`an output of cell "${definition.name}"`, name);
    builder.own(`output "${name}"`, value as Value);
    const { id: _, ...port } = value as Value;
    outputs.push({ name, ...port });
    results.push(value as Value);
    checkTokens(builder, name, port);
  }
  if (outputs.length === 0 && builder.appended.size === 0) {
    throw new RangeError(`Cell "${definition.name}" has no output`);
  }
  return {
    name: definition.name,
    phase: definition.phase ?? "static",
    recurrent: definition.recurrent ?? false,
    priority: definition.priority ?? 0,
    inputs,
    outputs,
    caches: specs.map(([name, spec], index) => ({
      name,
      ...spec,
      appends: builder.appended.has(index),
    })),
    localCaches: builder.localCaches,
    ...(tokensMax !== undefined && { tokensMax }),
    operators: builder.operators,
    results,
    ...(definition.stop &&
      { stop: stopRule(definition.name, definition.stop, outputs) }),
  };
}

/** Tokens of a ragged cell lie one after the other, each where a word begins. */
function checkTokens(builder: CellBody, name: string, port: RowShape): void {
  if (builder.tokensMax === undefined || port.dtype === "q8") return;
  builder.expect(
    port.width * elementBytes(port.dtype) % 4 === 0,
    `"${name}" of a ragged cell is ${port.dtype}[${port.width}] a token, which is no whole number of 4 bytes`,
  );
}

function stopRule(
  cell: string,
  stop: { output: string; token: number | null },
  outputs: readonly Port[],
): { port: number; token: number | null } {
  const port = outputs.findIndex((output) => output.name === stop.output);
  if (port < 0 || outputs[port].dtype !== "i32") {
    throw new RangeError(
      `Cell "${cell}" stops on ${
        describe(stop.output)
      }, which is not one of its i32 outputs`,
    );
  }
  return { port, token: stop.token };
}

/**
 * The operators that a cell's body may apply, named as in ONNX, per row: the batch axis is not written. Each call
 * appends one operator and returns its value. All throw RangeError or TypeError naming the cell when an operand
 * is of another cell, type or width than the operator takes.
 */
export type Operators =
  & DenseOperators
  & RecurrentOperators
  & ElementwiseOperators
  & AttentionOperators
  & RowOperators
  & SignalOperators
  & CellOperators
  & ImageOperators
  & QuantizedOperators
  & PlainOperators;

function operatorsOf(body: CellBody): Operators {
  return {
    ...denseOperators(body),
    ...recurrentOperators(body),
    ...elementwiseOperators(body),
    ...attentionOperators(body),
    ...rowOperators(body),
    ...signalOperators(body),
    ...cellOperators(body),
    ...imageOperators(body),
    ...quantizedOperators(body),
    ...plainRowOperators(body),
  } satisfies Record<OperatorName, unknown>;
}
