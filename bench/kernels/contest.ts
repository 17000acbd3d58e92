/** Times one task: our builds and the peers in one process, interleaved, results compared first. */
import { fnv1a } from "../../src/base/hash.ts";
import { median } from "../median.ts";
import type { Own } from "./own.ts";
import type { Peer, PeerRun } from "./peers/peer.ts";
import type { OwnRun, Task } from "./task.ts";
import { readable } from "./reader.ts";
import { compileReader } from "./reading.ts";
import { bestTimesNs } from "./timing.ts";

/** How long to measure. */
export interface Effort {
  /** Figures are medians over so many runs. */
  runs: number;
  /** A run takes the best of so many rounds. */
  rounds: number;
  /** A round of our first build takes at least about this long. */
  roundNs: number;
  /** As in {@linkcode bestTimesNs}. */
  settleMs?: number;
}

/** A task's figures. */
export interface Result {
  area: string;
  label: string;
  unit: Task["unit"];
  /** Operations, elements or bytes of the unit per byte that has to move. */
  intensity: number;
  /** Best rate of every contestant. */
  rates: Record<string, number>;
  /** By peer, then by our builds: peer's time over ours, medians of the runs. */
  ratios: Record<string, Record<string, number>>;
  /** Best time per call of every contestant in each run, in nanoseconds. */
  timesNs: Record<string, number[]>;
  /** Where memory is the limit: reading each build's operands and nothing else on one thread, GB/s, same rounds. */
  readGBps?: Record<string, number>;
  /** Where memory is the limit: time of that over each build's, medians of the runs. */
  ofReading?: Record<string, number>;
  /** FNV-1a of each build's result bits. */
  hashes: Record<string, string>;
  /** Largest difference between our results and whose they were compared with. */
  differences: Record<string, number>;
}

const PROBE_ROUNDS = 3;
/** Kernels with no more to compute per byte, and more bytes than caches of a core hold, wait for memory. */
const MEMORY_INTENSITY = 1;
const MEMORY_BYTES = 16 * 2 ** 20;

/** A task's contestants, prepared and compared: to be timed run by run. */
export interface Contest {
  /** Times everybody once, for a run's figures; our operands are laid out again if another task's have been. */
  run(): Promise<void>;
  /** Figures of the runs so far, of which there is one at least. */
  result(): Result;
  release(): Promise<void>;
}

/** @throws {Error} if results differ by more than the task allows */
export async function contest(
  task: Task,
  builds: readonly Own[],
  peers: readonly Peer[],
  effort: Effort,
): Promise<Result> {
  const entered = await enter(task, builds, peers, effort);
  for (let run = 0; run < effort.runs; ++run) await entered.run();
  await entered.release();
  return entered.result();
}

/** Who holds the memory of each build. */
const placed = new WeakMap<Own, Task>();

/**
 * Prepares and compares everybody.
 * @throws {Error} if results differ by more than the task allows
 */
