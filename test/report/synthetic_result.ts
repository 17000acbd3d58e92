import { Prng } from "../../src/base/prng.ts";
import { Collector } from "../../src/metrics/collector.ts";
import type { Metrics } from "../../src/metrics/metrics.ts";
import { summarize } from "../../src/metrics/summarize.ts";
import type {
  BenchResult,
  ModelResult,
} from "../../src/report/bench_result.ts";

const LOADS = [["low", 0.25], ["medium", 0.6], ["high", 0.9]] as const;

/** A result with the report's every part, from made-up runs of a few policies; the same every time. */
export function syntheticResult(requests = 600): BenchResult {
  const prng = new Prng(42);
  const model = (
    name: string,
    policies: readonly string[],
    capacityPerS: number,
  ): ModelResult => ({
    name,
    sizes: { hidden: 256, vocabulary: 5000, parameters: "1.8 M" },
    workload: "europarl-v7.de-en, poisson",
    workers: 2,
    serialCapacityPerS: capacityPerS / 4,
    peaksPerS: Object.fromEntries(
      policies.map((policy, i) => [policy, capacityPerS / (1 + i / 3)]),
    ),
    policies: { graph: "window 0, at most 64 requests" },
    points: LOADS.flatMap(([loadName, share]) =>
      policies.map((policy, i) => ({
        policy,
        loadName,
        offeredPerS: capacityPerS * share,
        metrics: madeUpRun(prng, {
          requests,
          ratePerS: capacityPerS * share,
          slowness: 1 + i,
          load: share,
        }),
        trace: {
          file: `${name}-${policy}-${loadName}.trace.json`,
          requests: Math.min(200, requests),
          of: requests,
        },
      }))
    ),
    batchCurves: ["encoder", "decoder"].map((cell) => ({
      cell,
      points: [1, 2, 4, 8, 16, 32, 64].map((rows) => ({
        rows,
        rowsPerS: 90_000 * rows / (rows + 9),
      })),
    })),
  });
  return {
    machine: { cpu: "Synthetic <CPU> & co", cores: 2, runtime: "deno 2.9.5" },
    size: { class: "medium", why: "one thread does 30 GFLOP/s" },
    seed: 42,
    command: "deno task bench --seed 42",
    startedAt: "2025-01-02T03:04:05Z",
    models: [
      model("lstm", [
        "cellular",
        "late",
        "graph",
        "bucketed",
        "merged",
        "serial",
      ], 900),
      model("treelstm", ["cellular", "merged", "serial", "made-up"], 300),
    ],
  };
}

function madeUpRun(
  prng: Prng,
  run: { requests: number; ratePerS: number; slowness: number; load: number },
): Metrics {
  const collector = new Collector();
  let arrivalNs = 0;
  for (let id = 0; id < run.requests; id++) {
    arrivalNs += Math.round(prng.exponential(1e9 / run.ratePerS));
    const startNs = arrivalNs +
      Math.round(prng.exponential(1e6 * run.slowness / (1 - run.load)));
    const endNs = startNs +
      Math.round(4e6 * run.slowness + prng.exponential(3e6));
    const common = { id, arrivalNs, startNs, endNs };
    collector.request(undefined, {
      ...common,
      model: "made-up",
      deadlineNs: Infinity,
      finishNs: Infinity,
      outcome: "done",
      nodes: 24,
    });
    const rows = 1 +
      prng.int(Math.max(1, Math.ceil(64 * run.load / run.slowness)));
    collector.task(undefined, {
      ...common,
      launchId: id,
      worker: id % 2,
      cell: "step",
      rows,
      padding: run.slowness > 2 ? prng.int(8) : 0,
      speculative: 0,
      endNs: startNs + Math.round(5e8 / run.ratePerS),
      requests: [id],
    });
  }
  return summarize(collector);
}
