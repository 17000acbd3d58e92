/**
 * The three levels against each other: register (counted), event (from tiles), closed form, in cycles,
 * scratchpad traffic per operand and multiplications; and the register level's values against GEMM.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { closedForm } from "../../src/npu/closed_form.ts";
import { DATAFLOWS, type Gemm, MAPPINGS } from "../../src/npu/dataflow.ts";
import { NO_STALLS } from "./no_stalls.ts";
import { tiledTime } from "../../src/npu/memory/layer_time.ts";
import { tileProgram } from "../../src/npu/memory/tile_program.ts";
import { programTraffic } from "../../src/npu/memory/tile_traffic.ts";
import { cutOf, type Tiling } from "../../src/npu/memory/tiling.ts";
import { preset } from "../../src/npu/presets.ts";
import {
  DTYPES,
  loadRegisterArray,
  type Operands,
  type RegisterRun,
} from "../../src/npu/register/register_array.ts";
import { propertyRuns } from "../property_runs.ts";
import { gemmInRowFolds, randomOperands } from "./gemm_oracle.ts";

const array = loadRegisterArray(
  readFileSync(new URL("../../build/shoal.wasm", import.meta.url)),
);

const side = fc.integer({ min: 1, max: 20 });
const extent = fc.integer({ min: 1, max: 40 });
const cases = fc.record({
  gemm: fc.record({ m: extent, n: extent, k: extent }),
  shape: fc.record({ rows: side, cols: side }),
  dataflow: fc.constantFrom(...DATAFLOWS),
  mode: fc.constantFrom("causal" as const, "overlapped" as const),
  seed: fc.nat(),
});
type Case = typeof cases extends fc.Arbitrary<infer C> ? C : never;

/** The event level of a tiling, memory never stalling. */
function eventLevel({ gemm, shape, dataflow, mode }: Case, tiling: Tiling) {
  const context = {
    work: { gemm, copies: 1 },
    config: { ...preset("lazybatching"), array: shape, dataflow, mode },
    dram: NO_STALLS,
    onChip: { ifmap: false, ofmap: false },
    vectorTicks: 0,
  };
  return {
    cycles: tiledTime(tiling, context).endTicks,
    ...programTraffic(tileProgram(tiling, context)),
  };
}

/** A level's counts in the form all levels have. */
function countsOf(form: ReturnType<typeof eventLevel>) {
  const { cycles, macs, ifmapReads, filterReads } = form;
  const { ofmapWrites, ofmapReads, accumulatorWrites, accumulatorReads } = form;
  return {
    cycles,
    macs,
    ifmapReads,
    filterReads,
    ofmapWrites,
    ofmapReads,
    accumulatorWrites,
    accumulatorReads,
  };
}

const KEPT = {
  outer: "n",
  ifmapResident: false,
  filterResident: false,
} as const;

Deno.test("register level = event level = closed form in cycles and traffic, and GEMM in bits", () => {
  const dtypes = fc.constantFrom(...DTYPES);
  fc.assert(
    fc.property(cases, dtypes, (one, dtype) => {
      const { gemm, shape, dataflow, mode, seed } = one;
      const operands = randomOperands(gemm, dtype, seed);
      const run = array.run(gemm, operands, shape, {
        dataflow,
        mode,
        dtype,
        logCycles: 1,
      });
      const closed = closedForm(gemm, shape, { dataflow, mode });
      const counts = countsOf({ ...closed, cycles: closed.totalCycles });
      const event = eventLevel(one, { copies: 1, ...gemm, ...KEPT });
      assert.deepEqual(countsOf(event), counts);
      assertRegister([run], counts);
      const foldK = dataflow === "os" ? gemm.k : shape.rows;
      assert.deepEqual(run.values, gemmInRowFolds(gemm, operands, foldK));
    }),
    { numRuns: propertyRuns(1_000) },
  );
});

/** What the array counted against a level that also knows where partial sums stay. */
function assertRegister(
  runs: readonly RegisterRun[],
  want: ReturnType<typeof countsOf>,
  addedOutside = 0,
): void {
  const sum = (of: (run: RegisterRun) => number) =>
    runs.reduce((total, run) => total + of(run), 0);
  assert.equal(sum((run) => run.ifmapReads), want.ifmapReads);
  assert.equal(sum((run) => run.filterReads), want.filterReads);
  assert.equal(sum((run) => run.activeTotal), want.macs);
  assert.equal(
    sum((run) => run.outputWords),
    want.accumulatorWrites > 0 ? want.accumulatorWrites : want.ofmapWrites,
  );
  assert.equal(
    sum((run) => run.partialSumReads) + addedOutside,
    want.accumulatorReads + want.ofmapReads,
  );
  if (runs.length === 1) assert.equal(runs[0].cycles, want.cycles);
}

Deno.test("tiles of whole array sides, time uncut, leave cycles and traffic as they are", () => {
  const tiles = fc.record({
    rows: fc.integer({ min: 1, max: 3 }),
    cols: fc.integer({ min: 1, max: 3 }),
    outer: fc.constantFrom("m" as const, "n" as const),
  });
  fc.assert(
    fc.property(cases, tiles, (one, { rows, cols, outer }) => {
      const { gemm, shape, dataflow, mode } = one;
      const mapping = MAPPINGS[dataflow];
      const event = eventLevel(one, {
        copies: 1,
        ...gemm,
        [mapping.rows]: Math.min(gemm[mapping.rows], rows * shape.rows),
        [mapping.cols]: Math.min(gemm[mapping.cols], cols * shape.cols),
        ...KEPT,
        outer,
      });
      const closed = closedForm(gemm, shape, { dataflow, mode });
      const counts = countsOf({ ...closed, cycles: closed.totalCycles });
      assert.deepEqual(countsOf(event), counts);
    }),
    { numRuns: propertyRuns(1_000) },
  );
});

