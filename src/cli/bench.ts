/**
 * `shoal bench`, the main job: what every policy makes of the same requests on this machine, on real
 * tensors and worker threads, at shares of the best policy's measured peak.
 */
import os from "node:os";
import { isoNow, wallNs } from "../engine/wall/clock.ts";
import { runtimeName } from "../engine/wall/runtime.ts";
import type { Model } from "../graph/model.ts";
import type { ProfileTable } from "../policy/profile.ts";
import { POLICIES } from "../policy/registry.ts";
import type {
  BatchCurve,
  BenchPoint,
  BenchResult,
  ModelResult,
} from "../report/bench_result.ts";
import { benchText } from "../report/bench_text.ts";
import { htmlReport } from "../report/html_report.ts";
import { besideOthers } from "./beside_others.ts";
import {
  batchCurves,
  curveSizes,
  fastestOf,
  profileTable,
} from "./batch_curve.ts";
import { buildModel, type BuiltModel, sizedModel } from "./bench_models.ts";
import { BenchRun, slotsFor, withExecutor } from "./bench_run.ts";
import {
  type BenchSettings,
  benchSettings,
  hasHidden,
  type MeasuredFile,
} from "./bench_settings.ts";
import { checkWritable, makeFolder, writeText } from "./files.ts";
import { builtFile } from "./onnx_built.ts";
import { machineSize } from "./machine_size.ts";
import { hasLimit, policyOptions } from "./policy_options.ts";
import { print, progress, stdoutColor, UsageError } from "./terminal.ts";

/** Loads as shares of the best policy's peak. */
const LOADS = { low: 1 / 4, medium: 3 / 5, high: 9 / 10 } as const;

/** Batches of each size are measured in so many turns, as far as those begin within this time: the fastest counts. */
const TURNS = 7;
const TURNS_NS = 5e9;

export async function bench(args: string[]): Promise<number> {
  const settings = benchSettings(args);
  if (settings === undefined) return 0;
  const startedAt = isoNow();
  makeFolder(settings.out);
  const report = `${settings.out}/report.html`;
  checkWritable(report);
  const resultOf = (benched: Benched): BenchResult => ({
    machine: {
      cpu: os.cpus()[0]?.model ?? "unknown",
      cores: os.cpus().length,
      memoryGiB: Math.round(os.totalmem() / 2 ** 30),
      platform: `${os.platform()} ${os.arch()}`,
      runtime: runtimeName(),
    },
    seed: settings.seed,
    command: `shoal bench ${args.join(" ")}`.trim(),
    startedAt,
    ...benched,
  });
  const measured: Measured = async (benched) => {
    writeText(report, await htmlReport(resultOf(benched)));
    progress(`report: ${report}`);
  };
  const { file } = settings;
  const result = resultOf(
    await besideOthers(() =>
      file
        ? benchFile(file, settings, measured)
        : benchRegistry(settings, measured)
    ),
  );
  if (settings.json) print(JSON.stringify(result));
  else {
    const { out: folder } = settings;
    print(benchText(result, { color: stdoutColor(), folder }));
  }
  return 0;
}

type Benched = Pick<BenchResult, "size" | "models">;

/** Hears of every model that is done, with those before it: what was measured is there if a later one fails or is given up. */
type Measured = (benched: Benched) => Promise<void>;

async function benchRegistry(
  settings: BenchSettings,
  measured: Measured,
): Promise<Benched> {
  const { seed, hidden } = settings;
  const { size, why } = settings.size === undefined
    ? await machineSize()
    : { size: settings.size, why: "as asked for" };
  progress(`size ${size}: ${why}`);
  const overrides = (name: string) =>
    hidden !== undefined && hasHidden(name) ? { hidden } : {};
  // What cannot be made, or batched, is said before hours of others.
  for (const name of settings.models) {
    policiesFor(sizedModel(name, size, overrides(name)), settings);
  }
  const benched = { size: { class: size, why }, models: [] as ModelResult[] };
  for (const name of settings.models) {
    const built = buildModel(name, size, seed, overrides(name));
    benched.models.push(await benchOne(name, built, settings));
    await measured(benched);
  }
  return benched;
}

