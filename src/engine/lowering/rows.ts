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

export const rows: Lowerings<RowOperator> = {
  Concat(operator, lowering) {
    if (readAsSegments(operator, lowering)) return;
    const [out] = operator.outputs as [Value];
    if (out.image) return stackImages(operator.inputs, out, lowering);
    const to = lowering.output(out);
    let bytes = 0;
    for (const part of operator.inputs) {
      const partBytes = lastAxis(part) * BYTES_PER_ELEMENT;
      copyParts(lowering, {
        ...{ count: rowsOf(out), bytes: partBytes },
        ...{ from: lowering.tableOf(part), apart: partBytes },
        ...{ to: lowering.offset(to, bytes), toApart: bytesApart(out) },
      });
      bytes += partBytes;
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
