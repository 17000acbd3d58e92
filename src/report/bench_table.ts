import type { BenchPoint, ModelResult } from "./bench_result.ts";
import { loadsOf, policiesOf } from "./bench_result.ts";
import { formatMs, formatNumber, formatRatio, formatShare } from "./format.ts";
import type { Table, TableCell } from "./table.ts";

/** Policies that ratios are given against: the first of these lists of which a model has any. */
const DEFAULT_BASELINES: readonly (readonly string[])[] = [[
  "graph",
  "bucketed",
], ["merged"]];

/** A ratio has to differ from 1 by more than this to be called better or worse. */
const TONE_MARGIN = 0.02;

interface Measure {
  readonly title: string;
  readonly of: (point: Pick<BenchPoint, "metrics">) => string;
}

const MEASURES: readonly Measure[] = [
  { title: "req/s", of: ({ metrics }) => formatNumber(metrics.throughputPerS) },
  { title: "p50 ms", of: ({ metrics }) => formatMs(metrics.latency.p50Ns) },
  { title: "p90 ms", of: ({ metrics }) => formatMs(metrics.latency.p90Ns) },
  { title: "p99 ms", of: ({ metrics }) => formatMs(metrics.latency.p99Ns) },
  {
    title: "p90 spread",
    of: ({ metrics }) => formatSpread(metrics.p90OfFifthsNs),
  },
  { title: "queue ms", of: ({ metrics }) => formatMs(metrics.queueing.meanNs) },
  {
    title: "compute ms",
    of: ({ metrics }) => formatMs(metrics.compute.meanNs),
  },
  {
    title: "rows/task",
    of: ({ metrics }) => formatNumber(metrics.batch.meanRows),
  },
  { title: "pad %", of: ({ metrics }) => formatShare(metrics.paddingShare) },
  {
    title: "spec %",
    of: ({ metrics }) => formatShare(metrics.speculativeShare),
  },
  { title: "busy %", of: ({ metrics }) => formatShare(metrics.utilisation) },
];

/**
 * The points of a model, load by load: figures, then p90 and throughput as ratios to each baseline
 * at the same load (a p90 ratio below 1 and a throughput ratio above 1 are better).
 * @param baselines default: `graph` and `bucketed`; `merged` for a model that has neither
 */
export function benchTable(
  model: ModelResult,
  baselines?: readonly string[],
): Table {
  const has = (name: string) =>
    model.points.some(({ policy }) => policy === name);
  const present =
    (baselines ?? DEFAULT_BASELINES.find((names) => names.some(has)) ?? [])
      .filter(has);
  const rows: (TableCell[] | null)[] = [];
  for (const load of loadsOf(model)) {
    const points = model.points.filter(({ loadName }) => loadName === load);
    if (rows.length > 0) rows.push(null);
    for (const point of points) {
      rows.push([
        { text: `${load} (${formatNumber(point.offeredPerS)}/s)` },
        { text: point.policy },
        { text: `${point.metrics.requests.done}` },
        ...MEASURES.map(({ of }) => ({ text: of(point) })),
        ...present.flatMap((name) =>
          ratios(point, points.find(({ policy }) => policy === name))
        ),
      ]);
    }
  }
  return {
    columns: [
      { title: "load", align: "left" },
      { title: "policy", align: "left" },
      { title: "done" },
      ...MEASURES.map(({ title }) => ({ title })),
      ...present.flatMap((
        name,
      ) => [{ title: `p90/${name}` }, { title: `req/${name}` }]),
    ],
    rows,
  };
}

/** One line per run, without ratios. */
export function metricsTable(
  runs: readonly Pick<BenchPoint, "policy" | "metrics">[],
): Table {
  return {
    columns: [
      { title: "policy", align: "left" },
      { title: "done" },
      ...MEASURES.map(({ title }) => ({ title })),
    ],
    rows: runs.map((run) => [
      { text: run.policy },
      { text: `${run.metrics.requests.done}` },
      ...MEASURES.map(({ of }) => ({ text: of(run) })),
    ]),
  };
}

/** Every policy and model: p90 latency load by load, then the peak; nothing where a policy cannot batch a model. */
export function overviewTable(models: readonly ModelResult[]): Table {
  const figures = ({ points, peaksPerS }: ModelResult, policy: string) => {
    const own = points.filter((point) => point.policy === policy);
    if (own.length === 0) return ["", ""];
    const latencies = own.map(({ metrics }) => formatMs(metrics.latency.p90Ns));
    return [latencies.join(" / "), formatNumber(peaksPerS[policy] ?? null)];
  };
  return {
    columns: [
      { title: "policy", align: "left" },
      ...models.flatMap(({ name }) => [{ title: name }, { title: "peak" }]),
    ],
    rows: policiesOf(models).map((policy) => [
      { text: policy },
      ...models.flatMap((model) =>
        figures(model, policy).map((text) => ({ text }))
      ),
    ]),
  };
}

/** Peaks by policy, and as ratios to the serial capacity. */
export function peaksTable(model: ModelResult): Table {
  return {
    columns: [{ title: "policy", align: "left" }, { title: "peak req/s" }, {
      title: "/ serial capacity",
    }, {
      title: "set up",
      align: "left",
    }],
    rows: Object.entries(model.peaksPerS).map(([policy, peakPerS]) => [
      { text: policy },
      { text: formatNumber(peakPerS) },
      { text: formatRatio(peakPerS / model.serialCapacityPerS) },
      { text: model.policies?.[policy] ?? "" },
    ]),
  };
}

function ratios(
  point: BenchPoint,
  baseline: BenchPoint | undefined,
): TableCell[] {
  if (baseline === undefined || baseline === point) {
    return [{ text: "" }, { text: "" }];
  }
  const latency = ratio(
    point.metrics.latency.p90Ns,
    baseline.metrics.latency.p90Ns,
  );
  const throughput = ratio(
    point.metrics.throughputPerS,
    baseline.metrics.throughputPerS,
  );
  return [
    { text: formatRatio(latency), ...tone(1 / latency) },
    { text: formatRatio(throughput), ...tone(throughput) },
  ];
}

/** NaN when one of the figures is missing, which is null in a result read from JSON. */
function ratio(a: number, b: number): number {
  return Number.isFinite(a) && Number.isFinite(b) ? a / b : NaN;
}

/** @param gain above 1 is better */
function tone(gain: number): Pick<TableCell, "tone"> {
  if (gain > 1 + TONE_MARGIN) return { tone: "better" };
  return gain < 1 - TONE_MARGIN ? { tone: "worse" } : {};
}

/** Lowest and highest p90 among the fifths of a run. */
function formatSpread(p90OfFifthsNs: readonly number[]): string {
  if (p90OfFifthsNs.length === 0) return "–";
  return `${formatMs(Math.min(...p90OfFifthsNs))}..${
    formatMs(Math.max(...p90OfFifthsNs))
  }`;
}
