import type { BatchCurve, BenchPoint, ModelResult } from "./bench_result.ts";
import { loadsOf, p90OfPartsNs, policiesOf } from "./bench_result.ts";
import { formatMs, formatNumber, formatRatio, formatShare } from "./format.ts";
import type { Column, Table, TableCell } from "./table.ts";

/** Policies that ratios are given against: the first of these lists of which a model has any. */
const DEFAULT_BASELINES: readonly (readonly string[])[] = [[
  "graph",
  "bucketed",
], ["merged"]];

/** A ratio has to differ from 1 by more than this to be called better or worse. */
const TONE_MARGIN = 0.02;

interface Measure extends Column {
  readonly meaning: string;
  readonly of: (point: Pick<BenchPoint, "metrics" | "p90OfRoundsNs">) => string;
}

const POLICY: Column = {
  title: "policy",
  align: "left",
  meaning: "who decides which requests advance together",
};

const DONE: Measure = {
  title: "done",
  meaning: "requests answered",
  of: ({ metrics }) => `${metrics.requests.done}`,
};

const MEASURES: readonly Measure[] = [
  DONE,
  {
    title: "req/s",
    meaning:
      "requests answered per second, from first arrival to last departure",
    of: ({ metrics }) => formatNumber(metrics.throughputPerS),
  },
  ...([["p50", 50], ["p90", 90], ["p99", 99]] as const).map((
    [name, share],
  ): Measure => ({
    title: `${name} ms`,
    meaning:
      `latency that ${share} % of the requests did not exceed, from when they were due to arrive, milliseconds`,
    of: ({ metrics }) => formatMs(metrics.latency[`${name}Ns`]),
  })),
  {
    title: "p90 spread",
    meaning:
      "lowest and highest p90 among the rounds, or among the five consecutive fifths of a single one, milliseconds",
    of: (point) => formatSpread(p90OfPartsNs(point)),
  },
  {
    title: "queue ms",
    meaning: "mean time before a request's first task, milliseconds",
    of: ({ metrics }) => formatMs(metrics.queueing.meanNs),
  },
  {
    title: "compute ms",
    meaning: "mean time from there to its departure, milliseconds",
    of: ({ metrics }) => formatMs(metrics.compute.meanNs),
  },
  {
    title: "rows/task",
    meaning: "rows that advanced a request, per batched task",
    of: ({ metrics }) => formatNumber(metrics.batch.meanRows),
  },
  {
    title: "pad %",
    meaning: "rows (or tokens) computed only to fill a shape, of all",
    of: ({ metrics }) => formatShare(metrics.paddingShare),
  },
  {
    title: "spec %",
    meaning: "rows submitted ahead that lay behind their request's end, of all",
    of: ({ metrics }) => formatShare(metrics.speculativeShare),
  },
  {
    title: "busy %",
    meaning: "time that workers spent in tasks, of all their time",
    of: ({ metrics }) => formatShare(metrics.utilisation),
  },
];

/** Where requests have deadlines. */
const LATE: Measure = {
  title: "late %",
  meaning:
    "requests that were refused or done after their deadline, of those that had one",
  of: ({ metrics: { deadlines } }) =>
    formatShare(deadlines.violated / deadlines.requests),
};

/** Against a baseline at the same load. */
function ratioColumns(baseline: string): Column[] {
  return [
    {
      title: `p90/${baseline}`,
      kind: "p90/NAME",
      meaning:
        "p90 over that of policy NAME at the same load; below 1 is better",
    },
    {
      title: `req/${baseline}`,
      kind: "req/NAME",
      meaning:
        "req/s over that of policy NAME at the same load; above 1 is better",
      joined: true,
    },
  ];
}

/**
 * The points of a model, load by load: figures, then p90 and throughput as ratios to each baseline
 * at the same load (a p90 ratio below 1 and a throughput ratio above 1 are better).
 * @param options.baselines default: `graph` and `bucketed`; `merged` for a model that has neither
 * @param options.traces whether rows link to their trace, where there is one
 */
