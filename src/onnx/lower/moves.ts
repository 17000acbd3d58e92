/** What only says where elements lie, or moves them; of floats and 32-bit integers. */
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import { axesOf } from "../../graph/row_layout.ts";
import { elementCount, isShape, tensor } from "../../tensor/tensor.ts";
import { spread } from "./broadcast.ts";
import { paddedAxis } from "../../plain/padding.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";
import {
  axesOfImage,
  imageSizeOf,
  MADE_ELEMENTS_MAX,
  type Operand,
} from "./operand.ts";

function isWord({ type, canLie }: Operand): boolean {
  return canLie && (type === "float32" || type === "int32");
}

/** Axes that an image or signal has in ONNX's order, as they lie. */
function axisInImage(axis: number, rank: number): number {
  return axis === 1 ? 2 : rank === 4 ? axis - 2 : 1;
}

/** Whether an axis of an image is one of those that it has. */
function isImageAxis(axis: number, rank: number): boolean {
  return rank >= 3 && axis >= 1;
}

/** An operand's axes as they lie, and where one of them is; of an image, where it lies as one and has the axis. */
function axesAsTheyLie(
  op: Operators,
  x: Operand,
  axis: number,
): { value: Value; at: number; back: (made: Value) => Value } {
  const size = x.imageSize;
  if (!x.isImage || !size || !isImageAxis(axis, x.rank)) {
    return { value: x.row, at: axis, back: (made) => made };
  }
  return {
    value: op.Reshape(x.image, axesOfImage(size)),
    at: axisInImage(axis, x.rank),
    back: (made) => {
      const [height, width, channels] = axesOf(made);
      return op.Reshape(made, { height, width, channels });
    },
  };
}

/** Elements `start`, `start + step`, ... of an axis, `count` of them. */
export function sliceAxis(
  op: Operators,
  x: Value,
  axis: number,
  { start, count, step }: { start: number; count: number; step: number },
): Value {
  const sizes = axesOf(x);
  if (start === 0 && count === sizes[axis]) return x;
  const behind = elementCount(sizes.slice(axis + 1));
  const before = elementCount(sizes.slice(0, axis));
  const n = sizes[axis];
  const piece = (from: number, to: number) =>
    op.Slice(op.Reshape(x, [before, n * behind]), from * behind, to * behind);
  const shaped = (made: Value, size: number) =>
    op.Reshape(made, sizes.with(axis, size));
  if (step === 1) return shaped(piece(start, start + count), count);
  // Every whole step is a row of which the first piece is wanted; the last may be cut off.
  const whole = start + count * step <= n ? count : count - 1;
  const parts: Value[] = [];
  if (whole > 0) {
    const steps = op.Reshape(
      piece(start, start + whole * step),
      [before * whole, step * behind],
    );
    parts.push(
      op.Reshape(op.Slice(steps, 0, behind), [before, whole * behind]),
    );
  }
  if (whole < count) {
    const last = start + whole * step;
    parts.push(op.Reshape(piece(last, last + 1), [before, behind]));
  }
  return shaped(parts.length === 1 ? parts[0] : op.Concat(...parts), count);
}

/** Values of one size but for one axis, one after the other along it. */
export function concatAxis(
  op: Operators,
  parts: readonly Value[],
  axis: number,
): Value {
  const sizes = axesOf(parts[0]);
  const before = elementCount(sizes.slice(0, axis));
  const total = parts.reduce((sum, part) => sum + axesOf(part)[axis], 0);
  const joined = op.Concat(
    ...parts.map((part) => op.Reshape(part, [before, part.width / before])),
  );
  return op.Reshape(joined, sizes.with(axis, total));
}

const concat: NodeLowering = (view) => {
  const operands = view.operands.filter(({ elements }) => elements > 0);
  if (!operands.every(isWord) || operands.length === 0) return undefined;
  const { op } = view;
  const axis = view.axis(view.int("axis", 0));
  const { rank } = operands[0];
  const asImages = isImageAxis(axis, rank) &&
    operands.some(({ isImage }) => isImage) &&
    operands.every(({ imageSize }) => imageSize);
  if (!asImages) return concatAxis(op, operands.map(({ row }) => row), axis);
  if (axis === 1) return op.Concat(...operands.map(({ image }) => image));
  const pieces = operands.map((x) =>
    op.Reshape(x.image, axesOfImage(x.imageSize!))
  );
  const made = concatAxis(op, pieces, axisInImage(axis, rank));
  const [height, width, channels] = axesOf(made);
  return op.Reshape(made, { height, width, channels });
};

