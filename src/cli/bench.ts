/**
 * `shoal bench`, the main job: what every policy makes of the same requests on this machine, on real
 * tensors and worker threads, at shares of the best policy's measured peak.
 */
import os from "node:os";
import { isoNow } from "../engine/wall/clock.ts";
import { runtimeName } from "../engine/wall/runtime.ts";
import { POLICIES } from "../policy/registry.ts";
import type {
  BenchPoint,
  BenchResult,
  ModelResult,
} from "../report/bench_result.ts";
import { benchText } from "../report/bench_text.ts";
import { htmlReport } from "../report/html_report.ts";
import { batchCurves, profileTable } from "./batch_curve.ts";
import { buildModel } from "./bench_models.ts";
import { BenchRun, slotsFor, withExecutor } from "./bench_run.ts";
import {
  type BenchSettings,
  benchSettings,
  hasHidden,
} from "./bench_settings.ts";
import { makeFolder, writeText } from "./files.ts";
import { type ChosenSize, machineSize } from "./machine_size.ts";
import { hasLimit } from "./policy_options.ts";
import { print, progress, stdoutColor } from "./terminal.ts";

/** Loads as shares of the best policy's peak. */
const LOADS = { low: 1 / 4, medium: 3 / 5, high: 9 / 10 } as const;

const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64];

export async function bench(args: string[]): Promise<number> {
  const settings = benchSettings(args);
  if (settings === undefined) return 0;
  const startedAt = isoNow();
  makeFolder(settings.out);
  const chosen = settings.size === undefined
    ? await machineSize()
    : { size: settings.size, why: "as asked for" };
  progress(`size ${chosen.size}: ${chosen.why}`);
  const models: ModelResult[] = [];
  for (const name of settings.models) {
    models.push(await benchOne(name, chosen, settings));
  }
  const result: BenchResult = {
    machine: {
      cpu: os.cpus()[0]?.model ?? "unknown",
      cores: os.cpus().length,
      memoryGiB: Math.round(os.totalmem() / 2 ** 30),
      platform: `${os.platform()} ${os.arch()}`,
      runtime: runtimeName(),
    },
    size: { class: chosen.size, why: chosen.why },
    seed: settings.seed,
    command: `shoal bench ${args.join(" ")}`.trim(),
    startedAt,
    models,
  };
  const report = `${settings.out}/report.html`;
  writeText(report, await htmlReport(result));
  progress(`report: ${report}`);
  if (settings.json) print(JSON.stringify(result));
  else {
    const { out: folder } = settings;
    print(benchText(result, { color: stdoutColor(), folder }));
  }
  return 0;
}

async function benchOne(
  name: string,
  { size }: ChosenSize,
  given: BenchSettings,
): Promise<ModelResult> {
  const { seed, workers, hidden } = given;
  const overrides = hidden !== undefined && hasHidden(name) ? { hidden } : {};
  const built = buildModel(name, size, seed, overrides);
  const { requests } = slotsFor(built, given.requests);
  const settings = { ...given, requests };
  progress(
    `${name}: size ${size}, ${workers} worker(s), seed ${seed}, ${requests} requests per point`,
  );
  return await withExecutor(built, settings, async (executor) => {
    const run = new BenchRun(built, executor, settings);
    await run.warmUp();
    const curves = await batchCurves(
      built.model,
      executor,
      built.inputs,
      BATCH_SIZES.filter((size) => 2 * size < requests),
      seed,
    );
    const table = profileTable(curves);
    if (built.model.cells.every(({ name }) => name in table)) {
      run.profile = table;
    }
    const policies = settings.policies.filter((policy) =>
      POLICIES[policy].build(run.options(policy)).supports(built.model) ===
        undefined
    );
    const serialCapacityPerS = await run.peak("serial");
    progress(`${name}: serial capacity ${serialCapacityPerS.toFixed(0)}/s`);
    const peaksPerS: Record<string, number> = {};
    for (const policy of policies) {
      peaksPerS[policy] = policy === "serial"
        ? serialCapacityPerS
        : await run.peak(policy);
      progress(`${name}: peak of ${policy} ${peaksPerS[policy].toFixed(0)}/s`);
    }
    const bestPerS = Math.max(...Object.values(peaksPerS));
    const loads = Object.entries(LOADS).filter(([load]) =>
      !settings.quick || load === "medium"
    );
    const points: BenchPoint[] = [];
    for (const [loadName, share] of loads) {
      for (const policy of policies) {
        points.push(await run.point(policy, loadName, share * bestPerS));
      }
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
