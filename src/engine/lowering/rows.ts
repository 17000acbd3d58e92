import type {
  Operator,
  OperatorOf,
  RowOperator,
  Value,
} from "../../graph/operator.ts";
import { axesOf, lastAxis, rowsOf } from "../../graph/row_layout.ts";
import { BYTES_PER_ELEMENT, elementCount } from "../../tensor/tensor.ts";
import type { TableRef } from "./cell_program.ts";
import { stackImages } from "./images.ts";
import { type Lowering, type Lowerings, times } from "./lowering.ts";
import { isSameRow } from "./parts_in_place.ts";

export const rows: Lowerings<RowOperator> = {
  Concat(operator, lowering) {
    if (readAsSegments(operator, lowering)) return;
    const [out] = operator.outputs as [Value];
    if (isSameRow(operator)) {
      return lowering.lies(out, lowering.tableOf(operator.inputs[0]));
    }
    if (out.image) return stackImages(operator.inputs, out, lowering);
    const to = lowering.output(out);
    let bytes = 0;
    for (let i = 0; i < operator.inputs.length;) {
      const part = operator.inputs[i];
      const partBytes = lastAxis(part) * BYTES_PER_ELEMENT;
      const run = rowsOf(out) === 1
        ? sliceRun(operator.inputs, i, lowering)
        : undefined;
      const count = run?.count ?? 1;
      const from = lowering.tableOf(part);
      const place = lowering.offset(to, bytes);
      if (from !== place) {
        copyParts(lowering, {
          ...{ count: run?.count ?? rowsOf(out), bytes: partBytes },
          ...{ from, apart: run?.apart ?? partBytes },
          ...{ to: place, toApart: run ? partBytes : bytesApart(out) },
        });
      }
      bytes += count * partBytes;
      i += count;
    }
  },

  Slice({ start, inputs: [x], outputs: [part] }, lowering) {
    const count = rowsOf(x);
    const from = lowering.offset(
      lowering.tableOf(x),
      start * BYTES_PER_ELEMENT,
    );
    if (count === 1) return lowering.lies(part, from);
    copyParts(lowering, {
      ...{ count, bytes: lastAxis(part) * BYTES_PER_ELEMENT },
      ...{ from, apart: bytesApart(x) },
      ...{ to: lowering.output(part), toApart: bytesApart(part) },
    });
  },

  Reshape({ inputs: [x], outputs }, lowering) {
    lowering.lies(outputs[0], lowering.tableOf(x));
  },

  Transpose: lowerTranspose,

  Constant({ value, outputs }, lowering) {
    lowering.lies(outputs[0], lowering.constantRow(value.data));
  },
};

/** Bytes from one row of a value's last axis to the next. */
function bytesApart(value: Value): number {
  return lastAxis(value) * BYTES_PER_ELEMENT;
}

/** Copies as many pieces of every request's row, so many bytes apart in either. */
function copyParts(
  lowering: Lowering,
  { count, bytes, from, apart, to, toApart }: {
    count: number;
    bytes: number;
    from: TableRef;
    apart: number;
    to: TableRef;
    toApart: number;
  },
): void {
  if (count === 1) lowering.kernel("copy_rows", ["rows", bytes, from, to]);
  else {
    lowering.kernel("copy_blocks", [
      ...["rows" as const, 1, count, bytes, 0, apart, 0, toApart],
      ...[from, to],
    ]);
  }
}

/** Slices that are worth one call together. */
const RUN_LEAST = 3;

/**
 * Neighbours of a Concat, of one width, that are slices of one row, each as far from the one before: what padding by
 * mirroring consists of.
 * @returns how many from `first` on, and bytes from one to the next, less than 0 where they are mirrored
 */
