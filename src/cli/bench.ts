/**
 * `shoal bench`, the main job: what every policy makes of the same requests on this machine, on real
 * tensors and worker threads, at shares of the best policy's measured peak.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import { parseArgs } from "node:util";
import { isoNow } from "../engine/clock.ts";
import { TensorExecutor } from "../engine/tensor_executor.ts";
import { POLICIES } from "../policy/registry.ts";
import type {
  BenchPoint,
  BenchResult,
  ModelResult,
} from "../report/bench_result.ts";
import { benchTable } from "../report/bench_table.ts";
import { htmlReport } from "../report/html_report.ts";
import { perfettoTrace } from "../report/perfetto.ts";
import { renderTable } from "../report/table.ts";
import { TraceRecorder } from "../report/trace_recorder.ts";
import { atOnce, poisson } from "../workload/arrivals.ts";
import { workload } from "../workload/workload.ts";
import { batchCurves } from "./batch_curve.ts";
import {
  BENCH_MODELS,
  type BenchModel,
  buildModel,
  type BuiltModel,
} from "./bench_models.ts";
import { measure } from "./measure.ts";
import {
  integerOption,
  namesOption,
  print,
  progress,
  stdoutColor,
  UsageError,
} from "./terminal.ts";

const HELP = `shoal bench [options]

Finds the capacity of this machine, then runs every policy at low, medium and high load.

  --model NAMES     ${
  BENCH_MODELS.map(({ name }) => name).join(", ")
}; comma-separated (default: all)
  --policy NAMES    ${Object.keys(POLICIES).join(", ")} (default: all)
  --seed N          seed of weights, inputs and arrivals (default 1)
  --requests N      requests per point (default 500; 100 with --quick)
  --workers N       worker threads (default 1: the second core schedules)
  --batch N         maximum batch size of every policy (default 64)
  --hidden N        hidden size (default: as this machine allows about ${1000} requests/s)
  --quick           fewer requests, the medium load only
  --full            the papers' sizes: hidden 1024, vocabulary 30,000
  --out DIR         where report and traces go (default build/bench)
  --json            the whole result as JSON on stdout`;

/** Loads as shares of the best policy's peak. */
const LOADS = { low: 1 / 4, medium: 3 / 5, high: 9 / 10 } as const;

/** Requests per second that model sizes aim at: a point of 500 requests then takes seconds. */
const TARGET_PER_S = 1000;

/** Hidden size at which the machine is tried before sizes are chosen. */
const TRIAL_HIDDEN = 192;

const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64];

interface Settings {
  models: BenchModel[];
  policies: string[];
  seed: number;
  requests: number;
  workers: number;
  batchSizeMax: number;
  hidden: number | undefined;
  quick: boolean;
  full: boolean;
  out: string;
  json: boolean;
}

export async function bench(args: string[]): Promise<number> {
  const settings = parse(args);
  if (settings === undefined) {
    print(HELP);
    return 0;
  }
  const startedAt = isoNow();
  mkdirSync(settings.out, { recursive: true });
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
      runtime: navigator.userAgent,
    },
    seed: settings.seed,
    command: `shoal bench ${args.join(" ")}`.trim(),
    startedAt,
    models,
  };
  const report = `${settings.out}/report.html`;
  writeFileSync(report, await htmlReport(result));
  progress(`report: ${report}`);
  if (settings.json) print(JSON.stringify(result));
  else printTables(result);
  return 0;
}

