/**
 * Loop and Scan whose number of rounds is known, as steps: what one round reads and makes. A Gather of the round's
 * number is a slice, as Scan has them.
 */
import { fuse } from "./fuse/fuse.ts";
import { scalarOf } from "../tensor/plain_tensor.ts";
import { isShape } from "../tensor/tensor.ts";
import {
  attributeOf,
  type OnnxGraph,
  type OnnxNode,
  type ValueInfo,
} from "./ir.ts";
import { type KnownValue, knownValues } from "./known_value.ts";
import { dtypeOf } from "./lower/lower_graph.ts";
import type { Place } from "./place.ts";
import { withOutputs } from "./names.ts";
import { simplify } from "./simplify/simplify.ts";

/** What an input of the body is. */
export type BodyInput =
  /** Output `from` of the round before, of the first round a value of the graph around. */
  | { readonly kind: "state"; readonly initial: string; readonly from: number }
  /** The number of the round, from 0. */
  | { readonly kind: "round" }
  /** A slice of a value of the graph around, without its axis. */
  | {
    readonly kind: "slice";
    readonly of: string;
    readonly axis: number;
    readonly isReversed: boolean;
  }
  /** A value of the graph around, the same for every round. */
  | { readonly kind: "captured"; readonly name: string };

/** What becomes of an output of the body. */
export type BodyResult =
  /** The last round's. */
  | { readonly kind: "last"; readonly from: number; readonly name: string }
  /** All rounds', along a new axis. */
  | {
    readonly kind: "stack";
    readonly from: number;
    readonly name: string;
    readonly axis: number;
    readonly isReversed: boolean;
  };

/** A loop of which all rounds do the same. */
export interface LoopBody {
  readonly rounds: number;
  /** Simplified and fused, without captured values: these are inputs. Outputs are named once. */
  readonly graph: OnnxGraph;
  readonly known: ReadonlyMap<string, KnownValue>;
  /** As the graph's inputs. */
  readonly inputs: readonly BodyInput[];
  readonly results: readonly BodyResult[];
}

type Known = (name: string) => KnownValue | undefined;

/** How a node calls its body: what is given in order, and what it returns. */
interface Call {
  readonly rounds: number;
  readonly inputs: readonly (BodyInput | "condition")[];
  readonly results: readonly BodyResult[];
  /** Output that says whether there is another round. */
  readonly condition?: number;
}

/**
 * @returns undefined when it is no Loop or Scan, or none of which the rounds are known and all alike: a condition, or
 * sizes, that depend on values
 * @throws OnnxError naming a node of the body whose inputs do not fit
 */
export function loopBody(
  node: OnnxNode,
  known: Known,
  place: Place,
): LoopBody | undefined {
  const body = attributeOf(node, "body", "graph");
  const call = node.domain !== "" || !body
    ? undefined
    : node.op === "Loop"
    ? loopCall(node, body, known)
    : node.op === "Scan"
    ? scanCall(node, body, known)
    : undefined;
  if (!body || !call || call.rounds < 1) return undefined;
  const at = place.node(node).in("its body");
  const made = bodyGraph(body, call, known);
  if (made === undefined) return undefined;
  const { model: { graph }, values } = simplify({
    ...{ label: `${at}`, irVersion: 0, producer: "", metadata: new Map() },
    ...{ opsets: new Map(), notes: [], graph: made.graph },
  });
  const sizes = knownValues(values);
  if (call.condition !== undefined) {
    const { name } = graph.outputs[call.condition];
    const constant = sizes.get(name)?.constant;
    if (!constant || Number(constant.data[0]) !== 1) return undefined;
  }
  const isSettled = made.inputs.every((input, i) => {
    if (input.kind !== "state") return true;
    const before = sizes.get(graph.inputs[i].name)!;
    const after = sizes.get(graph.outputs[input.from].name);
    return after?.type === before.type && isShape(after.dims, before.dims);
  });
  const names = [
    ...graph.nodes.flatMap(({ outputs }) => outputs),
    ...graph.outputs.map(({ name }) => name),
  ];
  const areRows = names.every((name) => {
    if (name === "") return true;
    const { type, dims } = sizes.get(name) ?? {};
    return type !== undefined && dtypeOf(type) !== undefined &&
      !dims!.includes(0);
  });
  if (!isSettled || !areRows) return undefined;
  const sliced = withSlices({ ...call, ...made, graph, known: sizes }, known);
  return named({ ...sliced, ...fuse(sliced.graph, sliced.known, at) });
}

function loopCall(
  { inputs, outputs }: OnnxNode,
  body: OnnxGraph,
  known: Known,
): Call | undefined {
  const [trips = "", condition = "", ...states] = inputs;
  const constant = (name: string) => known(name)?.constant?.data;
  const rounds = constant(trips);
  const holds = condition === "" || constant(condition)?.[0] === 1;
  if (rounds?.length !== 1 || !holds) return undefined;
  if (states.includes("") || body.inputs.length !== 2 + states.length) {
    return undefined;
  }
  return {
    rounds: Number(rounds[0]),
    inputs: [
      { kind: "round" },
      "condition",
      ...states.map((initial, i) => ({
        ...{ kind: "state" as const, initial },
        from: 1 + i,
      })),
    ],
    results: resultsOf(outputs, states.length, 1, () => ({ axis: 0 })),
    condition: 0,
  };
}

