/** What the soak found, as tables and as JSON. */
import {
  formatNumber,
  formatShare,
  NO_FIGURE,
} from "../../src/report/format.ts";
import {
  renderTable,
  type Table,
  type TableCell,
} from "../../src/report/table.ts";
import type { LogHistogram } from "./histogram.ts";
import type { Ledger } from "./ledger.ts";
import type { SoakSettings } from "./settings.ts";

/** Bytes. */
export interface MemoryUse {
  readonly rss: number;
  readonly heap: number;
}

export interface Phase {
  readonly name: string;
  readonly ledger: Ledger;
  /** Time in which requests arrived. */
  readonly seconds: number;
  /** Arrivals that were due; undefined in a closed loop. */
  readonly duePerS: number | undefined;
  /** Answers within that time by model: what it took to end the rest is not goodput's. */
  readonly doneInTime: Readonly<Record<string, number>>;
  readonly before: MemoryUse;
  readonly after: MemoryUse;
  /** What other processes took of the machine's cores. */
  readonly othersShare: number;
}

export interface Soaked {
  readonly warm: Phase;
  /** Closed loop, one model at a time. */
  readonly alone: readonly Phase[];
  /** The peak's, then the others in order. */
  readonly phases: readonly Phase[];
}

interface Column {
  readonly title: string;
  of(phase: Phase, peak: Phase): string | TableCell;
}

const count = (value: number): string => `${value}`;
const mebi = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
const rate = (value: number): string => value.toFixed(0);

function fault(value: number): TableCell {
  return { text: `${value}`, ...(value > 0 && { tone: "worse" }) };
}

/** Answers a second. */
export function goodput({ doneInTime, seconds }: Phase): number {
  return Object.values(doneInTime).reduce((sum, done) => sum + done, 0) /
    seconds;
}

/**
 * Time that the answers of a second would take each model alone at its peak: under overload a policy may
 * answer the cheapest model's requests only.
 */
function work(
  { doneInTime, seconds }: Phase,
  alone: readonly Phase[],
): number {
  return alone.reduce((sum, phase) => {
    const [model] = Object.keys(phase.doneInTime);
    return sum + (doneInTime[model] ?? 0) / seconds / goodput(phase);
  }, 0);
}

const name: Column = { title: "load", of: ({ name }) => name };

const ENDS: readonly Column[] = [
  name,
  {
    title: "offered/s",
    of: ({ ledger, seconds }) => rate(ledger.offered / seconds),
  },
  { title: "goodput/s", of: (phase) => rate(goodput(phase)) },
  {
    title: "% of peak",
    of: (phase, peak) => formatShare(goodput(phase) / goodput(peak)),
  },
  { title: "done", of: ({ ledger }) => count(ledger.counts.done) },
  { title: "expired", of: ({ ledger }) => count(ledger.counts.expired) },
  { title: "cancel", of: ({ ledger }) => count(ledger.counts.cancelled) },
  { title: "full", of: ({ ledger }) => count(ledger.counts.queueFull) },
  { title: "bad", of: ({ ledger }) => count(ledger.counts.badInput) },
  { title: "wrong", of: ({ ledger }) => fault(ledger.counts.wrong) },
  { title: "lost", of: ({ ledger }) => fault(ledger.counts.lost) },
  { title: "double", of: ({ ledger }) => fault(ledger.counts.doubled) },
  { title: "other", of: ({ ledger }) => fault(ledger.counts.unexpected) },
];

const TIMES: readonly Column[] = [
  name,
  ...percentiles("latency", ({ latencyMs }) => latencyMs, [0.5, 0.99]),
  ...percentiles("late", ({ latenessMs }) => latenessMs, [0.5, 0.99, 1]),
  ...percentiles("task", ({ taskMs }) => taskMs, [0.5, 1]),
  ...percentiles("arrival", ({ submittedLateMs }) => submittedLateMs, [
    0.5,
    0.99,
  ]),
  ...percentiles("loop", ({ loopDelayMs }) => loopDelayMs, [0.99, 1]),
];

const MEMORY: readonly Column[] = [
  name,
  ...(["rss", "heap"] as const).flatMap((what): Column[] => [
    {
      title: `${what} before`,
      of: ({ before }) => mebi(before[what]),
    },
    { title: "after", of: ({ after }) => mebi(after[what]) },
    {
      title: "growth",
      of: ({ before, after }) => mebi(after[what] - before[what]),
    },
  ]),
  { title: "others' CPU %", of: ({ othersShare }) => formatShare(othersShare) },
];

