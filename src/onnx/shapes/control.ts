/** Rules of operators with graphs inside. */
import { scalarOf as plainScalar } from "../../tensor/plain_tensor.ts";
import { OnnxError } from "../place.ts";
import type { OnnxGraph } from "../ir.ts";
import { type Dim, isSameDim } from "./dim.ts";
import type { NodeView, ShapeRule } from "./node_view.ts";
import {
  constantValue,
  describeDims,
  type InferredValue,
  scalarOf,
  UNKNOWN,
} from "./value.ts";

function graphOf(view: NodeView, name: string): OnnxGraph {
  return view.attribute(name, "graph") ?? view.place.fail(`it has no ${name}`);
}

function inside(
  view: NodeView,
  name: string,
  inputs: readonly InferredValue[],
): readonly InferredValue[] {
  const graph = graphOf(view, name);
  if (graph.inputs.length !== inputs.length) {
    view.at(name).fail(
      `its graph has ${graph.inputs.length} inputs, given are ${inputs.length}`,
    );
  }
  return view.inferInside(graph, inputs, view.at(name));
}

/** What is the same of two values. */
function common(
  view: NodeView,
  output: number,
  a: InferredValue,
  b: InferredValue,
): InferredValue {
  const type = a.type === b.type ? a.type : null;
  if (a.dims === null || b.dims?.length !== a.dims.length) {
    return { type, dims: null };
  }
  const other = b.dims;
  return {
    type,
    dims: a.dims.map((size, axis) =>
      isSameDim(size, other[axis]) ? size : view.unknown(axis, 0, output)
    ),
  };
}

/**
 * What comes out of both branches. One that cannot be computed with these sizes, such as that for another sampling
 * rate, is none that a request may take: sizes are those of the other, and who takes it nonetheless hears why.
 * @throws OnnxError when neither can be, or a node of one could be with no sizes
 */
function eitherBranch(view: NodeView): (readonly InferredValue[])[] {
  const errors: OnnxError[] = [];
  const found: (readonly InferredValue[])[] = [];
  for (const name of ["then_branch", "else_branch"]) {
    view.checkInside(graphOf(view, name), view.at(name));
    try {
      found.push(inside(view, name, []));
    } catch (error) {
      if (!(error instanceof OnnxError)) throw error;
      errors.push(error);
    }
  }
  if (found.length === 0) throw errors[0];
  return [found[0], found.at(-1)!];
}

const branches: ShapeRule = (view) => {
  const condition = scalarOf(view.first);
  if (condition !== undefined) {
    return inside(view, condition === 0 ? "else_branch" : "then_branch", []);
  }
  const [then, otherwise] = eitherBranch(view);
  if (then.length !== otherwise.length) {
    view.place.fail(
      `its branches have ${then.length} and ${otherwise.length} outputs`,
    );
  }
  return then.map((value, i) => common(view, i, value, otherwise[i]));
};

/**
 * Values that a body is given and returns with every round: their sizes are those that a round does not change.
 * @param round the body's results of these values, after which may be others
 */
function carried(
  view: NodeView,
  initial: readonly InferredValue[],
  round: (values: readonly InferredValue[]) => readonly InferredValue[],
): readonly InferredValue[] {
  const settled = ({ type, dims }: InferredValue): InferredValue => ({
    type,
    dims,
  });
  let values = initial.map(settled);
  let results = round(values);
  for (let axes = 0;; axes++) {
    const next = values.map((value, i) =>
      common(view, i, value, results[i] ?? UNKNOWN)
    );
    if (next.every((value, i) => isSame(value, values[i]))) break;
    // Every round gives up a size at least; two are enough unless sizes depend on each other.
    values = axes < 2 ? next : next.map(({ type }) => ({ type, dims: null }));
    results = round(values);
    if (axes >= 2) break;
  }
  return [...values, ...results.slice(values.length)];
}

function isSame(a: InferredValue, b: InferredValue): boolean {
  return a.type === b.type && describeDims(a.dims) === describeDims(b.dims);
}

/** Along a new axis, a result of every round. */
function stacked(
  { type, dims }: InferredValue,
  rounds: Dim,
  axis = 0,
): InferredValue {
  return { type, dims: dims && dims.toSpliced(axis, 0, rounds) };
}

/** A condition that holds. */
const HOLDS = constantValue(plainScalar("bool", 1));

const loop: ShapeRule = (view) => {
  const trips = view.optional(0);
  const initial = view.given.slice(2).map((_, i) => view.input(i + 2));
  let next: InferredValue = UNKNOWN;
  const results = carried(view, initial, (values) => {
    const [condition, ...others] = inside(view, "body", [
      { type: "int64", dims: [] },
      HOLDS,
      ...values,
    ]);
    next = condition;
    return others;
  });
  const count = scalarOf(trips);
  const condition = view.optional(1);
  // It may end before, unless the body's condition always holds, which counts where none is given, too.
  const isFixed = scalarOf(next) === 1 &&
    (condition === undefined || scalarOf(condition) === 1);
  const rounds = count !== undefined && isFixed
    ? Math.max(0, count)
    : undefined;
  return results.map((value, i) =>
    i < initial.length ? value : stacked(value, rounds ?? view.unknown(0, 0, i))
  );
};

const scan: ShapeRule = (view) => {
  if (view.version < 9) return [];
  const scans = view.int("num_scan_inputs", 0);
  const states = view.given.length - scans;
  if (!(scans >= 1) || states < 0) {
    view.at("num_scan_inputs").fail(`it is ${scans}`);
  }
  const inputs = view.given.map((_, i) => view.input(i));
  const axes = view.ints("scan_input_axes");
  let rounds: Dim | undefined;
  const elements = inputs.slice(states).map(({ type, dims }, i) => {
    if (dims === null) return { type, dims };
    const axis = view.axis(axes?.[i] ?? 0, dims.length);
    rounds ??= dims[axis];
    return { type, dims: dims.toSpliced(axis, 1) };
  });
  const results = carried(
    view,
    inputs.slice(0, states),
    (values) => inside(view, "body", [...values, ...elements]),
  );
  const outputAxes = view.ints("scan_output_axes");
  return results.map((value, i) => {
    if (i < states) return value;
    const axis = outputAxes?.[i - states] ?? 0;
    const rank = (value.dims?.length ?? 0) + 1;
    return stacked(
      value,
      rounds ?? view.unknown(0, 0, i),
      value.dims ? view.axis(axis, rank) : 0,
    );
  });
};

/** By name. */
export const CONTROL: Readonly<Record<string, ShapeRule>> = {
  If: branches,
  Loop: loop,
  Scan: scan,
};
