/** ONNX's broadcasting where operators of cells have only leading axes: operands are spread before. */
import type { Operators } from "../../graph/cell_builder.ts";
import type { ImageSize, Value } from "../../graph/operator.ts";
import { broadcastTo } from "../../plain/layout.ts";
import { elementCount, isShape, tensor } from "../../tensor/tensor.ts";
import { MADE_ELEMENTS_MAX, type Operand } from "./operand.ts";

/** Copies that are put one after the other by hand. */
const COPIES_MAX = 64;

/** A value that is no constant and shorter than this is spread: rows of so few elements are slow. */
const SHORT_ELEMENTS = 16;

/** Whether dims, but for leading ones, are the last ones of others. */
function endsIn(dims: readonly number[], small: readonly number[]): boolean {
  const axes = [...small];
  while (axes.length > 0 && axes[0] === 1) axes.shift();
  return axes.length <= dims.length &&
    isShape(dims.slice(dims.length - axes.length), axes);
}

/** Every element `count` times, exactly: products with 1. */
function repeatEach(op: Operators, x: Value, count: number): Value {
  const column = op.Reshape(x, [x.width, 1]);
  return op.Gemm(column, tensor([count, 1], new Float32Array(count).fill(1)));
}

/** A value of the dims of what it is broadcast to; undefined where that takes too many copies. */
export function spread(
  op: Operators,
  x: Operand,
  dims: readonly number[],
): Value | undefined {
  if (isShape(x.dims, dims)) return x.row;
  if (elementCount(dims) > MADE_ELEMENTS_MAX) return undefined;
  if (x.constant) {
    const data = broadcastTo(x.constant, dims).data as Float32Array;
    return op.Constant(tensor(dims.length === 0 ? [1] : dims, data));
  }
  let sizes = [...dims.map(() => 1), ...x.dims].slice(-dims.length);
  let row = op.Reshape(x.row, sizes);
  for (let axis = dims.length - 1; axis >= 0; axis--) {
    if (sizes[axis] === dims[axis]) continue;
    const count = dims[axis];
    const behind = elementCount(sizes.slice(axis + 1));
    if (behind === 1) row = repeatEach(op, row, count);
    else if (count <= COPIES_MAX) {
      const before = elementCount(sizes.slice(0, axis));
      const piece = op.Reshape(row, [before, behind]);
      row = op.Concat(...Array.from({ length: count }, () => piece));
    } else return undefined;
    sizes = sizes.with(axis, count);
    row = op.Reshape(row, sizes);
  }
  return row;
}

/** An operand of an image's size, or one that is taken again for every pixel. */
function besideImage(
  op: Operators,
  x: Operand,
  dims: readonly number[],
  size: ImageSize,
): Value | undefined {
  if (isShape(x.dims, dims)) return x.image;
  if (x.elements === 1) {
    const row = short(op, x, elementCount(dims));
    return x.constant || row.width === 1 ? row : op.Reshape(row, size);
  }
  const channelAxis = x.dims.length - (dims.length - 1);
  const perChannel = x.dims.every((n, axis) =>
    n === (axis === channelAxis ? size.channels : 1)
  );
  if (perChannel) {
    return x.constant
      ? op.Constant(tensor([size.channels], x.constant.data as Float32Array))
      : op.Reshape(x.row, [size.channels]);
  }
  return spreadImage(op, x, dims, size);
}

function spreadImage(
  op: Operators,
  x: Operand,
  dims: readonly number[],
  size: ImageSize,
): Value | undefined {
  const whole = spread(op, x, dims);
  return whole && op.Unflatten(op.Reshape(whole, [whole.width]), size);
}

/** A constant that is taken again and again, without leading axes of one. */
function constantRow(op: Operators, { constant, dims }: Operand): Value {
  const first = dims.findIndex((size) => size !== 1);
  const axes = first < 0 ? [1] : dims.slice(first);
  return op.Constant(tensor(axes, constant!.data as Float32Array));
}

/** One number that is taken again and again: as it is, or written out where it is not known before. */
function short(op: Operators, x: Operand, elements: number): Value {
  if (x.constant) return constantRow(op, x);
  return elements === 1
    ? op.Reshape(x.row, [1])
    : repeatEach(op, x.row, elements);
}

/**
 * Two operands as operators of cells take them: of the same axes, or one whose axes are the other's last ones; as
 * images where one of them lies so.
 */
export function besideEachOther(
  op: Operators,
  operands: readonly [Operand, Operand],
  dims: readonly number[],
  size: ImageSize | undefined,
): [Value, Value] | undefined {
  const [a, b] = operands;
  const isWhole = (x: Operand) => isShape(x.dims, dims);
  if (size && (a.isImage && isWhole(a) || b.isImage && isWhole(b))) {
    const [left, right] = operands.map((x) => besideImage(op, x, dims, size));
    return left && right && [left, right];
  }
  const elements = elementCount(dims);
  // One of them has all elements.
  const whole = a.elements >= b.elements ? a : b;
  const rows = operands.map((x) => {
    if (x === whole) return spread(op, x, dims);
    const isScalar = x.elements === 1;
    if (isScalar) {
      const row = short(op, x, elements);
      return row.width === elements ? op.Reshape(row, dims) : row;
    }
    if (!endsIn(dims, x.dims)) return spread(op, x, dims);
    if (x.constant) return constantRow(op, x);
    return x.elements >= SHORT_ELEMENTS ? x.row : spread(op, x, dims);
  });
  const [left, right] = rows;
  return left && right && [left, right];
}