export function benchTable(
  model: ModelResult,
  options: { baselines?: readonly string[]; traces?: boolean } = {},
): Table {
  const has = (name: string) =>
    model.points.some(({ policy }) => policy === name);
  const present = (options.baselines ??
    DEFAULT_BASELINES.find((names) => names.some(has)) ?? [])
    .filter(has);
  const rows: (TableCell[] | null)[] = [];
  for (const load of loadsOf(model)) {
    const points = model.points.filter(({ loadName }) => loadName === load);
    if (rows.length > 0) rows.push(null);
    for (const point of points) {
      rows.push([
        { text: load },
        { text: point.policy },
        ...(options.traces ? [traceLink(point)] : []),
        { text: formatNumber(point.offeredPerS) },
        ...MEASURES.map(({ of }) => ({ text: of(point) })),
        ...present.flatMap((name) =>
          ratios(point, points.find(({ policy }) => policy === name))
        ),
      ]);
    }
  }
  return {
    keys: 2,
    columns: [
      {
        title: "load",
        align: "left",
        meaning: `what arrives: ${loadShares(model)} of the best policy's peak`,
      },
      POLICY,
      ...(options.traces
        ? [{
          title: "trace",
          align: "left" as const,
          meaning: "what every worker and request did, for ui.perfetto.dev",
        }]
        : []),
      { title: "due/s", meaning: "requests that arrive per second" },
      ...MEASURES,
      ...present.flatMap(ratioColumns),
    ],
    rows,
  };
}

function traceLink({ trace }: BenchPoint): TableCell {
  return trace === undefined
    ? { text: "" }
    : { text: "trace", href: trace.file };
}

/** "low 25 %, medium 60 %, high 90 %" */
function loadShares(model: ModelResult): string {
  const bestPerS = Math.max(...Object.values(model.peaksPerS));
  return loadsOf(model).map((load) => {
    const { offeredPerS } = model.points.find(({ loadName }) =>
      loadName === load
    )!;
    return `${load} ${(100 * offeredPerS / bestPerS).toFixed(0)} %`;
  }).join(", ");
}

/** One line per run, without ratios. */
export function metricsTable(
  runs: readonly Pick<BenchPoint, "policy" | "metrics">[],
): Table {
  const hasDeadlines = runs.some(({ metrics }) =>
    metrics.deadlines.requests > 0
  );
  const measures = hasDeadlines ? [...MEASURES, LATE] : MEASURES;
  return {
    columns: [POLICY, ...measures],
    rows: runs.map((run) => [
      { text: run.policy },
      ...measures.map(({ of }) => ({ text: of(run) })),
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
  const loads = [...new Set(models.flatMap(loadsOf))].join(" / ");
  return {
    columns: [
      POLICY,
      ...models.flatMap(({ name }): Column[] => [
        {
          title: name,
          kind: "MODEL",
          meaning:
            `p90 in milliseconds at ${loads} load; empty: cannot batch it`,
        },
        {
          title: "peak",
          meaning: "requests per second when all are there from the start",
          joined: true,
        },
      ]),
    ],
    rows: policiesOf(models).map((policy) => [
      { text: policy },
      ...models.flatMap((model) =>
        figures(model, policy).map((text) => ({ text }))
      ),
    ]),
  };
}

/**
 * Peaks by policy, and as ratios to the serial capacity.
 * @param options.setUp whether to say how each policy was set up
 */
export function peaksTable(
  model: ModelResult,
  options: { setUp: boolean },
): Table {
  return {
    columns: [
      POLICY,
      {
        title: "peak req/s",
        meaning: "requests per second when all are there from the start",
      },
      {
        title: "/serial",
        meaning: "that over the serial capacity, one request after the other",
      },
      ...(options.setUp
        ? [{
          title: "set up",
          align: "left" as const,
          meaning: "the policy's options",
        }]
        : []),
    ],
    rows: Object.entries(model.peaksPerS).map(([policy, peakPerS]) => [
      { text: policy },
      { text: formatNumber(peakPerS) },
      { text: formatRatio(peakPerS / model.serialCapacityPerS) },
      ...(options.setUp ? [{ text: model.policies?.[policy] ?? "" }] : []),
    ]),
  };
}

/** Rows per second of every cell by the rows in its batch, in the fastest of several turns. */
export function curvesTable(curves: readonly BatchCurve[]): Table {
  const sizes = [
    ...new Set(curves.flatMap(({ points }) => points.map(({ rows }) => rows))),
  ].sort((a, b) => a - b);
  return {
    columns: [
      {
        title: "cell",
        align: "left",
        meaning: "a part of the model that batches",
      },
      ...sizes.map((size) => ({
        title: `${size}`,
        kind: "1, 2, ...",
        meaning:
          "rows per second of the cell in batches of so many rows, nothing else running",
      })),
    ],
    rows: curves.map(({ cell, points }) => [
      { text: cell },
      ...sizes.map((size) => ({
        text: formatNumber(
          points.find(({ rows }) => rows === size)?.rowsPerS ?? null,
        ),
      })),
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