function percentiles(
  title: string,
  of: (ledger: Ledger) => LogHistogram,
  shares: readonly number[],
): Column[] {
  return shares.map((share, i) => ({
    title: `${i === 0 ? `${title} ` : ""}${
      share === 1 ? "max" : `p${100 * share}`
    }`,
    of: ({ ledger }) => {
      const values = of(ledger);
      return formatNumber(share === 1 ? values.max : values.percentile(share));
    },
  }));
}

function table(columns: readonly Column[], phases: readonly Phase[]): Table {
  const [peak] = phases;
  return {
    columns: columns.map(({ title }, i) => ({
      title,
      align: i === 0 ? "left" : "right",
    })),
    rows: phases.map((phase) =>
      columns.map(({ of }) => {
        const cell = of(phase, peak);
        return typeof cell === "string" ? { text: cell } : cell;
      })
    ),
  };
}

export function soakTables(
  settings: SoakSettings,
  { alone, phases }: Soaked,
  options: { color: boolean },
): string {
  const { minutes, policy, workers, seed } = settings;
  const models = alone.flatMap(({ doneInTime }) => Object.keys(doneInTime));
  const byModel: Column[] = [
    name,
    ...models.map((model): Column => ({
      title: `${model}/s`,
      of: ({ doneInTime, seconds }) => rate((doneInTime[model] ?? 0) / seconds),
    })),
    {
      title: "work, % of peak",
      of: (phase, peak) => formatShare(work(phase, alone) / work(peak, alone)),
    },
    {
      title: "due/s",
      of: ({ duePerS }) => duePerS === undefined ? NO_FIGURE : rate(duePerS),
    },
    { title: "given up", of: ({ ledger }) => count(ledger.skipped) },
    {
      title: "past deadline",
      of: ({ ledger }) => count(ledger.afterDeadline),
    },
  ];
  const parts: [string, readonly Column[]][] = [
    [
      "how requests ended (full: refused by a full queue; the last four columns are faults):",
      ENDS,
    ],
    [
      "ms: latency; refusals after their deadline (late); tasks; arrivals submitted and timers called\n" +
      "after they were due (arrival, loop):",
      TIMES,
    ],
    [
      "answers of each model, and what they are worth by its own peak; arrivals due and those the\n" +
      "generator gave up; answers that were started in time and ended past the deadline:",
      byModel,
    ],
    ["MiB; share of the machine's cores that other processes took:", MEMORY],
  ];
  const head =
    `soak: ${minutes} min, ${policy}, ${workers} worker(s), seed ${seed}\n` +
    `peaks: ${
      alone.map((phase) => `${phase.name} ${rate(goodput(phase))}/s`).join(", ")
    }\n`;
  return head +
    parts.map(([title, columns]) =>
      `\n${title}\n\n${renderTable(table(columns, phases), options)}`
    ).join("");
}

/** Everything the tables show, as numbers; times in milliseconds, memory in bytes. */
export function soakJson(
  settings: SoakSettings,
  { alone, phases }: Soaked,
): unknown {
  const [peak] = phases;
  return {
    ...settings,
    alonePerS: Object.fromEntries(
      alone.flatMap((phase) =>
        Object.keys(phase.doneInTime).map((model) => [model, goodput(phase)])
      ),
    ),
    phases: phases.map((phase) => {
      const { ledger, name, seconds, duePerS, before, after } = phase;
      return {
        name,
        seconds,
        duePerS,
        offeredPerS: ledger.offered / seconds,
        goodputPerS: goodput(phase),
        ofPeak: goodput(phase) / goodput(peak),
        workOfPeak: work(phase, alone) / work(peak, alone),
        counts: ledger.counts,
        afterDeadline: ledger.afterDeadline,
        skipped: ledger.skipped,
        doneByModel: ledger.doneByModel,
        latencyMs: summary(ledger.latencyMs),
        latenessMs: summary(ledger.latenessMs),
        taskMs: summary(ledger.taskMs),
        submittedLateMs: summary(ledger.submittedLateMs),
        loopDelayMs: summary(ledger.loopDelayMs),
        memory: { before, after },
        othersShare: phase.othersShare,
      };
    }),
  };
}

function summary(values: LogHistogram): Record<string, number> {
  return {
    count: values.count,
    p50: values.percentile(0.5),
    p99: values.percentile(0.99),
    max: values.max,
  };
}
