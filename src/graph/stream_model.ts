/**
 * Models without an end: a frame goes in, a result comes out, and some outputs of a frame are inputs of the next.
 * Which, the model declares; where they lie and who moves them is the engine's business.
 */
import {
  anything,
  checkedOptions,
  type Checks,
  listOf,
  ofType,
  oneOf,
} from "../base/checked_options.ts";
import { describe, listed, shorten } from "../base/describe.ts";
import { knownOptions } from "../base/options.ts";
import {
  type Dtype,
  elements,
  holds,
  type TensorData,
} from "../tensor/tensor.ts";
import type { Cell } from "./cell.ts";
import type { CellGraph } from "./cell_graph.ts";
import type { InputData } from "./input_data.ts";
import type { GraphShape, Model } from "./model.ts";
import type { OutputTypes } from "./result.ts";
import { type RowShape, shapeOf } from "./row_layout.ts";

/** Numbers of a frame: an array of the input's type, or a list of numbers of which each is one of that type. */
export type FrameData = TensorData | readonly number[];

/**
 * What a frame brings, by name.
 * @typeParam I names of the inputs
 */
export type Frame<I extends string = string> = Readonly<Record<I, FrameData>>;

/**
 * One frame as an ordinary request, with states if it is not the first one.
 * @typeParam I names of the inputs
 */
export type FrameRequest<I extends string = string> =
  & Frame<I>
  & Readonly<Record<string, FrameData | undefined>>;

/** A row that a frame hands on to the next one: `{ ...f32(64), from: "hNext" }`. */
export interface StateSpec extends RowShape {
  /** The result of a frame that it is in the next one. */
  readonly from: string;
  /** What it is in the first frame; default: zeros. */
  readonly initial?: TensorData;
}

/**
 * What makes a model one of streams.
 * @typeParam I names of the inputs that a frame brings
 * @typeParam O names and element types of the results that it gives
 */
export interface StreamSpec<
  I extends string = string,
  O extends OutputTypes = OutputTypes,
> {
  /** Rows that a frame brings. */
  readonly inputs: Readonly<Record<I, RowShape>>;
  /** Rows that a frame finds as the one before has left them. */
  readonly states: Readonly<Record<string, StateSpec>>;
  /** Results that whoever pushed the frame gets; a state's may be among them. */
  readonly outputs: O;
  /**
   * Appends the nodes of one frame, the same for every frame, and names all results (`graph.result`), those that
   * states come from among them. Called once for each session, not for each frame.
   * @param given data of inputs and states by name, to be picked with `graph.row` or `graph.id`
   */
  frame(graph: CellGraph, given: Readonly<Record<string, InputData>>): void;
}

/**
 * A model of streams: what `lstmStream`, `gruStream`, `defineStream` and `loadOnnx` with `states` return, and
 * `ServingEngine.open` takes. It is run as an ordinary request as well, which is one frame; it may bring states,
 * and gives them.
 * @typeParam I names of the inputs that a frame brings
 * @typeParam O names and element types of the results that it gives
 * @typeParam Input what an ordinary request brings
 */
export interface StreamModel<
  I extends string = string,
  O extends OutputTypes = OutputTypes,
  // deno-lint-ignore no-explicit-any -- as in Model
  Input = any,
> extends Model<Input, O> {
  /** The declaration. */
  readonly stream: StreamSpec<I, O>;
}

/** What `defineStream` makes a model of; see {@linkcode StreamSpec}. */
export interface StreamDefinition<I extends string, O extends OutputTypes> {
  /** What records and messages call the model. */
  name: string;
  /** Every cell of a frame, in the order in which it passes through them. */
  cells: readonly Cell[];
  /** As `Model.shape`; default "chain". */
  shape?: GraphShape;
  /** Rows that a frame brings. */
  inputs: Readonly<Record<I, RowShape>>;
  /** Rows that a frame finds as the one before has left them; at least one. */
  states: Readonly<Record<string, StateSpec>>;
  /** Results that whoever pushed the frame gets. */
  outputs: O;
  /** See {@linkcode StreamSpec}. */
  frame(graph: CellGraph, given: Readonly<Record<string, InputData>>): void;
}

const DEFINITION_CHECKS: Checks<StreamDefinition<string, OutputTypes>> = {
  name: ofType("string"),
  // Of which kind, the engine finds out, as of any model.
  cells: listOf(anything),
  shape: oneOf(["chain", "dag"]),
  inputs: ofType("object"),
  states: ofType("object"),
  outputs: ofType("object"),
  frame: ofType("function"),
};

