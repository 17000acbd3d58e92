/** Requests of several rows: taken apart along the batch axis, results put together. */
import { describeShape } from "../../base/describe.ts";
import type { ModelRows } from "../../graph/model.ts";
import {
  elementCount,
  elements,
  holds,
  isShape,
  type Tensor,
  type TensorData,
} from "../../tensor/tensor.ts";
import {
  dataOf,
  type InputSpec,
  type OnnxInput,
  shapeOf,
} from "../input_tensors.ts";
import type { OnnxGraph, OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import { quoted } from "../place.ts";
import {
  batchAxesOf,
  type BatchAxis,
  MixedRows,
  ROWS_MAX,
} from "./batch_axis.ts";

/** An input with a row each along an axis. */
interface Batched {
  readonly spec: InputSpec;
  readonly axis: number;
}

/** How requests of several rows are run, or why there are none. */
export interface Rows {
  readonly rows: ModelRows;
  /** By name of an input or output, the axis along which a request of several rows has them. */
  readonly rowAxes: ReadonlyMap<string, number>;
  /** What keeps rows from being told apart; absent where they are. */
  readonly whyOneRow?: string;
}

/**
 * @param name the model's
 * @param graph simplified, at the sizes of one row
 * @param emptied nodes that are not in it, since what they make has no elements of one row, but may have of several
 * @param known type and dims of every value
 */
export function rowsOf(
  name: string,
  graph: OnnxGraph,
  emptied: readonly OnnxNode[],
  known: ReadonlyMap<string, KnownValue>,
  inputs: readonly InputSpec[],
  results: readonly InputSpec[],
): Rows {
  const nodes = [...graph.nodes, ...emptied];
  let batched: readonly Batched[] = [];
  let axes: readonly number[] | string = "no input has an axis of rows";
  for (const guess of guesses(graph, inputs)) {
    batched = guess;
    axes = resultAxes(nodes, known, batched, results);
    if (typeof axes !== "string") break;
  }
  const whyOneRow = typeof axes === "string" ? axes : undefined;
  const resultAxis = axes;
  const rowAxes = new Map(
    typeof axes === "string" ? [] : [
      ...batched.map(({ spec, axis }) => [spec.name, axis] as const),
      ...results.map(({ name }, i) => [name, Number(axes[i])] as const),
    ],
  );
  return {
    ...(whyOneRow !== undefined && { whyOneRow }),
    rowAxes,
    rows: {
      split(input) {
        const counted = countedRows(name, batched, input);
        if (counted === undefined) return undefined;
        const { count, taken } = counted;
        const given = input as OnnxInput;
        if (whyOneRow !== undefined) {
          throw new RangeError(
            `A request to ${
              quoted(name)
            } is one row, got ${count}: ${whyOneRow}`,
          );
        }
        return Array.from({ length: count }, (_, i) => ({
          ...given,
          ...Object.fromEntries(taken.map((input) => [
            input.spec.name,
            rowOf(input, given, i, count),
          ])),
        }));
      },
      join(answers) {
        return Object.fromEntries(results.map((spec, i) => [
          spec.name,
          joined(spec, Number(resultAxis[i]), answers),
        ]));
      },
    },
  };
}

/**
 * Where rows may lie. A file that leaves the size of an axis in front open has them there, and where other inputs have
 * an axis of the same name. Otherwise along axes of size 1: in front, and, of an input that has none there, such as a
 * state, the only one it has; or in front alone.
 */
function guesses(
  graph: OnnxGraph,
  inputs: readonly InputSpec[],
): Batched[][] {
  const declared = new Map(
    graph.inputs.map(({ name, dims }) => [name, dims ?? []]),
  );
  const dimOf = ({ name }: InputSpec, axis: number) =>
    declared.get(name)?.[axis] ?? null;
  const open = inputs.find((spec) =>
    spec.shape[0] === 1 && typeof dimOf(spec, 0) !== "number"
  );
  const at = (axisOf: (spec: InputSpec) => number) =>
    inputs.map((spec) => ({ spec, axis: axisOf(spec) }))
      .filter(({ axis }) => axis >= 0);
  if (open !== undefined) {
    const name = dimOf(open, 0);
    return [
      at((spec) =>
        spec.shape.findIndex((size, axis) =>
          size === 1 && dimOf(spec, axis) === name &&
          (name !== null || axis === 0)
        )
      ),
    ];
  }
  const isFront = ({ shape }: InputSpec) => shape.length > 1 && shape[0] === 1;
  const front = (spec: InputSpec) => isFront(spec) ? 0 : -1;
  const only = (spec: InputSpec) => {
    if (isFront(spec) || spec.shape.length < 2) return front(spec);
    const axis = spec.shape.indexOf(1);
    return spec.shape.indexOf(1, axis + 1) < 0 ? axis : -1;
  };
  return inputs.some(isFront) ? [at(only), at(front)] : [];
}

/** The axis of the rows in every result, or why there is none. */
function resultAxes(
  nodes: readonly OnnxNode[],
  known: ReadonlyMap<string, KnownValue>,
  batched: readonly Batched[],
  results: readonly InputSpec[],
): readonly number[] | string {
  const axes = new Map<string, BatchAxis>(
    batched.map(({ spec: { name }, axis }) => [name, axis]),
  );
  for (const node of nodes) {
    try {
      batchAxesOf(node, { known, axes }).forEach((axis, i) =>
        axes.set(node.outputs[i], axis)
      );
    } catch (error) {
      if (!(error instanceof MixedRows)) throw error;
      return `node ${quoted(node.name)} (${node.op}): ${error.message}`;
    }
  }
  const found: number[] = [];
  for (const { name } of results) {
    const axis = axes.get(name) ?? "none";
    if (axis === "none") return `output ${quoted(name)} has no axis of rows`;
    found.push(axis);
  }
  return found;
}

/**
 * Rows that an input has, and what is taken apart; undefined where it is one. What is no input of such rows stays as it
 * is: check() says what is wrong with it.
 * @throws RangeError where inputs disagree, or there are too many
 */
function countedRows(
  name: string,
  batched: readonly Batched[],
  input: unknown,
): { count: number; taken: readonly Batched[] } | undefined {
  if (typeof input !== "object" || input === null) return undefined;
  const given = input as Readonly<Record<string, unknown>>;
  let found: string | undefined;
  let count = 1;
  for (let i = 0; i < batched.length; i++) {
    const { spec } = batched[i];
    const theirs = rowsIn(batched[i], given[spec.name]);
    if (theirs === undefined) continue;
    if (found === undefined) count = theirs;
    found ??= spec.name;
    if (theirs !== count) {
      throw new RangeError(
        `A request to ${quoted(name)} has ${count} rows of ${
          quoted(found)
        }, ${theirs} of ${quoted(spec.name)}, which is ${
          describeShape(spec.shape)
        } a row`,
      );
    }
  }
  if (count === 1) return undefined;
  if (count > ROWS_MAX) {
    throw new RangeError(
      `A request to ${quoted(name)} has up to ${ROWS_MAX} rows, got ${count}`,
    );
  }
  const taken = batched.filter((input) =>
    rowsIn(input, given[input.spec.name]) !== undefined
  );
  return { count, taken };
}

/**
 * Rows of an input, undefined where it is none of such. Where a row has any length, its shape has to say how many there
 * are: elements alone are of one.
 */
function rowsIn({ spec, axis }: Batched, value: unknown): number | undefined {
  const data = dataOf(value);
  if (!holds(spec.dtype, data)) return undefined;
  const shape = shapeOf(value);
  if (spec.free && shape === undefined) return 1;
  const sizes = spec.free && Array.isArray(shape)
    ? spec.shape.with(spec.free.axis, shape[spec.free.axis])
    : spec.shape;
  const count = (data as TensorData).length / elementCount(sizes);
  const isWhole = Number.isInteger(count) && count >= 1 &&
    (shape === undefined || isShape(shape, sizes.with(axis, count)));
  return isWhole ? count : undefined;
}

/** Row i of `count`. */
function rowOf(
  { spec: { name, dtype, shape: declared, free }, axis }: Batched,
  input: OnnxInput,
  i: number,
  count: number,
): Tensor<TensorData> {
  const from = dataOf(input[name]) as TensorData;
  const shape = free
    ? (shapeOf(input[name]) as readonly number[]).with(axis, 1)
    : declared;
  const data = elements(dtype, elementCount(shape));
  const inner = elementCount(shape.slice(axis + 1));
  for (let at = 0; at < data.length; at += inner) {
    const start = at * count + i * inner;
    data.set(from.subarray(start, start + inner) as never, at);
  }
  return { shape, data };
}

/** Results one after the other along an axis. */
function joined(
  { name, dtype }: InputSpec,
  axis: number,
  answers: readonly Readonly<Record<string, Tensor<TensorData>>>[],
): Tensor<TensorData> {
  // Rows of a request are of one length, and so are their results.
  const { shape } = answers[0][name];
  const size = elementCount(shape);
  const inner = elementCount(shape.slice(axis + 1));
  const data = elements(dtype, answers.length * size);
  answers.forEach((answer, i) => {
    const from = answer[name].data;
    for (let at = 0; at < size; at += inner) {
      data.set(
        from.subarray(at, at + inner) as never,
        at * answers.length + i * inner,
      );
    }
  });
  return { shape: shape.with(axis, answers.length), data };
}