interface Tile {
  at: Gemm;
  size: Gemm;
}

/** The tiles of a tiling, k innermost. */
function tilesOf(gemm: Gemm, tiling: Tiling): Tile[] {
  const along = (axis: keyof Gemm) => {
    const { full, size, rest } = cutOf(gemm[axis], tiling[axis]);
    const parts = Array.from({ length: full }, (_, i) => [i * size, size]);
    return rest > 0 ? [...parts, [full * size, rest]] : parts;
  };
  const [first, second] = tiling.outer === "m"
    ? ["m", "n"] as const
    : ["n", "m"] as const;
  return along(first).flatMap(([i, iSize]) =>
    along(second).flatMap(([j, jSize]) =>
      along("k").map(([k, kSize]): Tile => ({
        at: { [first]: i, [second]: j, k } as unknown as Gemm,
        size: { [first]: iSize, [second]: jSize, k: kSize } as unknown as Gemm,
      }))
    )
  );
}

/** The part of a row-major matrix from (row, column), `rows` x `cols` large. */
function part(
  words: Int8Array,
  { width, row, column, rows, cols }: Record<
    "width" | "row" | "column" | "rows" | "cols",
    number
  >,
): Int8Array {
  return Int8Array.from(
    { length: rows * cols },
    (_, i) => words[(row + Math.floor(i / cols)) * width + column + i % cols],
  );
}

Deno.test("event level of any tiling = sum of its tiles' closed forms = register level tile by tile", () => {
  const tilings = fc.record({
    m: fc.integer({ min: 4, max: 40 }),
    n: fc.integer({ min: 4, max: 40 }),
    k: fc.integer({ min: 4, max: 40 }),
    outer: fc.constantFrom("m" as const, "n" as const),
  });
  fc.assert(
    fc.property(cases, tilings, (one, cut) => {
      const { gemm, shape, dataflow, mode, seed } = one;
      const tiling = { ...KEPT, copies: 1, ...cut };
      const tiles = tilesOf(gemm, tiling);
      const closed = tiles.map(({ size }) =>
        closedForm(size, shape, { dataflow, mode })
      );
      const sum = (of: (form: typeof closed[number], i: number) => number) =>
        closed.reduce((total, form, i) => total + of(form, i), 0);

      // Sums of a tile that is not the first along k are added to what is there.
      const added = sum((_, i) => {
        const { at, size } = tiles[i];
        return at.k > 0 ? size.m * size.n : 0;
      });
      const outputs = sum((form) =>
        form.accumulatorWrites > 0 ? form.accumulatorWrites : form.ofmapWrites
      );
      const readBacks = added +
        sum((form) => form.accumulatorReads + form.ofmapReads);
      const accumulates = mode === "overlapped" &&
        (dataflow !== "os" || cut.k < gemm.k);
      // Overlapped tiles follow each other as folds do: only the last one's end is waited for.
      const time = MAPPINGS[dataflow].time;
      const givenBack = mode === "causal" ? 0 : sum((form, i) => {
        const periodCycles = Math.max(tiles[i].size[time], shape.rows);
        const aloneCycles = form.totalCycles - (form.folds - 1) * periodCycles;
        return i < tiles.length - 1 ? aloneCycles - periodCycles : 0;
      });
      const counts = {
        cycles: sum((form) => form.totalCycles) - givenBack,
        macs: gemm.m * gemm.n * gemm.k,
        ifmapReads: sum((form) => form.ifmapReads),
        filterReads: sum((form) => form.filterReads),
        ofmapWrites: accumulates ? gemm.m * gemm.n : outputs,
        ofmapReads: mode === "causal" ? readBacks : 0,
        accumulatorWrites: accumulates ? outputs : 0,
        accumulatorReads: accumulates ? readBacks : 0,
      };
      assert.deepEqual(countsOf(eventLevel(one, tiling)), counts);

      const operands = randomOperands(gemm, "int8", seed) as {
        ifmap: Int8Array;
        filter: Int8Array;
      };
      const values = new Int32Array(gemm.m * gemm.n);
      const runs = tiles.map(({ at, size }, i) => {
        const run = array.run(
          size,
          tileOperands(operands, { gemm, at, size }),
          shape,
          { dataflow, mode, dtype: "int8", logCycles: 1 },
        );
        assert.equal(run.cycles, closed[i].totalCycles);
        run.values.forEach((value, j) => {
          const row = at.m + Math.floor(j / size.n);
          values[row * gemm.n + at.n + j % size.n] += value;
        });
        return run;
      });
      assertRegister(runs, counts, added);
      assert.deepEqual(values, gemmInRowFolds(gemm, operands, gemm.k));
    }),
    { numRuns: propertyRuns(500) },
  );
});

function tileOperands(
  { ifmap, filter }: { ifmap: Int8Array; filter: Int8Array },
  { gemm, at, size }: Tile & { gemm: Gemm },
): Operands {
  return {
    ifmap: part(ifmap, {
      width: gemm.k,
      row: at.m,
      column: at.k,
      rows: size.m,
      cols: size.k,
    }),
    filter: part(filter, {
      width: gemm.n,
      row: at.k,
      column: at.n,
      rows: size.k,
      cols: size.n,
    }),
  };
}
