import { assert } from "../../base/assert.ts";
import { caseFamily, drawFloats, drawRows, drawSize } from "../kernel_case.ts";
import { floatsOf } from "../equivalent.ts";
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
    call: (kernels, at, m) => kernels.copy_rows(m, 4 * n, at.a!, at.out!),
    expected: () => ({ out: a.data }),
    tolerance: 0,
  };
});

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
          at.ids!,
          at.table!,
          4 * n,
          count,
          at.found!,
        );
        assert(bad === -1, `row ${bad} was refused`);
        kernels.copy_rows(m, 4 * n, at.found!, at.out!);
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
