/**
 * DVABatch's evaluation on a modelled Titan RTX: mean latency, tail and peak against ZeroBatch and
 * DelayBatch at 1/4, 3/5 and 9/10 of DelayBatch's peak (sections 8.2 and 8.3), beside the published figures;
 * then with single parts changed: policies, stages, buffer pairs (8.5 to 8.7). docs/papers.md says what was
 * found.
 *
 * The device is src/cost/gpu_cost.ts: kernels of tiles, one figure taken from another paper's table for the
 * same GPU, none from this one. A stage executor has a stream of its own; the baselines run one batch at a
 * time. Assumption: the peak is the highest steady rate at which the 99th percentile keeps the 200 ms; a
 * copy to the device takes no time for anyone.
 *
 *     deno task bench:dvabatch [--network NAME,...] [--quick] [--json] [--seed N]
 */
import { Prng } from "../../src/base/prng.ts";
import { NS_PER_MS } from "../../src/base/units.ts";
import {
  namesOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import {
  BASELINES,
  searchWindow,
} from "../../src/policy/baselines/search_window.ts";
import {
  dvabatch,
  type DvaBatchOptions,
} from "../../src/policy/dvabatch/dvabatch.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { poisson } from "../../src/workload/arrivals.ts";
import { DVA_NETWORKS, type DvaNetwork } from "./dva_networks.ts";
import { printResult } from "./dva_report.ts";
import {
  highestRate,
  type Outcome,
  progress,
  simulate,
} from "../reproduce/simulation.ts";

const LOADS = { low: 1 / 4, medium: 3 / 5, high: 9 / 10 } as const;
const QOS_MS = 200;
const WINDOWS_MS = [0, 2, 5, 10, 20, 40, 60, 80];

const HELP = `bench:dvabatch [options]

DVABatch's evaluation on a modelled Titan RTX, beside the published figures.

  --network NAMES   comma-separated (default all): ${
  Object.keys(DVA_NETWORKS).join(", ")
}
  --quick           fewer rates, requests and runs
  --seed N          seed of requests and arrivals (default 1)
  --json            the figures as JSON
`;

const { networks, quick, seed, json } = taskSettings({
  name: "bench:dvabatch",
  help: HELP,
  options: {
    network: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    seed: { type: "string" },
  },
}, ({ values }) => ({
  ...values,
  networks: namesOption("network", values.network, Object.keys(DVA_NETWORKS)),
  seed: seedOption(values.seed),
}));
const runs = quick ? 1 : 3;
const requests = quick ? 1000 : 3000;

interface System {
  readonly name: string;
  build(): Policy;
  readonly workers: number;
}

function run(
  { build, workers }: System,
  { cost, request }: DvaNetwork,
  ratePerS: number,
  name: string,
): Outcome {
  const prng = new Prng(seed).fork(name);
  const inputs = prng.fork("inputs");
  const arrivals = poisson({ ratePerS }).timesNs(
    requests,
    prng.fork("arrivals"),
  ).map((arrivalNs) => ({ ...request(inputs), arrivalNs }));
  return simulate({ policy: build(), cost, workers, arrivals });
}

function peakPerS(system: System, network: DvaNetwork, from: number): number {
  return highestRate(
    from,
    (ratePerS) => run(system, network, ratePerS, "peak").p99Ms < QOS_MS,
  );
}

function baseline(name: string, windowMs = 0): System {
  return {
    name,
    build: () => graph(BASELINES[name]({ windowNs: windowMs * NS_PER_MS })),
    workers: 1,
  };
}

function dva(
  network: DvaNetwork,
  name: string,
  changed: DvaBatchOptions = {},
): System {
  const options: DvaBatchOptions = {
    ...network.options,
    profile: network.profile,
    ...changed,
  };
  const { stages } = options;
  return {
    name,
    build: () => dvabatch(options),
    workers: typeof stages === "number" ? Math.max(2, stages) : 8,
  };
}

/** One part changed at a time. */
const VARIANTS: Readonly<Record<string, DvaBatchOptions>> = {
  "1 pair": { pairs: 1 },
  "3 pairs": { pairs: 3 },
  "2 stages": { stages: 2 },
  "8 stages": { stages: 8 },
  "20 stages": { stages: 20 },
  "policy none": { policy: "none" },
  "policy III": { policy: "III" },
  "policy II": { policy: "II" },
  "policy II, 5 % tolerance": { policy: "II", splitTolerance: 0.05 },
  "policy II+III, 5 % tolerance": { policy: "II+III", splitTolerance: 0.05 },
  "T_comp_wait 0": { compWaitNs: 0 },
};

/** For input diversity, where Policy I has a window and does neither stretch nor split. */
const LENGTH_VARIANTS: typeof VARIANTS = {
  "no window": { windowNs: 0 },
  "no window, 1 pair": { windowNs: 0, pairs: 1 },
  "no window, 3 pairs": { windowNs: 0, pairs: 3 },
  "no window, 1 stage": { windowNs: 0, stages: 1 },
  "no window, 4 stages": { windowNs: 0, stages: 4 },
  "no window, classes of 1.25": { windowNs: 0, lengthRatio: 1.25 },
  "policy none": { policy: "none" },
};

export interface LoadResult {
  readonly meanMs: number;
  readonly p99Ms: number;
  readonly rowsSeen: number;
}

export interface SystemResult {
  readonly system: string;
  readonly loads: Readonly<Record<keyof typeof LOADS, LoadResult>>;
  readonly peakPerS: number;
}

export interface NetworkResult {
  readonly network: string;
  readonly workload: string;
  /** Window of DelayBatch, found by search. */
  readonly windowMs: number;
  readonly systems: readonly SystemResult[];
  readonly variants: readonly SystemResult[];
}

function atLoads(
  system: System,
  network: DvaNetwork,
  peak: number,
): SystemResult["loads"] {
  const average = (outcomes: readonly Outcome[], of: (o: Outcome) => number) =>
    outcomes.reduce((sum, outcome) => sum + of(outcome), 0) / outcomes.length;
  const at = (load: keyof typeof LOADS): LoadResult => {
    progress(`${network.name}: ${system.name}, ${load} load`);
    const outcomes = Array.from(
      { length: runs },
      (_, i) => run(system, network, LOADS[load] * peak, `run ${i}`),
    );
    return {
      meanMs: average(outcomes, ({ meanMs }) => meanMs),
      p99Ms: average(outcomes, ({ p99Ms }) => p99Ms),
      rowsSeen: average(outcomes, ({ rowsSeen }) => rowsSeen),
    };
  };
  return { low: at("low"), medium: at("medium"), high: at("high") };
}

function evaluate(network: DvaNetwork): NetworkResult {
  const first = network.request(new Prng(seed));
  const wholeNs = first.model.cells.reduce(
    (sum, cell) => sum + network.profile(cell, 1),
    0,
  );
  const from = 0.1 * 1e9 / wholeNs;
  const { windowNs, score: delayPeak } = searchWindow(
    WINDOWS_MS.map((ms) => ms * NS_PER_MS),
    (windowNs) => {
      progress(`${network.name}: DelayBatch, ${windowNs / NS_PER_MS} ms`);
      return peakPerS(
        baseline("DelayBatch", windowNs / NS_PER_MS),
        network,
        from,
      );
    },
  );
  const windowMs = windowNs / NS_PER_MS;
  const systems = [
    baseline("ZeroBatch"),
    baseline("DelayBatch", windowMs),
    dva(network, "DVABatch"),
  ].map((system) => ({
    system: system.name,
    loads: atLoads(system, network, delayPeak),
    peakPerS: peakPerS(system, network, from),
  }));
  const changed = [
    { ...baseline("ZeroBatch"), name: "ZeroBatch, 2 streams", workers: 2 },
    ...Object.entries(
      network.options.policy === "I" ? LENGTH_VARIANTS : VARIANTS,
    ).map(([name, options]) => dva(network, name, options)),
  ];
  const variants = quick ? [] : changed.map((system) => ({
    system: system.name,
    loads: atLoads(system, network, delayPeak),
    peakPerS: peakPerS(system, network, from),
  }));
  return {
    network: network.name,
    workload: network.workload,
    windowMs,
    systems,
    variants,
  };
}

const results = networks.map((name) => evaluate(DVA_NETWORKS[name]()));
if (json) {
  console.log(JSON.stringify({ seed, runs, requests, results }));
} else {
  console.log(
    `DVABatch on a modelled Titan RTX; seed ${seed}, ${runs} runs of ${requests} requests per point`,
  );
  for (const result of results) printResult(result);
}
