/** Reductions of floats: sums and means are products with a row of ones, the largest is that of a pool. */
import type { Value } from "../../graph/operator.ts";
import { elementCount, isShape, tensor } from "../../tensor/tensor.ts";
import { MADE_ELEMENTS_MAX } from "./operand.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";

/** The axes that are reduced; undefined where they are not known before. */
function reducedAxes(view: LoweredNode, since: number): number[] | undefined {
  const { rank } = view.operand();
  const isInput = view.version >= since;
  if (isInput && view.has(1) && !view.numbers(1)) return undefined;
  const given = isInput ? view.numbers(1) : view.ints("axes");
  if (given === undefined || given.length === 0) {
    const isNothing = view.int("noop_with_empty_axes", 0) !== 0;
    return isNothing ? [] : Array.from({ length: rank }, (_, i) => i);
  }
  return given.map((axis) => view.axis(axis)).sort((a, b) => a - b);
}

/** What is reduced behind what is kept: [kept][reduced]. */
function reducedLast(
  view: LoweredNode,
  axes: readonly number[],
): { rows: Value; kept: number; reduced: number } {
  const { op } = view;
  const x = view.operand();
  const kept = x.dims.map((_, axis) => axis).filter((axis) =>
    !axes.includes(axis)
  );
  const sizes = [
    elementCount(kept.map((axis) => x.dims[axis])),
    elementCount(axes.map((axis) => x.dims[axis])),
  ];
  const turned = op.Transpose(x.row, [...kept, ...axes]);
  return {
    rows: op.Reshape(turned, sizes),
    kept: sizes[0],
    reduced: sizes[1],
  };
}

/** Whether it is over all pixels of what lies as an image. */
function isOverPixels(view: LoweredNode, axes: readonly number[]): boolean {
  const x = view.operand();
  return x.isImage && x.rank >= 3 &&
    isShape(axes, x.dims.slice(2).map((_, i) => i + 2));
}

/** A sum of all that is reduced, each times a factor. */
function summed(view: LoweredNode, rows: Value, reduced: number, factor = 1) {
  return view.op.Gemm(
    rows,
    tensor([1, reduced], new Float32Array(reduced).fill(factor)),
  );
}

const sum =
  (since: number, isMean: boolean): NodeLowering => (view: LoweredNode) => {
    const axes = reducedAxes(view, since);
    const x = view.operand();
    if (!axes || x.type !== "float32") return undefined;
    if (axes.length === 0) return x.any;
    const { op } = view;
    if (isMean && isOverPixels(view, axes)) {
      return op.Reshape(op.GlobalAveragePool(x.image), [x.dims[1]]);
    }
    const { rows, reduced } = reducedLast(view, axes);
    if (reduced > MADE_ELEMENTS_MAX) return undefined;
    return summed(view, rows, reduced, isMean ? 1 / reduced : 1);
  };

/** The sum of squares, or its root: the length of a vector. */
const squares =
  (since: number, isRoot: boolean): NodeLowering => (view: LoweredNode) => {
    const axes = reducedAxes(view, since);
    if (!axes || axes.length === 0 || view.operand().type !== "float32") {
      return undefined;
    }
    const { rows, reduced } = reducedLast(view, axes);
    if (reduced > MADE_ELEMENTS_MAX) return undefined;
    const { op } = view;
    const total = summed(view, op.Mul(rows, rows), reduced);
    return isRoot ? op.Sqrt(total) : total;
  };

const largest = (since: number): NodeLowering => (view) => {
  const axes = reducedAxes(view, since);
  const x = view.operand();
  if (!axes || x.type !== "float32") return undefined;
  if (axes.length === 0) return x.any;
  const { op } = view;
  if (isOverPixels(view, axes)) {
    const { height, width } = x.imageSize!;
    const most = op.MaxPool(x.image, { kernelShape: [height, width] });
    return op.Reshape(most, [x.dims[1]]);
  }
  const { rows, kept, reduced } = reducedLast(view, axes);
  const turned = op.Transpose(rows, [1, 0]);
  const image = { height: reduced, width: 1, channels: kept };
  const most = op.MaxPool(op.Reshape(turned, image), {
    kernelShape: [reduced, 1],
  });
  return op.Reshape(most, [kept]);
};

export const REDUCTIONS: Readonly<Record<string, NodeLowering>> = {
  ReduceSum: sum(13, false),
  ReduceMean: sum(18, true),
  ReduceMax: largest(18),
  ReduceL2: squares(18, true),
  ReduceSumSquare: squares(18, false),
};
