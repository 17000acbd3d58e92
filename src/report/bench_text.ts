/** A bench's result as text for a terminal: tables, what they come to, what their columns mean. */
import type { BenchResult, ModelResult } from "./bench_result.ts";
import {
  benchTable,
  curvesTable,
  overviewTable,
  peaksTable,
} from "./bench_table.ts";
import {
  modelConclusion,
  NOISE_RULE,
  overallConclusion,
} from "./conclusion.ts";
import { formatCount, formatNumber } from "./format.ts";
import { renderLegend, renderTable, type Table } from "./table.ts";
import { wrap } from "./wrap.ts";

/** Cells of a model whose curves are printed; the report shows them all. */
const CURVES_PRINTED = 8;

export interface BenchTextOptions {
  readonly color: boolean;
  /** Where report and traces are. */
  readonly folder: string;
}

/** No line is longer than LINE_MAX characters, colours apart. Ends in a newline. */
export function benchText(
  result: BenchResult,
  { color, folder }: BenchTextOptions,
): string {
  const { models, size } = result;
  const shown: Table[] = [];
  const table = (one: Table) => {
    shown.push(one);
    return renderTable(one, { color });
  };
  const parts = [
    lines(
      result.command,
      `${machineText(result.machine)}; seed ${result.seed}`,
      `size ${size.class}: ${size.why}`,
    ),
    ...models.flatMap((model) => modelParts(model, folder, table)),
    ...(models.length > 1
      ? [
        lines(`All models. ${overallConclusion(models)}`),
        table(overviewTable(models)),
      ]
      : []),
    `${renderLegend(shown)}${lines(NOISE_RULE)}`,
    lines(`report: ${folder}/report.html`),
  ];
  return parts.join("\n");
}

function modelParts(
  model: ModelResult,
  folder: string,
  table: (one: Table) => string,
): string[] {
  const sizes = Object.entries(model.sizes).map(([key, value]) =>
    `${key} ${value}`
  ).join(", ");
  const curves = model.batchCurves ?? [];
  return [
    lines(
      `${model.name} (${sizes}; ${model.workers} worker(s); ${model.workload})`,
      modelConclusion(model),
      `serial capacity ${formatNumber(model.serialCapacityPerS)}/s`,
      ...(model.notes ?? []),
      ...traceLines(model, folder),
    ),
    table(benchTable(model)),
    table(peaksTable(model, { setUp: false })),
    curves.length > CURVES_PRINTED
      ? lines(
        `rows/s of its ${curves.length} cells by rows in their batch: see the report`,
      )
      : curves.length > 0
      ? table(curvesTable(curves))
      : "",
  ].filter((part) => part !== "");
}

function traceLines({ name, points }: ModelResult, folder: string): string[] {
  const traces = points.flatMap(({ trace }) => trace ?? []);
  if (traces.length === 0) return [];
  const { requests, of } = traces[0];
  const part = requests < of
    ? `first ${formatCount(requests)} of ${formatCount(of)} requests`
    : `all ${formatCount(of)} requests`;
  return [`traces: ${folder}/${name}-POLICY-LOAD.trace.json, ${part} of each`];
}

function lines(...texts: readonly string[]): string {
  return texts.map((text) => `${wrap(text, "  ")}\n`).join("");
}

/** The machine in a line, numbers with what they count. */
function machineText(machine: BenchResult["machine"]): string {
  const units: Readonly<Record<string, string>> = {
    cores: "cores",
    memoryGiB: "GiB",
  };
  return Object.entries(machine).map(([name, value]) =>
    name in units ? `${value} ${units[name]}` : `${value}`
  ).join(", ");
}