function sliceRun(
  parts: readonly Value[],
  first: number,
  lowering: Lowering,
): { count: number; apart: number } | undefined {
  const slice = sliceOf(parts[first], lowering);
  if (slice === undefined) return undefined;
  let apart: number | undefined;
  let count = 1;
  for (let last = slice; first + count < parts.length; count++) {
    const next = sliceOf(parts[first + count], lowering);
    const isOfRow = next?.x === slice.x && next.width === slice.width;
    if (
      !isOfRow || next.start - last.start !== (apart ?? next.start - last.start)
    ) {
      break;
    }
    apart = next.start - last.start;
    last = next;
  }
  return apart !== undefined && count >= RUN_LEAST
    ? { count, apart: apart * BYTES_PER_ELEMENT }
    : undefined;
}

/** The row that a value is a slice of, and where; undefined for another one. */
function sliceOf(
  value: Value,
  lowering: Lowering,
): { x: Value; start: number; width: number } | undefined {
  const producer = lowering.producer(unshaped(value, lowering));
  if (producer?.op !== "Slice") return undefined;
  const { start, inputs: [x] } = producer;
  return rowsOf(x) === 1
    ? { x: unshaped(x, lowering), start, width: value.width }
    : undefined;
}

/** A value before it was reshaped: the same memory. */
function unshaped(value: Value, lowering: Lowering): Value {
  const producer = lowering.producer(value);
  return producer?.op === "Reshape"
    ? unshaped(producer.inputs[0], lowering)
    : value;
}

/**
 * One run of axes after the other is moved in front of those that lie before its place: [before][a][b][behind] to
 * [before][b][a][behind].
 */
function lowerTranspose(
  { perm, inputs: [x], outputs: [y] }: OperatorOf<"Transpose">,
  lowering: Lowering,
): void {
  const sizes = axesOf(x);
  let order = sizes.map((_, axis) => axis);
  const moves: { order: number[]; at: number; from: number; to: number }[] = [];
  for (let at = 0; at < perm.length; at++) {
    const from = order.indexOf(perm[at]);
    if (from === at) continue;
    let length = 1;
    while (perm[at + length] === order[from + length]) {
      if (at + length >= perm.length) break;
      length++;
    }
    moves.push({ order, at, from, to: from + length });
    order = [
      ...order.slice(0, at),
      ...order.slice(from, from + length),
      ...order.slice(at, from),
      ...order.slice(from + length),
    ];
  }
  let rows = lowering.tableOf(x);
  moves.forEach(({ order, at, from, to }, i) => {
    const product = (start: number, end?: number) =>
      elementCount(order.slice(start, end).map((axis) => sizes[axis]));
    const target = i === moves.length - 1
      ? lowering.output(y)
      : lowering.temporary(x.width * BYTES_PER_ELEMENT);
    const [before, a, b, behind] = [
      product(0, at),
      product(at, from),
      product(from, to),
      product(to),
    ];
    const matrix = a * b * behind * BYTES_PER_ELEMENT;
    const [aRows, outRows] = [rows, target].map((table) =>
      lowering.spread(table, before, matrix)
    ) as [TableRef, TableRef];
    const count = times(before);
    if (behind === 1) {
      lowering.kernel("transpose_rows_f32", [count, a, b, aRows, outRows]);
    } else {
      const bytes = behind * BYTES_PER_ELEMENT;
      lowering.kernel("copy_blocks", [
        ...[count, a, b, bytes, b * bytes, bytes, bytes, a * bytes],
        ...[aRows, outRows],
      ]);
    }
    rows = target;
  });
}

/** Whether a Concat is read only by Gemms that take its two parts as they are. */
export function readAsSegments(concat: Operator, lowering: Lowering): boolean {
  const value = concat.outputs[0];
  return concat.op === "Concat" && !value.image && concat.inputs.length === 2 &&
    !lowering.leaves(value) &&
    lowering.readers(value).every((reader) =>
      reader.op === "Gemm" &&
      !lowering.readers(reader.outputs[0]).some(({ op }) => op === "ArgMax")
    );
}
