/** A model file as a model of the engine: cells, and how a request is unfolded into them. */
import { describe } from "../base/describe.ts";
import { checkedOptions, ofType } from "../base/checked_options.ts";
import type { Cell } from "../graph/cell.ts";
import type { Model, ModelRows } from "../graph/model.ts";
import type { OutputTypes } from "../graph/result.ts";
import { checkStream, type StreamSpec } from "../graph/stream_model.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import { constantTensors, type GivenConstants } from "./given_constants.ts";
import { type CellSize, cutsOf } from "./cuts.ts";
import {
  checkInputs,
  type InputSpec,
  type OnnxInput,
} from "./input_tensors.ts";
import type { DeclaredDim, OnnxModel } from "./ir.ts";
import { checkOperators } from "./check_operators.ts";
import { fuse } from "./fuse/fuse.ts";
import { FILE_CHECKS } from "./file_checks.ts";
import { indexBounds } from "./index_bounds.ts";
import { knownValues } from "./known_value.ts";
import { dtypeOf, lowerGraph } from "./lower/lower_graph.ts";
import { OnnxError, Place, quoted } from "./place.ts";
import { withOutputs } from "./names.ts";
import { partNames } from "./part_names.ts";
import { rowsOf } from "./rows/rows.ts";
import { scheduleOf } from "./schedule.ts";
import { sequenceModel } from "./sequence/sequence_model.ts";
import { simplify } from "./simplify/simplify.ts";
import { freeOf, type GivenSizes, sizesOf } from "./sizes.ts";
import { plainNotes } from "./plain_notes.ts";
import { stepGraph } from "./step_graph.ts";
import { type StateNames, streamOf } from "./stream.ts";
import { requests, unfolding } from "./unfolding.ts";
import { wholeCell } from "./whole_cell.ts";

/** Positions at which rows of any length are looked for: all that most files read by number. */
const ROWS_LENGTH = 64;

/** How a file becomes a model. */
export interface ModelOptions extends GivenSizes {
  /** What records and options by model call it; default: the file's name. */
  name?: string;
  /**
   * How large cells are: "layer", one for each convolution, product or other layer; "model", one for all; or the least
   * multiply-accumulates of one, where an axis is free of 16 positions. By default a cell takes about 0.64 ms at least,
   * by how fast kernels of each kind are, so that a launch of a single row is worth its costs. No bit depends on it.
   */
  cells?: CellSize;
  /**
   * Values in place of the file's, by name: weights that a file leaves out, inputs that are the same in every request
   * and that numbers alone are enough of, `new Map([["sr", 16_000]])`. Default none.
   */
  constants?: GivenConstants;
  /**
   * Makes it a model of streams (`ServingEngine.open`): inputs that are states, each with the output that it is in the
   * next frame, as `{ stateIn: "stateOut" }`. Frames bring the other inputs and give the other outputs.
   */
  states?: StateNames;
}

/** A model that was read from a file. */
export interface OnnxCellModel extends Model<OnnxInput, OutputTypes> {
  /** What a request brings. */
  readonly inputs: readonly InputSpec[];
  /** What comes out. */
  readonly results: readonly InputSpec[];
  /**
   * Of inputs whose integers pick entries of tables, or are compared with constants, the number that they are below;
   * found in the graph (Gather, OneHot, Equal), and not checked.
   */
  readonly indexBounds: ReadonlyMap<string, number>;
  /** Requests of several rows: one axis in front is as large as they are. */
  readonly rows?: ModelRows;
  /** By name of an input or output, the axis along which a request of several rows has them; empty: it is always one. */
  readonly rowAxes: ReadonlyMap<string, number>;
  /** Why a request is one row: what cannot be told apart; absent where it may be several. */
  readonly whyOneRow?: string;
  /** What is not as in the file, and what runs in plain TypeScript, in sentences. */
  readonly notes: readonly string[];
  /**
   * The whole file as one cell, inputs and outputs named as in it: a part of other cells (`op.Cell`).
   * @throws OnnxError when recurrent layers are steps of their own, which `cells: "model"` leaves in
   */
  whole(): Cell;
  /** With `states`: which of them stay from frame to frame. */
  readonly stream?: StreamSpec;
}

/** A model of streams that was read from a file: loaded with `states`. */
export interface OnnxStreamModel extends OnnxCellModel {
  /** Which inputs are states. */
  readonly stream: StreamSpec;
}

/**
 * Cuts a model into cells.
 * @throws OnnxError naming node and attribute, or input and axis, when it cannot be; TypeError on other options
 */