/**
 * Makes a model of streams out of cells.
 * @throws TypeError on a field that a definition does not have, or that is missing or of another type
 * @throws TypeError or RangeError naming model and row when the declaration contradicts itself
 *
 * @example A running mean: what a frame leaves is what the next one finds
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, defineCell, defineStream, f32, ServingEngine, tensor } from "@shoal/core";
 *
 * const half = tensor([1, 1], Float32Array.of(0.5));
 * const cell = defineCell({
 *   name: "mean",
 *   inputs: { x: f32(1), before: f32(1) },
 *   body: (op, { x, before }) => ({ mean: op.Gemm(op.Add(x, before), half) }),
 * });
 * const model = defineStream({
 *   name: "running-mean",
 *   cells: [cell],
 *   inputs: { x: f32(1) },
 *   states: { before: { ...f32(1), from: "mean" } },
 *   outputs: { mean: "f32" },
 *   frame(graph, { x, before }) {
 *     const node = graph.node(cell, { x: graph.row(x, 0, 1), before: graph.row(before, 0, 1) });
 *     graph.result("mean", graph.output(node, "mean"));
 *   },
 * });
 * await using engine = await ServingEngine.create({ models: [model], policy: cellular(), workers: 0 });
 * await using stream = engine.open(model);
 * const means: number[] = [];
 * for await (const { outputs } of stream.pipe([{ x: [8] }, { x: [0] }, { x: [4] }])) means.push(outputs.mean.data[0]);
 * assert.deepEqual(means, [4, 2, 3]);
 * ```
 */
export function defineStream<
  const I extends string,
  const O extends OutputTypes,
>(
  definition: StreamDefinition<I, O>,
): StreamModel<I, O, FrameRequest<I>> {
  const given = checkedOptions(
    "defineStream()",
    definition,
    DEFINITION_CHECKS as Checks<StreamDefinition<I, O>>,
    ["name", "cells", "inputs", "states", "outputs", "frame"],
  );
  const { name, cells, shape = "chain", inputs, states, outputs } = given;
  const frame = given.frame.bind(definition);
  const types: Record<string, Dtype | undefined> = { ...outputs };
  for (const { from, dtype } of Object.values(states)) {
    types[from] ??= dtype as Dtype;
  }
  const stream: StreamSpec<I, O> = { inputs, states, outputs, frame };
  const model: StreamModel<I, O, FrameRequest<I>> = {
    name,
    cells,
    shape,
    outputs: types as O,
    stream,
    check(input): asserts input is never {
      readRequest(name, stream, input);
    },
    unfold(input, graph) {
      const given: Record<string, InputData> = {};
      for (const [row, data] of readRequest(name, stream, input)) {
        given[row] = graph.data(data);
      }
      frame(graph, given);
    },
  };
  checkStream(model);
  return model;
}

/** Data of all inputs and states of an ordinary request, which may leave out states. */
function readRequest(
  model: string,
  { inputs, states }: StreamSpec,
  input: unknown,
): [name: string, data: TensorData][] {
  const what = `A request to "${shorten(model)}"`;
  knownOptions(what, input, Object.keys({ ...inputs, ...states }), "row");
  const given = input as Readonly<Record<string, unknown>>;
  return [
    ...Object.entries(inputs).map(([name, row]) =>
      [name, readRow(what, name, row, given[name])] as [string, TensorData]
    ),
    ...Object.entries(states).map(([name, state]) => {
      const value = given[name];
      const data = value === undefined
        ? initialOf(state)
        : readRow(what, name, state, value);
      return [name, data] as [string, TensorData];
    }),
  ];
}

/** A state of a stream that has seen no frame. */
export function initialOf(
  { dtype, width, initial }: StateSpec,
): TensorData {
  return initial ?? elements(dtype as Dtype, width);
}

/**
 * The elements of a row that somebody brings.
 * @param what what brings it, for messages
 * @throws TypeError when it is missing or of another type, RangeError when it has another length or a list a number that
 * the type does not have
 */
