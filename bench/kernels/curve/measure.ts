/** Measures a kernel's rate over the rows of its batch, ours and the peers', and what bounds ours. */
import { contest, type Effort, median, type Result } from "../contest.ts";
import type { Own } from "../own.ts";
import type { Peer } from "../peers/peer.ts";
import type { Peaks } from "../probes.ts";
import { readingRate } from "../reading_rate.ts";
import { boundRate, fallingRows } from "./bound.ts";
import { type CurveKind, type CurveTask, curveTasks } from "./kinds.ts";

/** One of our contestants. */
export interface CurveBuild {
  own: Own;
  threads: number;
}

/** What is measured, with what and how long. */
export interface CurveSettings {
  /** Of the same bits: on one thread, and where there are more, on all of them. */
  builds: readonly CurveBuild[];
  peers: readonly Peer[];
  rows: readonly number[];
  /** Bytes of weights, a curve each. */
  weights: readonly number[];
  seed: number;
  peaks: Peaks;
  effort: Effort;
  onPoint(label: string): void;
}

/** What bounds one of our contestants at a point, in units of the rates. */
export interface Bounds {
  /** Weights read once, then arithmetic at the kernel's own best rate, on as many threads. */
  kernel: number;
  /** Weights read once, then arithmetic at the rate of the register-only probe, times threads. */
  probe: number;
}

/** One number of rows. */
export interface CurvePoint extends Result {
  rows: number;
  /** By our builds. */
  bounds: Record<string, Bounds>;
  /** Rate on all threads over that on one, medians of the runs; absent on one thread. */
  scaling?: number;
}

/** One kernel against weights of one size. */
export interface Curve {
  kind: string;
  /** Sizes of the kernel. */
  label: string;
  unit: Result["unit"];
  weightBytes: number;
  /** By our builds. */
  threads: Record<string, number>;
  /** By our builds: reading the same memory and nothing else on as many threads. */
  readGBps: Record<string, number>;
  /** By our builds: the kernel's own best rate at any point here, and with 64 rows against 512 KiB. */
  fullRate: Record<string, number>;
  /** By our builds: the register-only probe's rate, times threads. */
  probeRate: Record<string, number>;
  points: CurvePoint[];
  /** By contestant: rows at which it is slower than at fewer rows. */
  falls: Record<string, number[]>;
}

/** Where a kernel is known to reach its best rate: in cache, with many rows. */
const FULL_BYTES = 512 * 2 ** 10;
const FULL_ROWS = [64, 32, 16, 8, 4, 2, 1];

/** A point before the bounds are known. */
interface Measured {
  rows: number;
  weightBytes: number;
  count: number;
  result: Result;
}

/** Curves of one kernel, one for each size of weights at which it makes sense. */
export async function measureCurves(
  kind: CurveKind,
  settings: CurveSettings,
): Promise<Curve[]> {
  const { builds, rows, weights, seed, peaks } = settings;
  const measured: { bytes: number; read: number[]; points: Measured[] }[] = [];
  for (const bytes of weights) {
    const points: Measured[] = [];
    let read = builds.map(() => 0);
    let readBytes = 0;
    const readAgain = async () => {
      const again = await readRates(builds, readBytes);
      read = read.map((rate, i) => Math.max(rate, again[i]));
    };
    for (const one of curveTasks(kind, { bytes, rows, seed })) {
      points.push(await measurePoint(one, settings));
      if (readBytes > 0) continue;
      readBytes = one.weightBytes;
      await readAgain();
    }
    if (points.length === 0) continue;
    await readAgain();
    measured.push({ bytes, read, points });
  }
  if (measured.length === 0) return [];
  const all = measured.flatMap(({ points }) => points);
  const full = await measureFull(kind, settings);
  const fullRates = builds.map(({ own: { name } }) =>
    Math.max(...[...all.map(({ result }) => result), full]
      .map(({ rates }) => rates[name]))
  );
  const probes = builds.map(({ threads }) => threads * kind.probe(peaks));
  const perBuild = <Value>(value: (i: number) => Value) =>
    Object.fromEntries(builds.map(({ own }, i) => [own.name, value(i)]));
  return measured.map(({ read, points }) => {
    const [{ weightBytes, result: { label, unit } }] = points;
    return {
      kind: kind.name,
      label: label.slice(kind.name.length).replace(/ m=\d+ /, ""),
      ...{ unit, weightBytes },
      threads: perBuild((i) => builds[i].threads),
      readGBps: perBuild((i) => read[i]),
      fullRate: perBuild((i) => fullRates[i]),
      probeRate: perBuild((i) => probes[i]),
      points: points.map(({ rows, weightBytes, count, result }) => {
        const bound = (i: number, fullRate: number) =>
          boundRate({ count, bytes: weightBytes, readGBps: read[i], fullRate });
        return {
          ...result,
          rows,
          bounds: perBuild((i) => ({
            kernel: bound(i, fullRates[i]),
            probe: bound(i, probes[i]),
          })),
          ...(builds.length > 1 && {
            scaling: scalingOf(result, builds[0].own, builds[1].own),
          }),
        };
      }),
      falls: fallsOf(points),
    };
  });
}

async function measurePoint(
  { rows, task, weightBytes }: CurveTask,
  { builds, peers, effort, onPoint }: CurveSettings,
): Promise<Measured> {
  onPoint(task.label);
  const result = await contest(
    task,
    builds.map(({ own }) => own),
    peers,
    effort,
  );
  const [first, ...others] = Object.values(result.hashes);
  if (others.some((hash) => hash !== first)) {
    throw new Error(`${task.label}: more threads give other bits`);
  }
  return { rows, weightBytes, count: task.count, result };
}

/** The kernel in cache, with as many rows as there can be. */
async function measureFull(
  kind: CurveKind,
  settings: CurveSettings,
): Promise<Result> {
  const { seed } = settings;
  for (const rows of FULL_ROWS) {
    const given = { bytes: FULL_BYTES, rows: [rows], seed };
    for (const one of curveTasks(kind, given)) {
      return (await measurePoint(one, { ...settings, peers: [] })).result;
    }
  }
  throw new RangeError(`${kind.name} has no case of ${FULL_BYTES} bytes`);
}

/** GB/s of each of our contestants, from where its operands lie. */
async function readRates(
  builds: readonly CurveBuild[],
  bytes: number,
): Promise<number[]> {
  const rates: number[] = [];
  for (const { own: { memory, base }, threads } of builds) {
    rates.push(await readingRate({ memory, from: base, bytes }, threads));
  }
  return rates;
}

function fallsOf(points: readonly Measured[]): Record<string, number[]> {
  const names = Object.keys(points[0].result.rates);
  return Object.fromEntries(names.map((name) => [
    name,
    fallingRows(points.map(({ rows, count, result: { timesNs } }) => ({
      rows,
      runs: timesNs[name].map((ns) => count / ns),
    }))),
  ]));
}

function scalingOf({ timesNs }: Result, one: Own, many: Own): number {
  return median(
    timesNs[one.name].map((ns, run) => ns / timesNs[many.name][run]),
  );
}
