/**
 * LazyBatching's evaluation for ResNet-50 on the NPU of its Table I: mean latency, throughput and SLA
 * violations of LazyB, Oracle, Serial and GraphB(N) over arrival rates, beside the published figures
 * (section VI-A, Fig. 12 and 13; VI-B, Fig. 15). SLA 100 ms, at most 64 per batch, Poisson arrivals.
 *
 *     deno run -A bench/papers/lazybatching.ts [--json]
 */
import { onCurve } from "../../src/base/curve.ts";
import { Prng } from "../../src/base/prng.ts";
import { ascending, mean, percentile } from "../../src/base/statistics.ts";
import { NS_PER_MS, NS_PER_S } from "../../src/base/units.ts";
import { TableCost } from "../../src/cost/table_cost.ts";
import { EngineCore } from "../../src/engine/engine.ts";
import { SimExecutor } from "../../src/engine/sim_executor.ts";
import { Timeline } from "../../src/engine/timeline.ts";
import { driveVirtual } from "../../src/engine/virtual_driver.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import type { Model } from "../../src/graph/model.ts";
import { createNpu } from "../../src/npu/npu.ts";
import { resnet50 } from "../../src/npu/networks/resnet50.ts";
import { preset } from "../../src/npu/presets.ts";
import { profileModel, totalNs } from "../../src/npu/profile.ts";
import { BASELINES } from "../../src/policy/baselines.ts";
import { graph } from "../../src/policy/graph_batching.ts";
import { lazy, oracle } from "../../src/policy/lazy.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { serial } from "../../src/policy/serial.ts";
import { poisson } from "../../src/workload/arrivals.ts";

const SEED = 1;
const RATES = [16, 64, 250, 500, 1000, 1500, 2000];
const WINDOWS_MS = [5, 25, 50, 75, 95];
const SLAS_MS = [20, 40, 60, 80, 100];
/** Simulated seconds of arrivals, and the least number of requests. */
const SECONDS = 2;
const REQUESTS_MIN = 300;

const measured = profileModel(
  createNpu(preset("lazybatching")),
  (batch) => resnet50(batch),
  { model: "ResNet-50" },
);
const profile = Object.fromEntries(
  measured.nodes.map((node, n) =>
    [
      node,
      measured.batchSizes.map((size, i) => [size, measured.latencyNs[n]![i]!]),
    ] as const
  ),
) as Record<string, [number, number][]>;
const cells = measured.nodes.map((name) =>
  defineCell({
    name,
    inputs: { x: f32(1) },
    body: (op, { x }) => ({ y: op.Tanh(x) }),
  })
);
const model: Model<unknown> = {
  name: "resnet50",
  cells,
  shape: "chain",
  check: (_input): asserts _input is unknown => {},
  unfold(_input, graph) {
    let x = graph.row(graph.rows([0]), 0, 1);
    for (const cell of cells) x = graph.output(graph.node(cell, { x }), "y");
  },
};

interface Outcome {
  readonly latenciesNs: Float64Array;
  readonly perS: number;
}

function simulate(policy: Policy, ratePerS: number): Outcome {
  const requests = Math.max(REQUESTS_MIN, ratePerS * SECONDS);
  const times = poisson({ ratePerS }).timesNs(requests, new Prng(SEED));
  const latencies: number[] = [];
  let lastNs = 0;
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost: new TableCost(profile),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy,
    executor,
    observer: {
      request: (_request, { arrivalNs, endNs }) => {
        latencies.push(endNs - arrivalNs);
        lastNs = endNs;
      },
    },
  });
  driveVirtual(
    engine,
    timeline,
    times.map((arrivalNs) => ({ model, input: {}, arrivalNs })),
  );
  return {
    latenciesNs: ascending(latencies),
    perS: requests / (lastNs - times[0]!) * NS_PER_S,
  };
}

