import { assert } from "../../../src/base/assert.ts";
import {
  caseFamily,
  drawFloats,
  drawRows,
  drawSize,
  rowOf,
} from "../kernel_case.ts";
import { floatsOf, transposed } from "../equivalent.ts";
import { drawRowSize, type RowSize } from "./rows.ts";

/** Copy of rows. */
export const copyCase = caseFamily<RowSize>(drawRowSize, (draw, { n }) => {
  const { rows } = draw;
  const a = drawRows(draw, n);
  return {
    label: `m=${rows} n=${n}`,
    rows,
    inputs: { a },
    results: { out: { width: n, type: "f32" } },
    call: (kernels, at, m) => kernels.copy_rows(m, 4 * n, at.a, at.out),
    expected: () => ({ out: a.data }),
    tolerance: 0,
  };
});

/** Size of a copy of pieces: gaps lie behind the pieces and the lines of the input. */
export interface BlocksSize {
  lines: number;
  pieces: number;
  n: number;
  pieceGap: number;
  lineGap: number;
}

/** Pieces of some lines, gaps left out, come out ordered by their place in the line. */
export const copyBlocksCase = caseFamily<BlocksSize>(
  ({ prng }) => ({
    lines: 1 + prng.int(5),
    pieces: 1 + prng.int(9),
    n: drawSize(prng),
    pieceGap: prng.int(4),
    lineGap: prng.int(4),
  }),
  (draw, { lines, pieces, n, pieceGap, lineGap }) => {
    const { rows } = draw;
    const aPiece = n + pieceGap;
    const aLine = pieces * aPiece + lineGap;
    const a = drawRows(draw, (lines - 1) * aLine + (pieces - 1) * aPiece + n);
    const width = lines * pieces * n;
    return {
      label: `m=${rows} lines=${lines} pieces=${pieces} n=${n}`,
      rows,
      inputs: { a },
      results: { out: { width, type: "f32" } },
      call: (kernels, at, m) =>
        kernels.copy_blocks(
          m,
          lines,
          pieces,
          4 * n,
          4 * aLine,
          4 * aPiece,
          4 * n,
          4 * n * lines,
          at.a,
          at.out,
        ),
      expected: () => ({
        out: Array.from({ length: rows * width }, (_, i) => {
          const [at, k] = [i % width, i % n];
          const piece = Math.floor(at / n / lines);
          const line = Math.floor(at / n) % lines;
          return rowOf(a, Math.floor(i / width))[
            line * aLine + piece * aPiece + k
          ];
        }),
      }),
      tolerance: 0,
      // Gaps are skipped.
      bytes: 8 * rows * width,
    };
  },
);

/** Embedding lookup; the addresses it writes are followed by a copy. */
export const gatherCase = caseFamily<RowSize & { count: number }>(
  ({ prng }) => ({ n: drawSize(prng), count: drawSize(prng) }),
  (draw, { n, count }) => {
    const { prng, rows } = draw;
    const table = drawFloats(draw, count * n);
    const ids = Int32Array.from({ length: rows }, () => prng.int(count));
    return {
      label: `m=${rows} n=${n} count=${count}`,
      rows,
      inputs: { ids: { width: 1, data: ids } },
      blocks: { table },
      results: {
        out: { width: n, type: "f32" },
        found: { width: 1, type: "address", contiguous: true },
      },
      call(kernels, at, m) {
        const bad = kernels.gather_rows(
          m,
          at.ids,
          at.table,
          4 * n,
          count,
          at.found,
        );
        assert(bad === -1, `row ${bad} was refused`);
        kernels.copy_rows(m, 4 * n, at.found, at.out);
      },
      expected: () => ({
        out: Array.from(ids).flatMap((id) =>
          Array.from(table.subarray(id * n, (id + 1) * n))
        ),
      }),
      tolerance: 0,
      // Not the whole table: the rows that are looked up, read and written.
      bytes: 8 * rows * n,
      equivalent: () => ({
        nodes: [{
          opType: "Gather",
          inputs: ["table", "ids"],
          outputs: ["y"],
          attributes: { axis: 0 },
        }],
        constants: [{ name: "table", shape: [count, n], data: table }],
        inputs: [{ name: "ids", shape: [rows], type: "i32", data: ids }],
        outputs: [{ name: "y", shape: [rows, n], of: floatsOf("out") }],
        tolerance: 0,
      }),
    };
  },
);

/** Transposition of the matrix in every row, which goes by strips of 256 rows (assembly/transpose.ts). */
export const transposeCase = caseFamily<{ height: number; width: number }>(
  ({ prng }) =>
    prng.int(3) === 0
      ? { height: 250 + prng.int(280), width: 1 + prng.int(20) }
      : { height: drawSize(prng), width: drawSize(prng) },
  (draw, { height, width }) => {
    const { rows } = draw;
    const a = drawRows(draw, height * width);
    return {
      label: `m=${rows} ${height}x${width}`,
      rows,
      inputs: { a },
      results: { out: { width: height * width, type: "f32" } },
      call: (kernels, at, m) =>
        kernels.transpose_rows_f32(m, height, width, at.a, at.out),
      expected: () => ({ out: transposed(a.data, height, width) }),
      tolerance: 0,
      equivalent: () => ({
        nodes: [{
          opType: "Transpose",
          inputs: ["x"],
          outputs: ["y"],
          attributes: { perm: [0, 2, 1] },
        }],
        constants: [],
        inputs: [{ name: "x", shape: [rows, height, width], data: a.data }],
        outputs: [
          { name: "y", shape: [rows, width, height], of: floatsOf("out") },
        ],
        tolerance: 0,
      }),
    };
  },
);