function scanCall(
  node: OnnxNode,
  body: OnnxGraph,
  known: Known,
): Call | undefined {
  const { inputs, outputs, version } = node;
  const scans = attributeOf(node, "num_scan_inputs", "int") ?? 0;
  const count = inputs.length - scans;
  const isWhole = version >= 9 && scans >= 1 && count >= 0 &&
    !inputs.includes("") && body.inputs.length === inputs.length;
  if (!isWhole) return undefined;
  const ints = (name: string) => attributeOf(node, name, "ints") ?? [];
  const slices = inputs.slice(count).map((of, i): BodyInput | undefined => {
    const rank = known(of)?.dims.length;
    return rank === undefined ? undefined : {
      kind: "slice",
      of,
      axis: axisOf(ints("scan_input_axes")[i] ?? 0, rank),
      isReversed: ints("scan_input_directions")[i] === 1,
    };
  });
  const lengths = slices.map((slice) =>
    slice?.kind === "slice" ? known(slice.of)!.dims[slice.axis] : undefined
  );
  const [rounds] = lengths;
  if (rounds === undefined || lengths.some((other) => other !== rounds)) {
    return undefined;
  }
  return {
    rounds,
    inputs: [
      ...inputs.slice(0, count).map((initial, from) => ({
        ...{ kind: "state" as const, initial, from },
      })),
      ...slices as BodyInput[],
    ],
    results: resultsOf(outputs, count, 0, (i) => ({
      axis: axisOf(
        ints("scan_output_axes")[i] ?? 0,
        known(outputs[count + i])?.dims.length ?? 1,
      ),
      isReversed: ints("scan_output_directions")[i] === 1,
    })),
  };
}

const axisOf = (axis: number, rank: number) => axis < 0 ? axis + rank : axis;

/** @param first of the body's outputs that is a state */
function resultsOf(
  outputs: readonly string[],
  states: number,
  first: number,
  stackOf: (i: number) => { axis: number; isReversed?: boolean },
): BodyResult[] {
  return outputs.map((name, i): BodyResult =>
    i < states ? { kind: "last", name, from: first + i } : {
      ...{ kind: "stack", name, from: first + i, isReversed: false },
      ...stackOf(i - states),
    }
  ).filter(({ name }) => name !== "");
}

/** The body with all that it is given as inputs, of known sizes; undefined where these are not known. */
function bodyGraph(
  body: OnnxGraph,
  { inputs, results }: Call,
  known: Known,
): { graph: OnnxGraph; inputs: BodyInput[] } | undefined {
  const initializers = new Map(body.initializers);
  const infos: ValueInfo[] = [];
  const given: BodyInput[] = [];
  const give = (name: string, input: BodyInput, value?: KnownValue) => {
    given.push(input);
    infos.push({ name, type: value?.type ?? null, dims: value?.dims ?? null });
  };
  inputs.forEach((input, i) => {
    const { name } = body.inputs[i];
    if (input === "condition") {
      initializers.set(name, scalarOf("bool", 1));
    } else if (input.kind === "round") {
      give(name, input, { type: "int64", dims: [] });
    } else if (input.kind === "slice") {
      const { type, dims } = known(input.of)!;
      give(name, input, { type, dims: dims.toSpliced(input.axis, 1) });
    } else if (input.kind === "state") give(name, input, known(input.initial));
  });
  for (const name of body.captured) {
    const value = known(name);
    if (value?.constant) initializers.set(name, value.constant);
    else give(name, { kind: "captured", name }, value);
  }
  const isKnown = infos.every(({ type }) => type !== null && dtypeOf(type)) &&
    results.every(({ from }) => from < body.outputs.length);
  return isKnown
    ? {
      graph: {
        ...withOutputs(body),
        ...{ inputs: infos, initializers, captured: [] },
      },
      inputs: given,
    }
    : undefined;
}

/** Reads a Gather of the round's number as a slice. */
function withSlices(body: LoopBody, around: Known): LoopBody {
  const round = body.inputs.findIndex(({ kind }) => kind === "round");
  if (round < 0) return body;
  const number = body.graph.inputs[round].name;
  const inputs = [...body.inputs];
  const infos = [...body.graph.inputs];
  const nodes = body.graph.nodes.filter((node) => {
    const { op, domain, inputs: [from, index] } = node;
    if (op !== "Gather" || domain !== "" || index !== number) return true;
    const place = body.graph.inputs.findIndex(({ name }) => name === from);
    const value = body.inputs[place];
    const of = value?.kind === "captured" ? value.name : undefined;
    const dims = of === undefined ? undefined : around(of)?.dims;
    if (of === undefined || dims === undefined) return true;
    const axis = axisOf(attributeOf(node, "axis", "int") ?? 0, dims.length);
    if (dims[axis] < body.rounds) return true;
    const [name] = node.outputs;
    inputs.push({ kind: "slice", of, axis, isReversed: false });
    infos.push({ name, ...body.known.get(name)! });
    return false;
  });
  return { ...body, inputs, graph: { ...body.graph, inputs: infos, nodes } };
}

/** With every output once. */
function named(body: LoopBody): LoopBody {
  const { graph, inputs, results } = body;
  const used = new Set([
    ...inputs.flatMap((input) => input.kind === "state" ? [input.from] : []),
    ...results.map(({ from }) => from),
  ]);
  const names = [
    ...new Set(
      [...used].sort((a, b) => a - b).map((i) => graph.outputs[i].name),
    ),
  ];
  const placeOf = (from: number) => names.indexOf(graph.outputs[from].name);
  return {
    ...body,
    graph: {
      ...graph,
      outputs: names.map((name) =>
        graph.outputs.find((output) => output.name === name)!
      ),
    },
    inputs: inputs.map((input) =>
      input.kind === "state" ? { ...input, from: placeOf(input.from) } : input
    ),
    results: results.map((result) => ({
      ...result,
      from: placeOf(result.from),
    })),
  };
}