const policies: Record<string, (slaMs: number) => Policy> = {
  LazyB: (slaMs) => lazy({ profile, slaNs: slaMs * NS_PER_MS }),
  "LazyB, ignoring lost": (slaMs) =>
    lazy({ profile, slaNs: slaMs * NS_PER_MS, negativeSlack: "ignore" }),
  Oracle: (slaMs) => oracle({ profile, slaNs: slaMs * NS_PER_MS }),
  Serial: () => serial(),
  ...Object.fromEntries(WINDOWS_MS.map((ms) => [
    `GraphB(${ms})`,
    () => graph(BASELINES["GraphB"]!({ windowNs: ms * NS_PER_MS })),
  ])),
};

const runs = Object.entries(policies).map(([policy, build]) => ({
  policy,
  rates: RATES.map((rate) => {
    const { latenciesNs, perS } = simulate(build(100), rate);
    return {
      rate,
      meanMs: mean(latenciesNs) / NS_PER_MS,
      p99Ms: percentile(latenciesNs, 0.99) / NS_PER_MS,
      perS,
    };
  }),
  /** Share of requests over the SLA at 1000/s, by SLA. */
  violations: SLAS_MS.map((slaMs) => {
    const { latenciesNs } = simulate(build(slaMs), 1000);
    const late = latenciesNs.filter((ns) => ns > slaMs * NS_PER_MS).length;
    return { slaMs, share: late / latenciesNs.length };
  }),
}));

const singleMs = totalNs(measured, 1) / NS_PER_MS;
if (Deno.args.includes("--json")) {
  console.log(JSON.stringify({ seed: SEED, singleMs, runs }));
} else {
  const row = (name: string, values: readonly string[]) =>
    console.log(name.padEnd(22) + values.map((v) => v.padStart(9)).join(""));
  console.log(
    `ResNet-50 on the NPU of Table I, seed ${SEED}: ${
      singleMs.toFixed(2)
    } ms alone (published 1.1), ${
      (onCurve(
        measured.batchSizes.map((size) => [size, totalNs(measured, size)]),
        64,
      ) / NS_PER_MS).toFixed(1)
    } ms for 64`,
  );
  row("mean latency, ms", RATES.map((rate) => `${rate}/s`));
  for (const { policy, rates } of runs) {
    row(policy, rates.map(({ meanMs }) => meanMs.toFixed(2)));
  }
  row("throughput, req/s", []);
  for (const { policy, rates } of runs) {
    row(policy, rates.map(({ perS }) => perS.toFixed(0)));
  }
  const windows = runs.filter(({ policy }) => policy.startsWith("GraphB"));
  const [lazyB] = runs;
  const at = (r: number) => windows.map(({ rates }) => rates[r]!.meanMs);
  const gain = (of: (values: number[]) => number) =>
    RATES.map((_, r) => of(at(r)) / lazyB!.rates[r]!.meanMs);
  const perRate = gain((values) => Math.min(...values));
  const overall = windows.map((_, w) =>
    mean(RATES.map((_, r) => at(r)[w]! / lazyB!.rates[r]!.meanMs))
  );
  row("best window / LazyB", perRate.map((x) => `${x.toFixed(2)}x`));
  row(
    "mean window / LazyB",
    gain((values) => mean(values)).map((x) => `${x.toFixed(1)}x`),
  );
  console.log(
    `over all rates: best window overall ${
      Math.min(...overall).toFixed(1)
    }x, best per rate ${
      mean(perRate).toFixed(1)
    }x (published 5.3x against the best), mean of the windows ${
      mean(overall).toFixed(1)
    }x (published 15x over three networks)`,
  );
  row("violations at 1000/s", SLAS_MS.map((ms) => `${ms} ms`));
  for (const { policy, violations } of runs) {
    row(
      policy,
      violations.map(({ share }) => `${(100 * share).toFixed(1)} %`),
    );
  }
  console.log("(published: LazyB has none down to 20 ms)");
}
