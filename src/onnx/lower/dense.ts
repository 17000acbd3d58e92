/** Products of matrices. */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import {
  elementCount,
  isShape,
  type Tensor,
  tensor,
} from "../../tensor/tensor.ts";
import type { NodeLowering } from "./lowered_node.ts";
import type { Operand } from "./operand.ts";

/** [rows][columns] as [columns][rows], times a factor. */
export function transposed(
  data: Float32Array,
  rows: number,
  columns: number,
  factor = 1,
): Tensor {
  const turned = new Float32Array(data.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      turned[column * rows + row] = factor * data[row * columns + column];
    }
  }
  return tensor([columns, rows], turned);
}

const isFloat = ({ type }: Operand | PlainTensor) => type === "float32";

const matMul: NodeLowering = (view) => {
  const { op } = view;
  if (!view.operands.every(isFloat)) return undefined;
  const weight = view.constant(1);
  const a = view.operand(0);
  if (weight?.dims.length === 2 && a.rank >= 1) {
    const [k, n] = weight.dims;
    const bias = view.takeBias(view.dims().length - 1);
    const packed = transposed(weight.data as Float32Array, k, n);
    return op.Gemm(a.row, packed, bias);
  }
  const b = view.operand(1);
  if (a.rank < 2 || b.rank < 2) return undefined;
  const [left, right] = [a.dims.slice(0, -2), b.dims.slice(0, -2)];
  if (elementCount(right) === 1) {
    return op.MatMul(a.row, op.Reshape(b.row, b.dims.slice(-2)));
  }
  if (isShape(left, right)) return op.MatMul(a.row, b.row);
  return undefined;
};

const gemm: NodeLowering = (view) => {
  const { op } = view;
  if (!view.operands.every(isFloat)) return undefined;
  const [alpha, beta] = [view.float("alpha", 1), view.float("beta", 1)];
  const a = view.operand(0);
  const weight = view.constant(1);
  const bias = view.constant(2);
  if (a.rank !== 2 || !weight || view.has(2) && !bias) return undefined;
  const [rows, columns] = weight.dims;
  const data = weight.data as Float32Array;
  const isTurned = view.int("transB", 0) !== 0;
  const n = isTurned ? rows : columns;
  const packed = isTurned
    ? tensor([rows, columns], alpha === 1 ? data : data.map((w) => alpha * w))
    : transposed(data, rows, columns, alpha);
  const shift = bias && rowOf(bias, n, beta);
  if (bias && !shift) return undefined;
  const x = view.int("transA", 0) === 0 ? a.row : op.Transpose(a.row, [1, 0]);
  return op.Gemm(x, packed, shift ?? view.takeBias(1));
};

/** A constant that is the same for every row, written out. */
function rowOf(
  { dims, data }: PlainTensor,
  n: number,
  factor: number,
): Tensor | undefined {
  if (data.length !== 1 && !(data.length === n && dims.at(-1) === n)) {
    return undefined;
  }
  return tensor(
    [n],
    Float32Array.from(
      { length: n },
      (_, i) => factor * Number(data[data.length === 1 ? 0 : i]),
    ),
  );
}

/** Along the last axis; before version 13 along all from `axis` on. */
const softmax: NodeLowering = (view) => {
  const x = view.operand();
  if (!isFloat(x)) return undefined;
  const { op } = view;
  const { dims, rank } = x;
  const axis = view.axis(view.int("axis", view.version < 13 ? 1 : -1));
  if (view.version < 13) {
    const lanes = elementCount(dims.slice(0, axis));
    return op.Softmax(op.Reshape(x.row, [lanes, x.elements / lanes]));
  }
  if (elementCount(dims.slice(axis + 1)) === 1) {
    return op.Softmax(op.Reshape(x.row, dims.slice(0, axis + 1)));
  }
  return op.Transpose(
    op.Softmax(op.Transpose(x.row, swapped(rank, axis))),
    swapped(rank, axis),
  );
};

/** An axis and the last one in each other's place. */
function swapped(rank: number, axis: number): number[] {
  const order = Array.from({ length: rank }, (_, i) => i);
  return order.with(axis, rank - 1).with(rank - 1, axis);
}

/** Whether a constant has a number for each element of some axes, in their order: ONNX lets it be broadcast, too. */
function isFull(
  { dims }: Pick<PlainTensor, "dims">,
  axes: readonly number[],
): boolean {
  const own = (of: readonly number[]) => {
    const first = of.findIndex((size) => size !== 1);
    return first < 0 ? [] : of.slice(first);
  };
  return isShape(own(dims), own(axes));
}

/** Over the last axes, of constant scale and shift. */
const layerNormalization: NodeLowering = (view) => {
  const x = view.operand();
  const axes = x.dims.slice(view.axis(view.int("axis", -1)));
  const size = elementCount(axes);
  const areFull = [1, 2].every((i) => {
    const given = view.constant(i);
    return given ? isFull(given, axes) : !view.has(i);
  });
  if (!areFull) return undefined;
  const [scale, bias] = [view.weight(1, [size]), view.weight(2, [size])];
  const isWhole = isFloat(x) && scale && view.isWeight(2) && !view.wants(1);
  if (!isWhole) return undefined;
  const rows = view.op.Reshape(x.row, [x.elements / size, size]);
  return view.op.LayerNormalization(rows, {
    scale,
    ...(bias && { bias }),
    epsilon: view.float("epsilon", 1e-5),
  });
};

/** Over the last axes, of a constant scale. */
const rmsNormalization: NodeLowering = (view) => {
  const x = view.operand();
  const axes = x.dims.slice(view.axis(view.int("axis", -1)));
  const size = elementCount(axes);
  const given = view.constant(1);
  const scale = given && isFull(given, axes)
    ? view.weight(1, [size])
    : undefined;
  if (!isFloat(x) || !scale) return undefined;
  const rows = view.op.Reshape(x.row, [x.elements / size, size]);
  const epsilon = view.float("epsilon", 1e-5);
  return view.op.RMSNormalization(rows, { scale, epsilon });
};

export const DENSE: Readonly<Record<string, NodeLowering>> = {
  MatMul: matMul,
  Gemm: gemm,
  Softmax: softmax,
  LayerNormalization: layerNormalization,
  RMSNormalization: rmsNormalization,
};
