import type { DenseOperator, OperatorOf, Value } from "../../graph/operator.ts";
import { lastAxis, rowsOf } from "../../graph/row_layout.ts";
import { ACTIVATIONS } from "../../kernels/module/activations.ts";
import { packedGemmFloats, packGemm } from "../../kernels/pack/pack_gemm.ts";
import { BYTES_PER_ELEMENT } from "../../tensor/tensor.ts";
import type { TableRef } from "./cell_program.ts";
import { fuseActivation } from "./elementwise.ts";
import { type Lowering, type Lowerings, times } from "./lowering.ts";
import { readAsSegments } from "./rows.ts";

export const dense: Lowerings<DenseOperator> = {
  Gather({ table, inputs: [id], outputs: [out] }, lowering) {
    const [count, width] = table.shape as [number, number];
    const bytes = width * BYTES_PER_ELEMENT;
    const rows = lowering.ownTable(id.width);
    lowering.kernel("gather_rows", [
      times(id.width),
      lowering.spread(lowering.tableOf(id), id.width, BYTES_PER_ELEMENT),
      lowering.place(table.data),
      bytes,
      count,
      rows,
    ], id.width);
    if (id.width === 1) return lowering.lies(out, rows);
    // Rows of a request that are all over the table are put together.
    const to = lowering.spread(lowering.output(out), id.width, bytes);
    lowering.kernel("copy_rows", [times(id.width), bytes, rows, to]);
  },

  Gemm: lowerGemm,

  MatMul: lowerMatMul,

  ArgMax({ inputs: [x], outputs: [id] }, lowering) {
    lowering.kernel("argmax_rows_f32", [
      lowering.rows(x),
      lastAxis(x),
      lowering.rowTable(x),
      lowering.outputRows(id),
    ]);
  },

  TopK({ largest, inputs: [x], outputs: [values, ids] }, lowering) {
    lowering.kernel("topk_rows_f32", [
      lowering.rows(x),
      lastAxis(x),
      lastAxis(values),
      largest ? 1 : 0,
      lowering.rowTable(x),
      lowering.outputRows(values),
      lowering.outputRows(ids),
    ]);
  },
};

/** The right operand is packed, matrix by matrix; one that has no more axes than two for all of a request at once. */
function lowerMatMul(
  { transposed, inputs: [a, b], outputs: [c] }: OperatorOf<"MatMul">,
  lowering: Lowering,
): void {
  const [n, k] = [lastAxis(c), lastAxis(a)];
  const matrices = b.width / (n * k);
  const m = rowsOf(a) / matrices;
  const [columns, rows] = transposed ? [k, n] : [n, k];
  const packed = {
    scratch: lowering.scratch(
      BYTES_PER_ELEMENT * packedGemmFloats({ n, k }),
    ),
  };
  const entries = (table: TableRef, step: number) => ({ entries: table, step });
  const bRows = lowering.spread(
    lowering.tableOf(b),
    matrices * rows,
    columns * BYTES_PER_ELEMENT,
  );
  const aRows = entries(lowering.rowTable(a), m);
  const { value, act } = fuseActivation(c, lowering);
  const cRows = entries(lowering.outputRows(value), m);
  const call = "kernel" as const;
  lowering.each(matrices, [
    {
      call,
      kernel: "pack_gemm_f32",
      args: [n, k, entries(bRows, rows), transposed ? 1 : 0, packed],
    },
    {
      call,
      kernel: "gemm_f32",
      args: [m, n, k, aRows, 0, 0, packed, cRows, ACTIVATIONS[act]],
    },
  ]);
}

function lowerGemm(operator: OperatorOf<"Gemm">, lowering: Lowering): void {
  const x = operator.inputs[0];
  const y = operator.outputs[0];
  const [n, k] = [lastAxis(y), lastAxis(x)];
  const weights = packGemm({
    n,
    k,
    weight: operator.weight.data,
    layout: "nk",
    ...(operator.bias && { bias: operator.bias.data }),
  });
  const readers = lowering.readers(y);
  const argMax = readers.find(({ op }) => op === "ArgMax");
  if (argMax) {
    lowering.fuse(argMax);
    const stored = lowering.leaves(y) || readers.length > 1;
    const best = BYTES_PER_ELEMENT * lowering.rowsPerCall * rowsOf(x);
    lowering.kernel("projection_argmax_f32", [
      lowering.rows(x),
      n,
      k,
      lowering.rowTable(x),
      lowering.place(weights),
      lowering.outputRows(argMax.outputs[0]),
      stored ? lowering.outputRows(y) : 0,
      { scratch: lowering.scratch(best) },
    ]);
    return;
  }
  const { sum, residual } = takeResidual(operator, lowering);
  const { value, act } = fuseActivation(sum, lowering);
  const [first, second] = segments(x, lowering);
  const product = [
    lowering.rows(x),
    n,
    lastAxis(first),
    lowering.rowTable(first),
    second ? lastAxis(second) : 0,
    second ? lowering.rowTable(second) : 0,
    lowering.place(weights),
  ] as const;
  const to = [lowering.outputRows(value), ACTIVATIONS[act]] as const;
  if (residual) {
    const added = lowering.rowTable(residual);
    lowering.kernel("gemm_residual_f32", [...product, added, ...to]);
  } else lowering.kernel("gemm_f32", [...product, ...to]);
}

/** A row that is there before and that alone is added to the product: the kernel adds it. */
function takeResidual(
  operator: OperatorOf<"Gemm">,
  lowering: Lowering,
): { sum: Value; residual?: Value } {
  const y = operator.outputs[0];
  const next = lowering.onlyReader(y);
  const residual = next?.op === "Add"
    ? next.inputs.find((value) =>
      value !== y && value.width === y.width &&
      lowering.precedes(value, operator)
    )
    : undefined;
  if (residual === undefined) return { sum: y };
  lowering.fuse(next!);
  return { sum: next!.outputs[0], residual };
}

/** The rows that a Gemm reads one after the other. */
function segments(x: Value, lowering: Lowering): [Value] | [Value, Value] {
  const producer = lowering.producer(x);
  if (producer && readAsSegments(producer, lowering)) {
    return [producer.inputs[0], producer.inputs[1]];
  }
  return [x];
}
