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
import { benchTable, overviewTable } from "../report/bench_table.ts";
import { htmlReport } from "../report/html_report.ts";
import { renderTable } from "../report/table.ts";
import { batchCurves, profileTable } from "./batch_curve.ts";
import { type BenchModel, buildModel } from "./bench_models.ts";
import { BenchRun, slotsFor, withExecutor } from "./bench_run.ts";
import {
  type BenchSettings,
  benchSettings,
  TARGET_PER_S,
} from "./bench_settings.ts";
import { makeFolder, writeText } from "./files.ts";
import { print, progress, stdoutColor } from "./terminal.ts";

/** Loads as shares of the best policy's peak. */
const LOADS = { low: 1 / 4, medium: 3 / 5, high: 9 / 10 } as const;

/** Hidden size at which the machine is tried before sizes are chosen. */
const TRIAL_HIDDEN = 128;

const TRIAL_REQUESTS = 300;

/** Cells of a model whose curves are printed one by one; the report shows them all. */
const CURVES_PRINTED = 8;

const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64];

export async function bench(args: string[]): Promise<number> {
  const settings = benchSettings(args);
  if (settings === undefined) return 0;
  const startedAt = isoNow();
  makeFolder(settings.out);
  const models: ModelResult[] = [];
  for (const benchModel of settings.models) {
    models.push(await benchOne(benchModel, settings));
  }
  const result: BenchResult = {
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
    models,
  };
  const report = `${settings.out}/report.html`;
  writeText(report, await htmlReport(result));
  progress(`report: ${report}`);
  if (settings.json) print(JSON.stringify(result));
  else printTables(result);
  return 0;
}

async function benchOne(
  benchModel: BenchModel,
  given: BenchSettings,
): Promise<ModelResult> {
  const { name } = benchModel;
  const { seed, full, workers } = given;
  const hidden = full
    ? benchModel.fullHidden
    : given.hidden ?? await chooseHidden(benchModel, given);
  const built = buildModel(benchModel, hidden, full, seed);
  const { requests } = slotsFor(built, given.requests);
  const settings = { ...given, requests };
  progress(
    `${name}: hidden ${hidden}, ${workers} worker(s), seed ${seed}, ${requests} requests per point`,
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
      POLICIES[policy]!.build(run.options(policy)).supports(built.model) ===
        undefined
    );
    const serialCapacityPerS = await run.peak("serial");
    progress(`${name}: serial capacity ${serialCapacityPerS.toFixed(0)}/s`);
    const peaksPerS: Record<string, number> = {};
    for (const policy of policies) {
      peaksPerS[policy] = policy === "serial"
        ? serialCapacityPerS
        : await run.peak(policy);
      progress(`${name}: peak of ${policy} ${peaksPerS[policy]!.toFixed(0)}/s`);
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
        policies.map((policy) => [policy, JSON.stringify(run.options(policy))]),
      ),
      points,
      batchCurves: curves,
    };
  });
}

/** Hidden size, a multiple of 32, at which full batches serve about TARGET_PER_S requests/s. */
async function chooseHidden(
  benchModel: BenchModel,
  settings: BenchSettings,
): Promise<number> {
  const built = buildModel(benchModel, TRIAL_HIDDEN, false, settings.seed);
  const trial = { ...settings, requests: TRIAL_REQUESTS };
  return await withExecutor(built, trial, async (executor) => {
    const run = new BenchRun(built, executor, trial);
    await run.warmUp();
    const perS = await run.peak("cellular");
    // A request's work grows with the square of the hidden size.
    const hidden = TRIAL_HIDDEN * Math.sqrt(perS / TARGET_PER_S);
    return Math.min(
      benchModel.fullHidden,
      Math.max(32, Math.round(hidden / 32) * 32),
    );
  });
}

function printTables(result: BenchResult): void {
  const color = stdoutColor();
  const machine = Object.values(result.machine).join(", ");
  print(`${result.command}\n${machine}; seed ${result.seed}\n`);
  for (const model of result.models) {
    const sizes = Object.entries(model.sizes).map(([key, value]) =>
      `${key} ${value}`
    ).join(", ");
    const peaks = Object.entries(model.peaksPerS).map(([policy, perS]) =>
      `${policy} ${perS.toFixed(0)}`
    ).join(", ");
    print(
      `${model.name} (${sizes}; ${model.workers} worker(s); ${model.workload})\n` +
        `serial capacity ${
          model.serialCapacityPerS.toFixed(0)
        }/s; peaks/s: ${peaks}`,
    );
    const curves = model.batchCurves ?? [];
    for (const { cell, points } of curves) {
      if (curves.length > CURVES_PRINTED) break;
      const curve = points.map(({ rows, rowsPerS }) =>
        `${rows}: ${rowsPerS.toFixed(0)}`
      ).join(", ");
      print(`rows/s of ${cell} by batch size: ${curve}`);
    }
    print(`\n${renderTable(benchTable(model), { color })}`);
  }
  if (result.models.length > 1) {
    print(`All models, p90 ms by load, and peak requests/s:\n`);
    print(renderTable(overviewTable(result.models), { color }));
  }
}