function parse(args: string[]): Settings | undefined {
  const { values } = parseArgs({
    args,
    options: {
      model: { type: "string" },
      policy: { type: "string" },
      seed: { type: "string" },
      requests: { type: "string" },
      workers: { type: "string" },
      batch: { type: "string" },
      hidden: { type: "string" },
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      out: { type: "string", default: "build/bench" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const chosen = namesOption(
    "model",
    values.model,
    BENCH_MODELS.map(({ name }) => name),
  );
  const settings = {
    models: BENCH_MODELS.filter(({ name }) => chosen.includes(name)),
    policies: namesOption("policy", values.policy, Object.keys(POLICIES)),
    seed: integerOption("seed", values.seed, 1),
    requests: integerOption(
      "requests",
      values.requests,
      values.quick ? 100 : 500,
    ),
    workers: integerOption("workers", values.workers, 1),
    batchSizeMax: integerOption("batch", values.batch, 64),
    hidden: values.hidden === undefined
      ? undefined
      : integerOption("hidden", values.hidden, 0),
    quick: values.quick,
    full: values.full,
    out: values.out,
    json: values.json,
  };
  for (const name of ["requests", "workers", "batchSizeMax"] as const) {
    if (settings[name] < 1) {
      throw new UsageError(
        `--${name === "batchSizeMax" ? "batch" : name} is at least 1`,
      );
    }
  }
  return settings;
}

async function benchOne(
  benchModel: BenchModel,
  settings: Settings,
): Promise<ModelResult> {
  const { name } = benchModel;
  const { seed, full, workers } = settings;
  const hidden = full
    ? benchModel.fullHidden
    : settings.hidden ?? await chooseHidden(benchModel, settings);
  const built = buildModel(benchModel, hidden, full, seed);
  progress(`${name}: hidden ${hidden}, ${workers} worker(s), seed ${seed}`);
  const policies = settings.policies.filter((policy) =>
    POLICIES[policy]!.build().supports(built.model) === undefined
  );
  return await withExecutor(built, workers, async (executor) => {
    const run = new Bench(built, executor, settings);
    await run.warmUp();
    const curves = await batchCurves(
      built.model,
      executor,
      built.inputs,
      BATCH_SIZES.filter((size) => size <= settings.batchSizeMax),
      seed,
    );
    const serialCapacityPerS = await run.peak("serial");
    progress(
      `${name}: serial capacity ${serialCapacityPerS.toFixed(0)} requests/s`,
    );
    const peaksPerS: Record<string, number> = {};
    for (const policy of policies) {
      peaksPerS[policy] = policy === "serial"
        ? serialCapacityPerS
        : await run.peak(policy);
      progress(
        `${name}: peak of ${policy} ${
          peaksPerS[policy]!.toFixed(0)
        } requests/s`,
      );
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
      points,
      batchCurves: curves,
    };
  });
}

async function withExecutor<T>(
  { model }: BuiltModel,
  workers: number,
  use: (executor: TensorExecutor) => Promise<T>,
): Promise<T> {
  const executor = await TensorExecutor.start({
    models: [model],
    workers,
    slotBytes: 2 ** 28,
    onFatal: (error) => {
      throw error;
    },
  });
  try {
    return await use(executor);
  } finally {
    await executor.close();
  }
}

/** Hidden size, a multiple of 32, at which full batches serve about TARGET_PER_S requests/s. */
async function chooseHidden(
  benchModel: BenchModel,
  settings: Settings,
): Promise<number> {
  const built = buildModel(benchModel, TRIAL_HIDDEN, false, settings.seed);
  return await withExecutor(built, settings.workers, async (executor) => {
    const run = new Bench(built, executor, { ...settings, requests: 200 });
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

/** Runs of one model on one executor. */
class Bench {
  constructor(
    readonly built: BuiltModel,
    readonly executor: TensorExecutor,
    readonly settings: Settings,
  ) {}

  /** Lets the engine optimise every kernel at every batch size before anything is timed. */
  async warmUp(): Promise<void> {
    for (const policy of ["serial", "cellular"]) {
      await this.#atOnce(policy, policy === "serial" ? 20 : 100);
    }
  }

  /** Requests per second when all are there from the start. */
  async peak(policy: string): Promise<number> {
    return (await this.#atOnce(policy, this.settings.requests)).throughputPerS;
  }

  async point(
    policy: string,
    loadName: string,
    offeredPerS: number,
  ): Promise<BenchPoint> {
    const { seed, requests, out } = this.settings;
    const { model, inputs } = this.built;
    const recorder = new TraceRecorder();
    const metrics = await measure({
      model,
      policy: this.#policy(policy),
      executor: this.executor,
      arrivals: workload({
        arrivals: poisson({ ratePerS: offeredPerS }),
        inputs,
        requests,
        seed,
      }),
      observer: recorder,
    });
    const name = `${model.name}-${policy}-${loadName}`;
    writeFileSync(
      `${out}/${name}.trace.json`,
      perfettoTrace([{ name, recorder }]),
    );
    progress(
      `${model.name}: ${policy} at ${loadName} load, ${
        offeredPerS.toFixed(0)
      }/s: p90 ${(metrics.latency.p90Ns / 1e6).toFixed(1)} ms`,
    );
    return { policy, loadName, offeredPerS, metrics };
  }

  #atOnce(policy: string, requests: number) {
    const { model, inputs } = this.built;
    return measure({
      model,
      policy: this.#policy(policy),
      executor: this.executor,
      arrivals: workload({
        arrivals: atOnce(),
        inputs,
        requests,
        seed: this.settings.seed,
      }),
    });
  }

  #policy(name: string) {
    const { batchSizeMax } = this.settings;
    return POLICIES[name]!.build(name === "serial" ? {} : { batchSizeMax });
  }
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
    for (const { cell, points } of model.batchCurves ?? []) {
      const curve = points.map(({ rows, rowsPerS }) =>
        `${rows}: ${rowsPerS.toFixed(0)}`
      ).join(", ");
      print(`rows/s of ${cell} by batch size: ${curve}`);
    }
    print(`\n${renderTable(benchTable(model), { color })}`);
  }
}
