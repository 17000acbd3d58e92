/** Rules of operators that make one of all elements along axes. */
import { addDims, type Dim, maxDims, minDims, multiplyDims } from "./dim.ts";
import type { NodeView, ShapeRule } from "./node_view.ts";
import { axesOf } from "./reshapes.ts";
import { elementsValue, type InferredValue } from "./value.ts";

function reducedDims(
  view: NodeView,
  axes: readonly number[] | null,
  dims: readonly Dim[],
): readonly Dim[] | null {
  const keeps = view.flag("keepdims", true);
  if (axes === null) return keeps ? view.unknowns(dims.length) : null;
  return keeps
    ? dims.map((size, axis) => axes.includes(axis) ? 1 : size)
    : dims.filter((_, axis) => !axes.includes(axis));
}

/** @param since version from which on axes are an input */
function reduction(
  since: number,
  of?: (a: Dim, b: Dim) => Dim,
): ShapeRule {
  return (view) => {
    const { first } = view;
    const { type, dims, elements } = first;
    if (dims === null) return [{ type, dims }];
    const given = axesOf(view, { since, i: 1, rank: dims.length });
    const isEmpty = given === undefined || given?.length === 0;
    if (isEmpty && view.flag("noop_with_empty_axes")) return [first];
    const axes = isEmpty ? dims.map((_, axis) => axis) : given;
    const reduced = reducedDims(view, axes, dims);
    const result: InferredValue = { type, dims: reduced };
    if (
      of === undefined || type === null || axes?.length !== 1 ||
      dims.length !== 1 || !elements || elements.length === 0 ||
      view.isConstant
    ) return [result];
    const sum = elements.reduce((a, b) =>
      a === null || b === null ? null : of(a, b)
    );
    return [elementsValue(type, reduced as number[], [sum])];
  };
}

const argument: ShapeRule = (view) => {
  const { dims } = view.first;
  if (dims === null) return [{ type: "int64", dims }];
  const axis = view.axis(view.int("axis", 0), dims.length);
  return [{ type: "int64", dims: reducedDims(view, [axis], dims) }];
};

/** By name. */
export const REDUCTIONS: Readonly<Record<string, ShapeRule>> = {
  ReduceSum: reduction(13, addDims),
  ReduceProd: reduction(18, multiplyDims),
  ReduceMax: reduction(18, maxDims),
  ReduceMin: reduction(18, minDims),
  ReduceMean: reduction(18),
  ReduceL1: reduction(18),
  ReduceL2: reduction(18),
  ReduceLogSum: reduction(18),
  ReduceLogSumExp: reduction(18),
  ReduceSumSquare: reduction(18),
  ArgMax: argument,
  ArgMin: argument,
};