async function benchFile(
  file: MeasuredFile,
  settings: BenchSettings,
  measured: Measured,
): Promise<Benched> {
  const built = await builtFile("shoal bench", file.path, file, settings.seed);
  policiesFor(built.model, settings);
  const benched = {
    size: { class: "file", why: "as the file says" },
    models: [await benchOne(built.model.name, built, settings)],
  };
  await measured(benched);
  return benched;
}

/**
 * Those of the policies asked for that can batch a model.
 * @throws UsageError when there are none
 */
function policiesFor(
  model: Model,
  { policies, batchSizeMax }: BenchSettings,
  profile?: ProfileTable,
): string[] {
  const obstacles = policies.map((policy) => {
    const options = policyOptions(policy, {
      batchSizeMax,
      ...(profile && { profile }),
    });
    return POLICIES[policy].build(options).supports(model);
  });
  const able = policies.filter((_, i) => obstacles[i] === undefined);
  if (able.length > 0) return able;
  throw new UsageError(
    `No policy of --policy can batch model "${model.name}": ${
      policies.map((policy, i) => `${policy}: ${obstacles[i]}`).join("; ")
    }`,
  );
}

async function benchOne(
  name: string,
  built: BuiltModel,
  given: BenchSettings,
): Promise<ModelResult> {
  const { seed, workers } = given;
  const { requests } = slotsFor(built, given.requests);
  const settings = { ...given, requests };
  progress(
    `${name}: ${workers} worker(s), seed ${seed}, ${requests} requests per point`,
  );
  return await withExecutor(built, settings, async (executor) => {
    const run = new BenchRun(built, executor, settings);
    await run.warmUp();
    const { model, inputs } = built;
    const sizes = curveSizes(requests, workers);
    const turns: BatchCurve[] = [];
    const untilNs = wallNs() + TURNS_NS;
    for (let turn = 0; turn < TURNS; turn++) {
      if (turn > 0 && wallNs() > untilNs) break;
      turns.push(...await batchCurves(model, executor, inputs, sizes, seed));
    }
    const curves = fastestOf(turns);
    const table = profileTable(curves);
    if (model.cells.every(({ name }) => name in table)) {
      run.profile = table;
    }
    const policies = policiesFor(model, settings, run.profile);
    const { serial: serialCapacityPerS, ...others } = await run.peaks([
      ...new Set(["serial", ...policies]),
    ]);
    const peaksPerS = policies.includes("serial")
      ? { serial: serialCapacityPerS, ...others }
      : others;
    const points: BenchPoint[] = [];
    for (const [loadName, perS] of loadsOf(settings, peaksPerS)) {
      points.push(...await run.points(policies, loadName, perS));
    }
    return {
      name,
      sizes: built.sizes,
      workload:
        `${built.inputs.name}, Poisson arrivals, ${settings.requests} requests per point`,
      workers,
      serialCapacityPerS,
      peaksPerS,
      policies: Object.fromEntries(
        policies.map((policy) => [policy, run.setUp(policy)]),
      ),
      notes: notesOn(policies, settings),
      points,
      batchCurves: curves,
    };
  });
}

/** Names of loads, and their requests per second. */
function loadsOf(
  { ratesPerS, quick }: BenchSettings,
  peaksPerS: Readonly<Record<string, number>>,
): [string, number][] {
  if (ratesPerS) return ratesPerS.map((rate) => [`${rate}/s`, rate]);
  const bestPerS = Math.max(...Object.values(peaksPerS));
  return Object.entries(LOADS)
    .filter(([load]) => !quick || load === "medium")
    .map(([load, share]) => [load, share * bestPerS]);
}

function notesOn(
  policies: readonly string[],
  { batchSizeMax }: BenchSettings,
): string[] {
  const unlimited = policies.filter((policy) => !hasLimit(POLICIES[policy]));
  return unlimited.length === 0 ? [] : [
    `batches have at most ${batchSizeMax} rows, except under ${
      unlimited.join(", ")
    }, which has no such option`,
  ];
}
