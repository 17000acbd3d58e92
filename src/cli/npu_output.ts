/** Tables, CSV and JSON of `shoal npu`. */
import type { NpuConfig } from "../npu/config.ts";
import type { NetworkTime } from "../npu/npu.ts";
import { significant } from "../npu/scalesim/format.ts";
import {
  type CalcReport,
  calcReport,
  type UserReport,
  userReport,
} from "../npu/scalesim/report.ts";
import type { ScaleSimConfig } from "../npu/scalesim/config_cfg.ts";
import type { TopologyLayer } from "../npu/scalesim/topology_csv.ts";

export type OutputForm = "table" | "csv" | "json";
type Cell = string | number;
type Row = Record<string, Cell>;

export function formatNetwork(
  network: NetworkTime,
  { config, batch, form }: {
    config: NpuConfig;
    batch: number;
    form: OutputForm;
  },
): string {
  const rows = network.layers.map(({ layer, time }): Row => ({
    layer: layer.name,
    gemm: layer.gemms.map(({ gemm, copies }) =>
      `${copies > 1 ? `${copies}*` : ""}${gemm.m}x${gemm.n}x${gemm.k}`
    ).join("+"),
    cycles: time.cycles,
    array_cycles: time.arrayCycles,
    stall_cycles: time.stallCycles,
    bound: time.bound,
    utilization_pct: significant(time.utilizationPct, 4),
    dram_read_bytes: time.bytesRead,
    dram_written_bytes: time.bytesWritten,
    needed_gb_per_s: significant(time.neededBytesPerSecond / 1e9, 4),
  }));
  const withScratchpads = rows.map((row, i): Row => {
    const { scratchpad } = network.layers[i].time;
    return {
      ...row,
      sram_ifmap_reads: scratchpad.ifmapReads,
      sram_filter_reads: scratchpad.filterReads,
      sram_ofmap_writes: scratchpad.ofmapWrites,
      sram_ofmap_reads: scratchpad.ofmapReads,
      accumulator_writes: scratchpad.accumulatorWrites,
      accumulator_reads: scratchpad.accumulatorReads,
    };
  });
  const sum = (of: (time: NetworkTime["layers"][number]["time"]) => number) =>
    network.layers.reduce((total, { time }) => total + of(time), 0);
  const macs = sum((time) => time.macs);
  const totals = {
    cycles: network.cycles,
    stall_cycles: sum((time) => time.stallCycles),
    dram_read_bytes: sum((time) => time.bytesRead),
    dram_written_bytes: sum((time) => time.bytesWritten),
    macs,
    utilization_pct: significant(
      100 * macs / (network.cycles * config.array.rows * config.array.cols),
      4,
    ),
    latency_ms: significant(network.latencyNs / 1e6, 6),
    batch_per_s: significant(batch * 1e9 / network.latencyNs, 6),
  };
  if (form === "json") {
    return `${
      JSON.stringify(
        {
          ...{ machine: config, batch },
          layers: withScratchpads.map(inNumbers),
          totals: inNumbers(totals),
        },
        undefined,
        1,
      )
    }\n`;
  }
  if (form === "csv") return csv(withScratchpads);
  const clock = `${config.clockHz / 1e6} MHz`;
  const machine =
    `${config.name}: ${config.array.rows}x${config.array.cols} ${config.dataflow} ` +
    `${config.mode}, ${config.format}, ${clock}, ${
      config.dram.bytesPerSecond / 1e9
    } GB/s, batch ${batch}`;
  const end = Object.entries(totals).map(([name, value]) => `${name} ${value}`)
    .join(", ");
  return `${machine}\n\n${table(rows)}\n${end}\n`;
}

/** What SCALE-Sim reports, column by column as in its own tables. */
export function formatScaleSim(
  layers: readonly TopologyLayer[],
  config: ScaleSimConfig,
  form: OutputForm,
): string {
  // The tool lists a depthwise layer channel by channel.
  const rows = layers.flatMap((layer): Row[] => {
    const row = scaleSimRow(layer, config);
    if (layer.copies === 1) return [{ layer: layer.name, ...row }];
    return Array.from({ length: layer.copies }, (_, channel) => ({
      layer: `${layer.name}Channel_${channel}`,
      ...row,
    }));
  });
  if (form === "json") {
    return `${
      JSON.stringify(
        { machine: config, layers: rows.map(inNumbers) },
        undefined,
        1,
      )
    }\n`;
  }
  return form === "csv" ? csv(rows) : table(rows);
}

/** Columns that are no numbers. */
const TEXTS: readonly string[] = ["layer", "gemm", "bound"];

/** A row for JSON, where figures that tables have as rounded texts are numbers as well. */
function inNumbers(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map((
      [column, cell],
    ) => [column, TEXTS.includes(column) ? cell : Number(cell)]),
  );
}

/** The reference tables' columns; those that only one of the tool's memories has come last. */
function scaleSimRow(layer: TopologyLayer, config: ScaleSimConfig): Row {
  const { bandwidthWords } = config;
  if (bandwidthWords === undefined) {
    const report = calcReport(layer, config);
    return {
      ...scaleSimColumns(layer, { ...report, stallCycles: 0 }),
      total_cycles_incl_prefetch: report.totalCyclesInclPrefetch,
    };
  }
  return scaleSimColumns(layer, userReport(layer, config, { bandwidthWords }));
}

function scaleSimColumns(
  layer: TopologyLayer,
  report: CalcReport & { stallCycles: number } | UserReport,
): Row {
  const { m, n, k } = layer.gemm;
  const { ifmap, filter, ofmap } = report.sramCycles;
  return {
    M: m,
    N: n,
    K: k,
    total_cycles: report.totalCycles,
    stall_cycles: report.stallCycles,
    overall_util_pct: significant(report.overallUtilizationPct, 10),
    mapping_eff_pct: significant(report.mappingEfficiencyPct, 10),
    compute_util_pct: significant(report.computeUtilizationPct, 10),
    sram_ifmap_reads: report.ifmapReads,
    sram_filter_reads: report.filterReads,
    sram_ofmap_writes: report.ofmapWrites,
    dram_ifmap_reads: report.dramIfmapReads,
    dram_filter_reads: report.dramFilterReads,
    dram_ofmap_writes: report.dramOfmapWrites,
    sram_ifmap_first: ifmap.first,
    sram_ifmap_last: ifmap.last,
    sram_filter_first: filter.first,
    sram_filter_last: filter.last,
    sram_ofmap_first: ofmap.first,
    sram_ofmap_last: ofmap.last,
    dram_ofmap_last: report.dramOfmapLastCycle,
  };
}

function csv(rows: readonly Row[]): string {
  const quoted = (cell: Cell) =>
    /[",\n]/.test(String(cell))
      ? `"${String(cell).replaceAll('"', '""')}"`
      : cell;
  const lines = [
    Object.keys(rows[0]),
    ...rows.map((row) => Object.values(row).map(quoted)),
  ];
  return lines.map((cells) => cells.join(",")).join("\n") + "\n";
}

function table(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0]);
  const widths = columns.map((name) =>
    Math.max(name.length, ...rows.map((row) => String(row[name]).length))
  );
  const line = (cells: readonly Cell[], isText: (i: number) => boolean) =>
    cells.map((cell, i) =>
      isText(i)
        ? String(cell).padEnd(widths[i])
        : String(cell).padStart(widths[i])
    ).join("  ").trimEnd();
  const isText = (i: number) => Number.isNaN(Number(rows[0][columns[i]]));
  return [
    line(columns, isText),
    ...rows.map((row) => line(Object.values(row), isText)),
  ].join("\n") + "\n";
}