/** Ranges of axes, of inputs since version 10, of attributes before. */
const slice: NodeLowering = (view) => {
  const x = view.operand();
  if (!isWord(x)) return undefined;
  const given = (i: number, name: string) =>
    view.version < 10 ? view.ints(name) : view.numbers(i);
  const [starts, ends] = [given(1, "starts"), given(2, "ends")];
  if (!starts || !ends) return undefined;
  if (view.version >= 10 && (view.has(3) && !view.numbers(3))) return undefined;
  if (view.has(4) && !view.numbers(4)) return undefined;
  const axes = given(3, "axes") ?? starts.map((_, i) => i);
  const steps = view.numbers(4) ?? starts.map(() => 1);
  if (steps.some((step) => step < 1)) return undefined;
  const { op } = view;
  let made: Value | undefined;
  const isImage = x.isImage &&
    axes.every((axis) => isImageAxis(view.axis(axis), x.rank));
  const { value, back } = isImage
    ? axesAsTheyLie(op, x, 1)
    : { value: x.row, back: (made: Value) => made };
  made = value;
  axes.forEach((one, i) => {
    const axis = view.axis(one);
    const size = x.dims[axis];
    const clamp = (at: number) =>
      Math.max(0, Math.min(size, at < 0 ? at + size : at));
    const start = clamp(starts[i]);
    const count = Math.ceil((clamp(ends[i]) - start) / steps[i]);
    const at = isImage ? axisInImage(axis, x.rank) : axis;
    made = sliceAxis(op, made!, at, { start, count, step: steps[i] });
  });
  return back(made);
};

const split: NodeLowering = (view) => {
  const x = view.operand();
  if (!isWord(x)) return undefined;
  const axis = view.axis(view.int("axis", 0));
  const { value, at, back } = axesAsTheyLie(view.op, x, axis);
  let start = 0;
  const last = view.node.outputs.findLastIndex((name) => name !== "");
  return view.node.outputs.slice(0, last + 1).map((_, i) => {
    const count = view.dims(i)[axis];
    const range = { start, count, step: 1 };
    start += count;
    return back(sliceAxis(view.op, value, at, range));
  });
};

/** Pieces that one axis is put together of. */
const PIECES_MAX = 128;

/** Elements of an axis by their places, neighbours together; undefined where these are too many pieces. */
function picked(
  op: Operators,
  x: Value,
  axis: number,
  places: readonly number[],
): Value | undefined {
  const runs: { start: number; count: number; step: 1 }[] = [];
  for (const place of places) {
    const run = runs.at(-1);
    if (run && run.start + run.count === place) run.count++;
    else runs.push({ start: place, count: 1, step: 1 });
  }
  if (runs.length === 0 || runs.length > PIECES_MAX) return undefined;
  const pieces = runs.map((run) => sliceAxis(op, x, axis, run));
  return pieces.length === 1 ? pieces[0] : concatAxis(op, pieces, axis);
}

const gather: NodeLowering = (view) => {
  const x = view.operand();
  const indices = view.numbers(1);
  if (!isWord(x) || x.constant || !indices) return undefined;
  const axis = view.axis(view.int("axis", 0));
  const places = indices.map((index) =>
    index < 0 ? index + x.dims[axis] : index
  );
  return picked(view.op, x.row, axis, places);
};

const reshape: NodeLowering = (view) => {
  const x = view.operand();
  if (!x.canLie) return undefined;
  const { op } = view;
  const dims = view.dims();
  const [from, to] = [x.imageSize, imageSizeOf(dims)];
  // Channels stay where they are, pixels in their order: the same memory.
  const isSameImage = x.isImage && from && to && x.type === "float32" &&
    from.channels === to.channels &&
    isShape(x.dims.slice(0, 2), dims.slice(0, 2));
  return isSameImage ? op.Reshape(x.image, to) : op.Reshape(x.row, dims);
};

