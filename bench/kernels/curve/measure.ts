/** Measures a kernel's rate over the rows of its batch, ours and the peers', and what bounds ours. */
import { median } from "../../median.ts";
import { type Contest, type Effort, enter, type Result } from "../contest.ts";
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
interface MeasuredPoint {
  rows: number;
  weightBytes: number;
  count: number;
  result: Result;
}

/** A curve before the bounds are known. */
interface Measured {
  /** Of reading, by our builds, GB/s. */
  read: readonly number[];
  points: readonly MeasuredPoint[];
}

/** Curves of one kernel, one for each size of weights at which it makes sense. */
export async function measureCurves(
  kind: CurveKind,
  settings: CurveSettings,
): Promise<Curve[]> {
  const { builds, weights, peaks } = settings;
  const measured: Measured[] = [];
  for (const bytes of weights) {
    const one = await measureRows(kind, bytes, settings);
    if (one.points.length > 0) measured.push(one);
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

/**
 * All numbers of rows. Every run goes over all of them, so that a slow moment of the machine, which may last longer
 * than all runs of one, leaves each the others.
 */
async function measureRows(
  kind: CurveKind,
  bytes: number,
  settings: CurveSettings,
): Promise<Measured> {
  const { builds, rows, seed, effort: { runs } } = settings;
  const entered: (CurveTask & { contest: Contest })[] = [];
  let read = builds.map(() => 0);
  const readAgain = async () => {
    const again = await readRates(builds, entered[0].weightBytes);
    read = read.map((rate, i) => Math.max(rate, again[i]));
  };
  for (const one of curveTasks(kind, { bytes, rows, seed })) {
    const contest = await entering(one, settings);
    entered.push({ ...one, contest });
    await contest.run();
  }
  for (let run = 1; run < runs && entered.length > 0; ++run) {
    await readAgain();
    for (const { contest } of entered) await contest.run();
  }
  if (entered.length > 0) await readAgain();
  const points: MeasuredPoint[] = [];
  for (const { rows, weightBytes, task: { count }, contest } of entered) {
    await contest.release();
    points.push({
      rows,
      weightBytes,
      count,
      result: sameBits(contest.result()),
    });
  }
  return { read, points };
}

function entering(
  { task }: CurveTask,
  { builds, peers, effort, onPoint }: CurveSettings,
): Promise<Contest> {
  onPoint(task.label);
  const own = builds.map(({ own }) => own);
  return enter(task, own, peers, effort);
}

/** @throws {Error} if more threads give other bits */
function sameBits(result: Result): Result {
  const [first, ...others] = Object.values(result.hashes);
  if (others.some((hash) => hash !== first)) {
    throw new Error(`${result.label}: more threads give other bits`);
  }
  return result;
}

/** The kernel in cache, with as many rows as there can be. */
async function measureFull(
  kind: CurveKind,
  settings: CurveSettings,
): Promise<Result> {
  const { seed, effort: { runs } } = settings;
  for (const rows of FULL_ROWS) {
    const given = { bytes: FULL_BYTES, rows: [rows], seed };
    for (const one of curveTasks(kind, given)) {
      const contest = await entering(one, { ...settings, peers: [] });
      for (let run = 0; run < runs; ++run) await contest.run();
      return sameBits(contest.result());
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

function fallsOf(points: readonly MeasuredPoint[]): Record<string, number[]> {
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