export function readRow(
  what: string,
  name: string,
  row: RowShape,
  value: unknown,
): TensorData {
  const dtype = row.dtype as Dtype;
  const { length } = (value ?? {}) as { length?: unknown };
  const isArray = holds(dtype, value);
  if (!isArray && !Array.isArray(value)) {
    throw new TypeError(
      `${what} brings "${shorten(name)}", ${rowText(row)}, got ${
        describe(value)
      }`,
    );
  }
  if (length !== row.width) {
    throw new RangeError(
      `${what} brings "${shorten(name)}", ${rowText(row)}, got ${
        describe(length)
      } elements`,
    );
  }
  if (isArray) return value as TensorData;
  return fromList(what, name, row, value as readonly unknown[]);
}

function fromList(
  what: string,
  name: string,
  row: RowShape,
  list: readonly unknown[],
): TensorData {
  const data = elements(row.dtype as Dtype, row.width);
  const isElement = row.dtype === "i64"
    ? (element: unknown) => typeof element === "bigint"
    : (element: unknown) => typeof element === "number";
  for (let i = 0; i < data.length; i++) {
    const element = list[i];
    const isOfType = isElement(element);
    if (isOfType) data[i] = element as number;
    // An integer that does not fit is another one by now.
    const fits = row.dtype === "f32" ||
      data[i] === element && (row.dtype !== "bool" || data[i] <= 1);
    if (isOfType && fits) continue;
    throw new (isOfType ? RangeError : TypeError)(
      `${what} brings "${shorten(name)}", ${rowText(row)}, got ${
        describe(element)
      } at ${i}`,
    );
  }
  return data;
}

/** A row as messages name it. */
export function rowText(row: RowShape): string {
  return `${row.dtype}[${shapeOf(row)}]`;
}

/**
 * Whether a model is one of streams, and what it declares makes sense by itself.
 * @throws TypeError or RangeError naming model and row
 */
export function checkStream(
  model: Model,
): asserts model is StreamModel {
  const called = `Model "${shorten(model.name)}"`;
  const { stream } = model as Partial<StreamModel>;
  if (typeof stream !== "object" || stream === null) {
    throw new TypeError(
      `${called} is no model of streams: it does not say which inputs of a frame are states; ` +
        `see defineStream, lstmStream, or "states" of loadOnnx`,
    );
  }
  const { inputs, states, outputs, frame } = stream;
  const parts = { inputs, states, outputs };
  for (const [part, value] of Object.entries(parts)) {
    if (typeof value === "object" && value !== null) continue;
    throw new TypeError(
      `"${part}" of ${called} are rows by name, got ${describe(value)}`,
    );
  }
  if (typeof frame !== "function") {
    throw new TypeError(
      `"frame" of ${called} is a function, got ${describe(frame)}`,
    );
  }
  if (Object.keys(states).length === 0) {
    throw new RangeError(
      `${called} has no state: its frames are requests like any other`,
    );
  }
  const froms = new Set<string>();
  for (const [name, state] of Object.entries(states)) {
    checkRow(`State "${shorten(name)}" of ${called}`, state);
    if (Object.hasOwn(inputs, name)) {
      throw new RangeError(
        `"${shorten(name)}" of ${called} is a state and an input of frames`,
      );
    }
    const { from, initial } = state;
    if (typeof from !== "string") {
      throw new TypeError(
        `State "${shorten(name)}" of ${called} comes "from" a result, got ${
          describe(from)
        }`,
      );
    }
    if (froms.has(from)) {
      throw new RangeError(
        `Result "${
          shorten(from)
        }" of ${called} is two states of the next frame; name it twice`,
      );
    }
    froms.add(from);
    if (initial !== undefined) {
      const what = `The first frame of ${called}`;
      const read = readRow(what, name, state, initial);
      // Of a frame that is pushed a list is made one; this one is taken as it is.
      if (read !== initial) {
        throw new TypeError(
          `${what} brings "${shorten(name)}", an array of ${
            rowText(state)
          }, got ${describe(initial)}`,
        );
      }
    }
  }
  for (const [name, row] of Object.entries(inputs)) {
    checkRow(`Input "${shorten(name)}" of ${called}`, row);
  }
}

function checkRow(what: string, row: unknown): asserts row is RowShape {
  const { dtype, width } = (row ?? {}) as Partial<RowShape>;
  const isRow = typeof dtype === "string" && Number.isInteger(width) &&
    width! >= 1;
  if (!isRow || dtype === "q8") {
    throw new TypeError(
      `${what} is a row of elements, such as f32(64), got ${describe(row)}`,
    );
  }
}

/** Names as messages list them. */
export function rowNames(rows: Readonly<Record<string, unknown>>): string {
  return listed(Object.keys(rows));
}