const transpose: NodeLowering = (view) => {
  const x = view.operand();
  if (!isWord(x)) return undefined;
  const { op } = view;
  const { dims, rank } = x;
  const perm = view.ints("perm") ?? dims.map((_, i) => rank - 1 - i);
  const inner = dims.slice(2).map((_, i) => i + 2);
  if (x.isImage && rank >= 3 && isShape(perm, [0, ...inner, 1])) {
    return op.Reshape(x.image, view.dims());
  }
  const toImage = [0, rank - 1, ...inner.map((axis) => axis - 1)];
  const size = imageSizeOf(view.dims());
  if (rank >= 3 && size && x.type === "float32" && isShape(perm, toImage)) {
    return op.Reshape(x.row, size);
  }
  return op.Transpose(x.row, perm);
};

const expand: NodeLowering = (view) => {
  const x = view.operand();
  const dims = view.dims();
  if (isWord(x) && !x.constant && elementCount(dims) === x.elements) {
    return view.op.Reshape(x.row, dims);
  }
  return x.type === "float32" ? spread(view.op, x, dims) : undefined;
};

/** Elements of the axis again: mirrored, wrapped around, or the first and the last. */
function padWithElements(
  view: LoweredNode,
  pads: readonly number[],
  mode: string,
): Value | undefined {
  const x = view.operand();
  const axes = view.numbers(3) ?? x.dims.map((_, i) => i);
  let made: Value | undefined = x.row;
  axes.forEach((given, i) => {
    const [before, behind] = [pads[i], pads[i + axes.length]];
    if (made === undefined || before + behind === 0) return;
    const axis = view.axis(given);
    if (before + behind > MADE_ELEMENTS_MAX) return made = undefined;
    const places = paddedAxis(x.dims[axis], before, behind, mode);
    made = picked(view.op, made, axis, places);
  });
  return made;
}

const pad: NodeLowering = (view) => {
  const x = view.operand();
  const pads = view.version < 11 ? view.ints("pads") : view.numbers(1);
  const mode = view.text("mode", "constant");
  const isKnown = (!view.has(2) || view.numbers(2)) &&
    (!view.has(3) || view.numbers(3));
  if (x.type !== "float32" || !pads || !isKnown) return undefined;
  if (pads.some((size) => size < 0)) return undefined;
  if (mode !== "constant") return padWithElements(view, pads, mode);
  const fill = view.version < 11
    ? view.float("value", 0)
    : view.numbers(2)?.[0] ?? 0;
  if (!Number.isFinite(fill)) return undefined;
  const { elements } = x;
  if (elementCount(view.dims()) - elements > MADE_ELEMENTS_MAX) {
    return undefined;
  }
  const axes = (view.numbers(3) ?? x.dims.map((_, i) => i)).map((axis) =>
    view.axis(axis)
  );
  const wanted = axes.filter((_, i) => pads[i] + pads[i + axes.length] > 0);
  if (wanted.length === 0) return x.any;
  const { op } = view;
  const isImage = x.isImage && wanted.every((a) => isImageAxis(a, x.rank));
  const { value, back } = isImage
    ? axesAsTheyLie(op, x, 1)
    : { value: x.row, back: (made: Value) => made };
  let made = value;
  axes.forEach((axis, i) => {
    const at = isImage ? axisInImage(axis, x.rank) : axis;
    const filled = (count: number) => {
      const sizes = axesOf(made).with(at, count);
      const data = new Float32Array(elementCount(sizes)).fill(fill);
      return count === 0
        ? []
        : [op.Reshape(op.Constant(tensor(sizes, data)), sizes)];
    };
    const [before, behind] = [filled(pads[i]), filled(pads[i + axes.length])];
    if (before.length + behind.length === 0) return;
    made = concatAxis(op, [...before, made, ...behind], at);
  });
  return back(made);
};

/** A view of other dims. */
const viewOf = (view: LoweredNode) => reshape(view);

export const MOVES: Readonly<Record<string, NodeLowering>> = {
  Concat: concat,
  Slice: slice,
  Split: split,
  Gather: gather,
  Reshape: viewOf,
  Flatten: viewOf,
  Squeeze: viewOf,
  Unsqueeze: viewOf,
  Transpose: transpose,
  Expand: expand,
  Pad: pad,
};