export function onnxModel(
  file: OnnxModel,
  options: ModelOptions = {},
): OnnxCellModel {
  const { name = file.label, cells, constants: given, states, ...sizes } =
    checkedOptions("loadOnnx", options, MODEL_CHECKS);
  const place = new Place(file.label);
  const constants = given && constantTensors(file.graph, given, sizes, place);
  const dims = sizesOf(file.graph, sizes, place, constants);
  const free = freeOf(sizes.sizesMax);
  const { model, values, emptied } = simplify(
    { ...file, graph: withOutputs(file.graph) },
    {
      inputs: dims,
      hoist: free === undefined,
      ...(constants && { constants }),
      // Kernels of int8 take whole requests.
      ...(free &&
        { kept: new Set(), sizesMax: new Map([[free.name, free.max]]) }),
    },
  );
  if (free) {
    if (states) {
      place.in(`size ${quoted(free.name)}`).fail(
        "it is free: frames of a stream have one size; give sizes instead",
      );
    }
    for (const node of model.graph.nodes) {
      checkOperators(node, place.node(node));
    }
    const made = sequenceModel(
      model,
      values,
      free,
      { name, size: cells },
      place,
    );
    const whole = () =>
      place.in(`size ${quoted(free.name)}`).fail(
        "it is free: a part of another cell has one size; give sizes instead",
      );
    const notes = [...file.notes, ...plainNotes(made.lowered)];
    const inputs = new Map(
      Array.from(dims, ([input, sizes]) => [
        input,
        sizes.map((size) =>
          size === free.name ? Math.min(free.max, ROWS_LENGTH) : size
        ),
      ]),
    );
    const rows = rowsAtLength(name, file, { inputs, constants }, made);
    return madeModel(name, { ...made, ...rows, whole }, notes);
  }
  const known = knownValues(values);
  for (const node of model.graph.nodes) {
    checkOperators(node, place.node(node));
    for (const output of node.outputs) {
      if (output === "" || known.has(output)) continue;
      place.node(node).fail(
        `the size of ${
          quoted(output)
        } depends on values, not on sizes alone: no cell has rows of it`,
      );
    }
  }
  const fused = fuse(model.graph, known, place);
  const { graph } = fused;
  const steps = stepGraph(
    graph,
    fused.known,
    place,
    cells === "model",
  );
  const lowered = lowerGraph(steps.graph, steps.known, name, place);
  const schedule = scheduleOf(name, steps, lowered, graph.outputs.length, {
    startsOf: (cell) => cutsOf(cell, cells),
    nameOf: partNames(name),
  });
  const specOf = (value: string): InputSpec => {
    const { type, dims } = known.get(value)!;
    const dtype = dtypeOf(type) ??
      place.fail(`${quoted(value)} is ${type}, of which there are no rows`);
    return { name: value, dtype, shape: dims };
  };
  const inputs = graph.inputs.map(({ name }) => specOf(name));
  const results = graph.outputs.map(({ name }) => specOf(name));
  const unfold = unfolding(steps, lowered, schedule, { inputs, results });
  const loaded = madeModel(name, {
    cells: schedule.cells,
    inputs,
    results,
    indexBounds: indexBounds(model.graph, known),
    ...rowsOf(name, model.graph, emptied, known, inputs, results),
    ...requests(unfold),
    ...(states && {
      stream: streamOf(
        name,
        { inputs, results },
        states,
        (graph, given) => unfold((name) => given[name], graph),
      ),
    }),
    whole: () => wholeCell(steps, lowered, place),
  }, [...file.notes, ...plainNotes([lowered], schedule)]);
  if (states) checkStream(loaded);
  return loaded;
}

/** Where rows lie is the same at every length; sizes that the graph computes with are constants at one. */
function rowsAtLength(
  name: string,
  file: OnnxModel,
  { inputs, constants }: {
    readonly inputs: ReadonlyMap<string, readonly DeclaredDim[]>;
    readonly constants: ReadonlyMap<string, PlainTensor> | undefined;
  },
  { inputs: specs, results }: Pick<OnnxCellModel, "inputs" | "results">,
) {
  try {
    const { model, values, emptied } = simplify(
      { ...file, graph: withOutputs(file.graph) },
      { inputs, ...(constants && { constants }) },
    );
    const known = knownValues(values);
    return rowsOf(name, model.graph, emptied, known, specs, results);
  } catch (error) {
    if (!(error instanceof OnnxError)) throw error;
    return { whyOneRow: `at ${ROWS_LENGTH} positions: ${error.message}` };
  }
}

function madeModel(
  name: string,
  {
    cells,
    inputs,
    results,
    indexBounds,
    check,
    unfold,
    brings,
    whole,
    ...made
  }:
    & Pick<
      OnnxCellModel,
      | "cells"
      | "inputs"
      | "results"
      | "indexBounds"
      | "unfold"
      | "brings"
      | "whole"
      | "stream"
      | "rows"
      | "whyOneRow"
    >
    & {
      check?(input: OnnxInput): void;
      rowAxes?: ReadonlyMap<string, number>;
    },
  notes: readonly string[],
): OnnxCellModel {
  return {
    name,
    cells,
    shape: "chain",
    inputs,
    results,
    indexBounds,
    outputs: Object.fromEntries(
      results.map(({ name, dtype }) => [name, dtype]),
    ),
    check(given): asserts given is OnnxInput {
      checkInputs(name, inputs, given);
      try {
        check?.(given as OnnxInput);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        throw new RangeError(
          `A request to ${quoted(name)} does not fit: ${error.message}`,
          { cause: error },
        );
      }
    },
    unfold,
    ...(brings && { brings }),
    ...(made.rows && { rows: made.rows }),
    rowAxes: made.rowAxes ?? new Map(),
    ...(made.whyOneRow !== undefined && { whyOneRow: made.whyOneRow }),
    ...(made.stream && { stream: made.stream }),
    notes,
    whole,
  };
}

/** Of the options of a model that is no decoder. */
export const MODEL_CHECKS = {
  ...FILE_CHECKS,
  cells: (option: string, value: unknown) => {
    const isNumber = typeof value === "number" && value >= 0;
    if (value === "layer" || value === "model" || isNumber) return;
    throw new TypeError(
      `"${option}" is "layer", "model" or multiply-accumulates, got ${
        describe(value)
      }`,
    );
  },
  states: ofType("object"),
};