export async function enter(
  task: Task,
  builds: readonly Own[],
  peers: readonly Peer[],
  { rounds, roundNs, settleMs = 0 }: Omit<Effort, "runs">,
): Promise<Contest> {
  const { area, label, count, unit, bytes } = task;
  const operation = task.equivalent?.();
  const prepared: { peer: Peer; run: PeerRun }[] = [];
  if (operation !== undefined) {
    for (const peer of peers) {
      const run = await peer.prepare(operation);
      if (run !== undefined) prepared.push({ peer, run });
    }
  }
  const layOut = () =>
    builds.map((build) => {
      build.reset();
      placed.set(build, task);
      return task.own(build);
    });
  let own = layOut();
  for (const { run } of own) run();
  const differences: Record<string, number> = {};
  for (const { peer, run } of prepared) {
    await run.run();
    const outputs = run.outputs();
    const insists = !operation!.nodes.some(({ opType }) =>
      peer.inexact?.includes(opType)
    );
    differences[peer.name] = Math.max(
      ...own.flatMap(({ bits }, i) =>
        operation!.outputs.map(({ name, of }) =>
          difference(`${label}: ${builds[i].name} and ${peer.name}, ${name}`, {
            got: of(bits),
            expected: outputs[name],
            tolerance: insists ? operation!.tolerance : Infinity,
          })
        )
      ),
    );
  }
  if (prepared.length === 0 && task.naive !== undefined) {
    differences["the naive reference"] = compareNaive(label, task.naive, {
      builds,
      own,
    });
  }

  const waits = count / bytes <= MEMORY_INTENSITY && bytes >= MEMORY_BYTES;
  const readers = await Promise.all(
    (waits ? builds : []).map(async ({ memory, base }) => {
      const read = await compileReader(memory);
      return () => read(base, bytes);
    }),
  );
  const names = [...builds, ...prepared.map(({ peer }) => peer)]
    .map(({ name }) => name);
  const first = names.length;
  const perContestant = <Value>(value: (i: number) => Value) =>
    Object.fromEntries(names.map((name, i) => [name, value(i)]));
  const perBuild = <Value>(value: (i: number) => Value) =>
    Object.fromEntries(builds.map(({ name }, i) => [name, value(i)]));
  const hashes = perBuild((i) => hash(task, own[i]));
  const [probeNs] = await bestTimesNs([own[0].run], { rounds: PROBE_ROUNDS });
  const calls = Math.max(1, Math.round(roundNs / probeNs));
  const times: number[][] = [];
  return {
    async run() {
      if (builds.some((build) => placed.get(build) !== task)) own = layOut();
      const contestants = [
        ...own.map(({ run }) => run),
        ...prepared.map(({ run }) => () => run.run()),
        ...readers,
      ];
      times.push(await bestTimesNs(contestants, { rounds, calls, settleMs }));
    },
    async release() {
      for (const { run } of prepared) await run.release();
    },
    result: () => ({
      area,
      label,
      unit,
      intensity: count / bytes,
      timesNs: perContestant((i) => times.map((t) => t[i])),
      rates: perContestant((i) => count / Math.min(...times.map((t) => t[i]))),
      ratios: Object.fromEntries(prepared.map(({ peer }, j) => [
        peer.name,
        perBuild((i) => median(times.map((t) => t[builds.length + j] / t[i]))),
      ])),
      ...(waits && {
        readGBps: perBuild((i) =>
          readable(bytes) / Math.min(...times.map((t) => t[first + i]))
        ),
        ofReading: perBuild((i) =>
          median(times.map((t) => t[first + i] / t[i]))
        ),
      }),
      hashes,
      differences,
    }),
  };
}

function resultNames({ naive }: Task): string[] {
  if (naive === undefined) return ["y"];
  return Object.entries(naive.results)
    .filter(([, { type }]) => type !== "address")
    .map(([name]) => name);
}

function hash(task: Task, { bits }: OwnRun): string {
  const all = resultNames(task).map((name) => bits(name));
  const words = new Uint32Array(all.reduce((sum, b) => sum + b.length, 0));
  let at = 0;
  for (const part of all) {
    words.set(part, at);
    at += part.length;
  }
  return fnv1a(words).toString(16).padStart(8, "0");
}

function compareNaive(
  label: string,
  { results, tolerance, expected }: NonNullable<Task["naive"]>,
  { builds, own }: { builds: readonly Own[]; own: readonly OwnRun[] },
): number {
  const all = Object.entries(expected()).flatMap(([name, wanted]) =>
    own.map(({ bits }, i) => {
      const { buffer } = bits(name);
      return difference(`${label}: ${builds[i].name}, ${name}`, {
        got: results[name].type === "f32"
          ? new Float32Array(buffer)
          : new Int32Array(buffer),
        expected: wanted,
        tolerance,
      });
    })
  );
  return Math.max(...all);
}

/** The largest difference; @throws {Error} if it is above the tolerance. */
function difference(
  what: string,
  { got, expected, tolerance }: {
    got: ArrayLike<number>;
    expected: ArrayLike<number | bigint>;
    tolerance: number;
  },
): number {
  if (got.length !== expected.length) {
    throw new Error(`${what}: ${got.length} and ${expected.length} numbers`);
  }
  let greatest = 0;
  for (let i = 0; i < got.length; ++i) {
    const wanted = Number(expected[i]);
    if (Object.is(got[i], wanted)) continue;
    const apart = Math.abs(got[i] - wanted);
    if (!(apart <= tolerance * Math.max(1, Math.abs(wanted)))) {
      throw new Error(`${what}: ${got[i]} and ${wanted} at ${i}`);
    }
    greatest = Math.max(greatest, apart);
  }
  return greatest;
}
