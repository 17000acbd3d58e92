/** A model on this machine's worker threads, as `shoal bench` has it: started when a result is not known yet. */
import os from "node:os";
import { batchCurves, profileTable } from "../../../src/cli/batch_curve.ts";
import { buildModel, type BuiltModel } from "../../../src/cli/bench_models.ts";
import { slotsFor, startExecutor } from "../../../src/cli/bench_run.ts";
import { measure } from "../../../src/cli/measure.ts";
import type { TensorExecutor } from "../../../src/engine/wall/tensor_executor.ts";
import { nsToMs } from "../../../src/base/units.ts";
import type { Metrics } from "../../../src/metrics/metrics.ts";
import { MODELS, type SizeClass } from "../../../src/models/registry.ts";
import { POLICIES } from "../../../src/policy/registry.ts";
import {
  type Arrivals,
  atOnce,
  poisson,
} from "../../../src/workload/arrivals.ts";
import { workload } from "../../../src/workload/workload.ts";
import type { Context, Json } from "../experiment.ts";

/** Requests of a run, whatever the rate. */
const REQUESTS = { min: 30, max: 4000 };
/** Of the run that says how long the one behind it has to be. */
const PROBE_REQUESTS = 50;

/** How a run went. Plain data, for the cache. */
export interface Measured {
  readonly [name: string]: Json;
  readonly perS: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  /** Rows that a row saw in its batch, on average. */
  readonly meanRows: number;
  /** Entry k of n is the latency's (k + 1)/n quantile. */
  readonly quantilesMs: readonly number[];
}

/** A policy of the registry, with options that JSON can hold. */
export interface PolicyChoice {
  readonly policy: string;
  readonly options: Readonly<Record<string, Json>>;
}

export interface ServedOptions {
  readonly model: string;
  readonly workers: number;
  /** Length of a run, if arrivals keep to their rate. */
  readonly seconds: number;
  /** Options of the model instead of its class's. */
  readonly overrides?: Readonly<Record<string, Json>>;
}

export class Served {
  readonly #context: Context;
  readonly #options: ServedOptions;
  readonly #size: SizeClass;
  #started:
    | Promise<{ built: BuiltModel; executor: TensorExecutor }>
    | undefined;

  constructor(context: Context, options: ServedOptions) {
    this.#context = context;
    this.#options = options;
    this.#size = context.full ? "full" : context.quick ? "small" : "medium";
  }

  /** The model's sizes in words. */
  static sizes(model: string): string {
    const of = (size: SizeClass) =>
      Object.entries(MODELS[model].sizes[size])
        .map(([name, value]) => `${name} ${value ?? "none"}`).join(", ");
    return `${of("medium")} (--quick: ${of("small")}; --full: ${of("full")})`;
  }

  /** Requests per second when all are there from the start. */
  async peakPerS(choice: PolicyChoice): Promise<number> {
    const { seconds } = this.#options;
    const { seed, point } = this.#context;
    const key = this.#key({ what: "peak", seed, ...choice, seconds });
    return await point(key, async () => {
      const probe = await this.#run(choice, atOnce(), PROBE_REQUESTS, seed);
      const requests = this.#requests(probe.throughputPerS);
      const { throughputPerS } = await this.#run(
        choice,
        atOnce(),
        requests,
        seed,
      );
      return throughputPerS;
    });
  }

  /** Runs under load, one for each seed. */
  async runs(choice: PolicyChoice, ratePerS: number): Promise<Measured[]> {
    const { seed, runs, point } = this.#context;
    const { seconds } = this.#options;
    const measured: Measured[] = [];
    for (let run = 0; run < runs; run++) {
      const key = { ratePerS, seed: seed + run, ...choice, seconds };
      measured.push(
        await point(this.#key(key), async () =>
          plain(
            await this.#run(
              choice,
              poisson({ ratePerS }),
              this.#requests(ratePerS),
              seed + run,
            ),
          )),
      );
    }
    return measured;
  }

  /**
   * Times of full batches of each cell.
   * @returns points [rows, ns] by cell; cells that no full batch was seen of are left out
   */
  async profile(
    sizes: readonly number[],
  ): Promise<Record<string, [number, number][]>> {
    const { seed, point } = this.#context;
    const all: Record<string, [number, number][]> = {};
    for (const rows of sizes) {
      const key = this.#key({ what: "batch time", rows, seed });
      const found = await point(key, async () => {
        const { built: { model, inputs }, executor } = await this.#start();
        const curves = await batchCurves(model, executor, inputs, [rows], seed);
        return profileTable(curves) as Record<string, [number, number][]>;
      });
      for (const [cell, points] of Object.entries(found)) {
        (all[cell] ??= []).push(...points);
      }
    }
    return all;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#started)?.executor.close();
  }

  /** A key with what every result of this model depends on. */
  #key(rest: Readonly<Record<string, Json>>): Record<string, Json> {
    const { model, workers, overrides = {} } = this.#options;
    const cpus = os.cpus();
    return {
      model,
      workers,
      ...rest,
      size: this.#size,
      overrides,
      cpu: cpus[0]?.model ?? "unknown",
      cores: cpus.length,
    };
  }

  #requests(perS: number): number {
    const requests = Math.round(perS * this.#options.seconds);
    return Math.min(REQUESTS.max, Math.max(REQUESTS.min, requests));
  }

  async #run(
    { policy, options }: PolicyChoice,
    arrivals: Arrivals,
    requests: number,
    seed: number,
  ): Promise<Metrics> {
    const { built, executor } = await this.#start();
    return await measure({
      model: built.model,
      policy: POLICIES[policy].build(options),
      executor,
      arrivals: workload({
        arrivals,
        inputs: built.inputs,
        requests: slotsFor(built, requests).requests,
        seed,
      }),
    });
  }

  #start() {
    return this.#started ??= (async () => {
      const { model, workers, overrides } = this.#options;
      const built = buildModel(model, this.#size, 1, overrides);
      const requests = REQUESTS.max;
      const executor = await startExecutor(built, { workers, requests });
      // Every kernel is optimised before anything is timed.
      for (const policy of ["serial", "cellular"]) {
        await measure({
          model: built.model,
          policy: POLICIES[policy].build({}),
          executor,
          arrivals: workload({
            arrivals: atOnce(),
            inputs: built.inputs,
            requests: policy === "serial" ? 10 : 60,
            seed: 1,
          }),
        });
      }
      return { built, executor };
    })();
  }
}

function plain(
  { latency, throughputPerS, batch, latencyQuantilesNs }: Metrics,
): Measured {
  return {
    perS: throughputPerS,
    meanMs: nsToMs(latency.meanNs),
    p50Ms: nsToMs(latency.p50Ns),
    p90Ms: nsToMs(latency.p90Ns),
    p99Ms: nsToMs(latency.p99Ns),
    meanRows: batch.meanRowsByRow,
    quantilesMs: latencyQuantilesNs.map(nsToMs),
  };
}
