import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { calcReport, userReport } from "../../src/npu/scalesim/report.ts";
import { significant } from "../../src/npu/scalesim/format.ts";
import { convLayer, gemmLayer } from "../../src/npu/scalesim/layer.ts";
import { traceText } from "./scalesim_trace.ts";
import {
  csvRows,
  layerOf,
  machineOf,
  referenceRows,
  type Row,
} from "./reference.ts";
import { BANDWIDTH_ROWS, COMPUTE_ROWS, TRACE_ROWS } from "./scalesim_rows.ts";

const COMPUTE_TABLES = { "compute.csv": 911, "resnet50_network.csv": 162 };

const digits10 = (value: number) => significant(value, 10);

function assertRow(row: Row, got: Record<string, number | string>): void {
  const want = Object.fromEntries(
    Object.keys(got).map((column) => [column, row[column]]),
  );
  const text = Object.fromEntries(
    Object.entries(got).map(([column, v]) => [column, String(v)]),
  );
  const case_ = `${row.layer} ${row.rows}x${row.cols} ${row.dataflow}`;
  assert.deepEqual(text, want, case_);
}

function assertComputeRow(row: Row): void {
  const report = calcReport(layerOf(row), machineOf(row));
  assertRow(row, {
    total_cycles: report.totalCycles,
    total_cycles_incl_prefetch: report.totalCyclesInclPrefetch,
    overall_util_pct: digits10(report.overallUtilizationPct),
    mapping_eff_pct: digits10(report.mappingEfficiencyPct),
    compute_util_pct: digits10(report.computeUtilizationPct),
    sram_ifmap_reads: report.ifmapReads,
    sram_filter_reads: report.filterReads,
    sram_ofmap_writes: report.ofmapWrites,
    dram_ifmap_reads: report.dramIfmapReads,
    dram_filter_reads: report.dramFilterReads,
    dram_ofmap_writes: report.dramOfmapWrites,
    sram_ifmap_first: report.sramCycles.ifmap.first,
    sram_ifmap_last: report.sramCycles.ifmap.last,
    sram_filter_first: report.sramCycles.filter.first,
    sram_filter_last: report.sramCycles.filter.last,
    sram_ofmap_first: report.sramCycles.ofmap.first,
    sram_ofmap_last: report.sramCycles.ofmap.last,
  });
}

function assertBandwidthRow(row: Row): void {
  const report = userReport(layerOf(row), machineOf(row), {
    bandwidthWords: +row.bandwidth_words_per_cycle,
  });
  assertRow(row, {
    total_cycles: report.totalCycles,
    stall_cycles: report.stallCycles,
    overall_util_pct: digits10(report.overallUtilizationPct),
    mapping_eff_pct: digits10(report.mappingEfficiencyPct),
    compute_util_pct: digits10(report.computeUtilizationPct),
    dram_ifmap_reads: report.dramIfmapReads,
    dram_filter_reads: report.dramFilterReads,
    dram_ofmap_writes: report.dramOfmapWrites,
    dram_ofmap_last: report.dramOfmapLastCycle,
  });
}

function assertTraceRow(row: Row): void {
  const array = { rows: +row.rows, cols: +row.cols };
  const { dataflow } = machineOf(row);
  const hashes = Object.fromEntries(
    (["ifmap", "filter", "ofmap"] as const).map((operand) => {
      const text = traceText(layerOf(row), array, { dataflow, operand });
      return [
        `sha256_${operand}`,
        createHash("sha256").update(text).digest("hex"),
      ];
    }),
  );
  assertRow(row, hashes);
}

Deno.test("calcReport() equals embedded SCALE-Sim rows to the digit", () => {
  csvRows(COMPUTE_ROWS).forEach(assertComputeRow);
});

Deno.test("userReport() equals embedded SCALE-Sim v2 rows to the digit", () => {
  csvRows(BANDWIDTH_ROWS).forEach(assertBandwidthRow);
});

Deno.test("traceText() hashes equal to embedded SCALE-Sim traces", () => {
  csvRows(TRACE_ROWS).forEach(assertTraceRow);
});

/** All rows of a table that is there: as many as docs/npu.md says. */
function forEachRow(
  file: string,
  count: number,
  check: (row: Row) => void,
): void {
  const rows = referenceRows(file);
  if (rows === undefined) return;
  assert.equal(rows.length, count);
  rows.forEach(check);
}

for (const [file, count] of Object.entries(COMPUTE_TABLES)) {
  Deno.test(`calcReport() equals every row of ${file} to the digit`, () => {
    forEachRow(file, count, assertComputeRow);
  });
}

Deno.test("userReport() equals every row of bandwidth_v2.csv to the digit", () => {
  forEachRow("bandwidth_v2.csv", 194, assertBandwidthRow);
});

Deno.test("userReport() equals every row of bandwidth_v3.csv in all but stalls, which v3 adds twice", () => {
  forEachRow("bandwidth_v3.csv", 48, (row) => {
    const report = userReport(layerOf(row), machineOf(row), {
      bandwidthWords: +row.bandwidth_words_per_cycle,
    });
    assertRow(row, {
      mapping_eff_pct: digits10(report.mappingEfficiencyPct),
      compute_util_pct: digits10(report.computeUtilizationPct),
      dram_ifmap_reads: report.dramIfmapReads,
      dram_filter_reads: report.dramFilterReads,
    });
    const { stallCycles, totalCycles } = report;
    const stalls = +row.stall_cycles;
    assert(stallCycles <= stalls && stalls <= 2 * stallCycles, row.layer);
    assert.equal(+row.total_cycles - stalls, totalCycles - stallCycles);
  });
});

Deno.test("traceText() hashes equal to every trace of trace_hashes.csv", () => {
  forEachRow("trace_hashes.csv", 117, assertTraceRow);
});

Deno.test("userReport() gives the first and last scratchpad accesses with the stalls before them", () => {
  // SCALE-Sim v2, commit 22f88b1: a 14x68x18 GEMM on 3x16, is, 576 stalls at 1 word per cycle.
  const { sramCycles, stallCycles } = userReport(
    gemmLayer("g", { m: 14, n: 68, k: 18 }),
    {
      array: { rows: 3, cols: 16 },
      dataflow: "is",
      buffers: { ifmapKb: 2, filterKb: 1, ofmapKb: 4 },
    },
    { bandwidthWords: 1 },
  );
  assert.equal(stallCycles, 576);
  const spans = Object.entries(sramCycles).map((
    [operand, { first, last }],
  ) => [operand, first, last]);
  assert.deepEqual(spans, [
    ["ifmap", 1, 738],
    ["filter", 4, 1089],
    ["ofmap", 5, 1101],
  ]);
});

Deno.test("calcReport() counts no words of windows that lie beyond the edge", () => {
  // SCALE-Sim v2, commit 22f88b1, gives these reads for stride 3 over 1-wide filters.
  const reads = (height: number, width: number, channelsIn: number) =>
    calcReport(
      convLayer("c", {
        ifmapH: height,
        ifmapW: width,
        filterH: 4,
        filterW: 1,
        channelsIn,
        channelsOut: 8,
        strideH: 3,
        strideW: 3,
      }),
      {
        array: { rows: 4, cols: 8 },
        dataflow: "os",
        buffers: { ifmapKb: 1, filterKb: 1, ofmapKb: 1 },
      },
    ).dramIfmapReads;
  assert.equal(reads(10, 11, 7), 280);
  assert.equal(reads(11, 2, 9), 99);
});
