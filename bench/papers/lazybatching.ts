/**
 * LazyBatching's evaluation on the NPU of its Table I: mean latency, throughput, tail and SLA violations of
 * LazyB, Oracle, Serial and GraphB(N) over arrival rates, beside the published figures (section VI-A,
 * Fig. 12 to 14; VI-B, Fig. 15); then the same with single rules switched off, and on devices that gain
 * nothing or more by batching, to see what makes the difference. docs/papers.md says what was found.
 * SLA 100 ms, at most 64 per batch, Poisson arrivals. With --table2 every network's device is slowed down or sped up until a request alone takes what Table II
 * says: an input of the evaluation, not a result.
 *
 *     deno task bench:lazybatching [--network NAME,...] [--quick] [--json] [--seed N] [--runs N]
 *         [--table2]
 */
import { Prng } from "../../src/base/prng.ts";
import { NS_PER_MS } from "../../src/base/units.ts";
import { ROUNDS_MAX } from "../../src/cli/limits.ts";
import {
  integerOption,
  namesOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { BASELINES } from "../../src/policy/baselines/search_window.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { lazy, oracle } from "../../src/policy/lazybatching/lazy.ts";
import type { LazyOptions } from "../../src/policy/lazybatching/lazy_options.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { poisson } from "../../src/workload/arrivals.ts";
import { factsOf } from "./lazy_facts.ts";
import {
  type Point,
  type PolicyResult,
  printNetwork,
  type VariantResult,
} from "./lazy_report.ts";
import {
  flat,
  type Network,
  NETWORKS,
  type NpuMode,
  scaled,
} from "./lazy_networks.ts";
import { type Outcome, progress, simulate } from "../reproduce/simulation.ts";

const RATES = [16, 64, 250, 500, 1000, 1500, 2000];
const QUICK_RATES = [16, 250, 1000, 1500];
/** Rates around the knee, where rules are switched off. */
const VARIANT_RATES = [500, 1000, 1500, 2000];
const QUICK_VARIANT_RATES = [1000, 1500];
const WINDOWS_MS = [5, 25, 50, 75, 95];
const SLAS_MS = [20, 40, 60, 80, 100];
const SLA_MS = 100;
const SLA_RATE = 1000;
const REQUESTS_MIN = 300;

const HELP = `bench:lazybatching [options]

LazyBatching's evaluation on the NPU of its Table I, beside the published figures.

  --network NAMES   comma-separated (default all): ${
  Object.keys(NETWORKS).join(", ")
}
  --quick           fewer rates, requests and runs
  --seed N          seed of requests and arrivals (default 1)
  --runs N          runs per point (default 3; 1 with --quick)
  --table2          devices slowed down or sped up to the times alone of Table II
  --json            the figures as JSON
`;

const { names, quick, seed, runs, table2, json } = taskSettings({
  name: "bench:lazybatching",
  help: HELP,
  options: {
    network: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    seed: { type: "string" },
    runs: { type: "string" },
    table2: { type: "boolean", default: false },
  },
}, ({ values }) => ({
  ...values,
  names: namesOption("network", values.network, Object.keys(NETWORKS)),
  seed: seedOption(values.seed),
  runs: integerOption("runs", values.runs, values.quick ? 1 : 3, {
    min: 1,
    max: ROUNDS_MAX,
  }),
}));

type Build = (network: Network, slaMs: number) => Policy;

function lazyOptions(network: Network, slaMs: number): LazyOptions {
  return {
    profile: (cell, rows, extent) => network.cost.latencyNs(cell, rows, extent),
    slaNs: slaMs * NS_PER_MS,
    decTimesteps: network.decTimesteps,
  };
}

const POLICIES: Readonly<Record<string, Build>> = {
  LazyB: (network, slaMs) => lazy(lazyOptions(network, slaMs)),
  "LazyB, lost ignored": (network, slaMs) =>
    lazy({ ...lazyOptions(network, slaMs), negativeSlack: "ignore" }),
  Oracle: (network, slaMs) => oracle(lazyOptions(network, slaMs)),
  Serial: () => serial(),
  ...Object.fromEntries(WINDOWS_MS.map((ms) => [
    `GraphB(${ms})`,
    () => graph(BASELINES["GraphB"]({ windowNs: ms * NS_PER_MS })),
  ])),
};

interface Variant {
  readonly build: Build;
  readonly mode?: NpuMode;
  /** Batching neither gains nor loses on the device. */
  readonly isFlat?: boolean;
}

const unlimited: Build = (network) => lazy(lazyOptions(network, 1e9));
const graphNow: Build = () => graph({ windowNs: 0 });
const narrow = POLICIES["GraphB(5)"];

/** One thing changed at a time. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  LazyB: { build: POLICIES["LazyB"] },
  "  slack never refuses": { build: unlimited },
  "  slack by exact curves": { build: POLICIES["Oracle"] },
  "  the lost limit nobody": { build: POLICIES["LazyB, lost ignored"] },
  "  no nested preemption": {
    build: (network, slaMs) =>
      lazy({ ...lazyOptions(network, slaMs), nestedPreemption: false }),
  },
  "  no preemption: GraphB(0)": { build: graphNow },
  "GraphB(5)": { build: narrow },
  "flat device: LazyB": { build: POLICIES["LazyB"], isFlat: true },
  "flat device: GraphB(0)": { build: graphNow, isFlat: true },
  "flat device: GraphB(5)": { build: narrow, isFlat: true },
  "causal folds: LazyB": { build: POLICIES["LazyB"], mode: "causal" },
  "causal folds: GraphB(0)": { build: graphNow, mode: "causal" },
  "causal folds: GraphB(5)": { build: narrow, mode: "causal" },
};

interface RunOptions {
  network: Network;
  build: Build;
  ratePerS: number;
  slaMs?: number;
}

function run(
  { network, build, ratePerS, slaMs = SLA_MS }: RunOptions,
): Outcome[] {
  return Array.from({ length: runs }, (_, i) => {
    const prng = new Prng(seed).fork(`run ${i}`);
    const inputs = prng.fork("inputs");
    const requests = Math.max(REQUESTS_MIN, ratePerS * network.seconds);
    const arrivals = poisson({ ratePerS }).timesNs(
      requests,
      prng.fork("arrivals"),
    ).map((arrivalNs) => ({ ...network.request(inputs), arrivalNs }));
    const { cost } = network;
    return simulate({ policy: build(network, slaMs), cost, arrivals });
  });
}

function point(rate: number, outcomes: readonly Outcome[]): Point {
  const average = (of: (outcome: Outcome) => number) =>
    outcomes.reduce((sum, outcome) => sum + of(outcome), 0) / outcomes.length;
  return {
    rate,
    meanMs: average(({ meanMs }) => meanMs),
    p99Ms: average(({ p99Ms }) => p99Ms),
    perS: average(({ perS }) => perS),
    workUs: average(({ workUs }) => workUs),
    utilisation: average(({ utilisation }) => utilisation),
    rowsSeen: average(({ rowsSeen }) => rowsSeen),
    refused: average(({ ops, latenciesNs }) =>
      (ops.refuse ?? 0) / latenciesNs.length
    ),
  };
}

function evaluate(network: Network): PolicyResult[] {
  return Object.entries(POLICIES).map(([policy, build]) => {
    let atSlaRate: Outcome[] | undefined;
    const points = (quick ? QUICK_RATES : RATES).map((ratePerS) => {
      progress(`${network.name}: ${policy} at ${ratePerS}/s`);
      const outcomes = run({ network, build, ratePerS });
      if (ratePerS === SLA_RATE) atSlaRate = outcomes;
      return point(ratePerS, outcomes);
    });
    const isSlaAware = policy.startsWith("LazyB") || policy === "Oracle";
    const violations = SLAS_MS.map((slaMs) => {
      const outcomes = isSlaAware && slaMs !== SLA_MS
        ? run({ network, build, ratePerS: SLA_RATE, slaMs })
        : atSlaRate!;
      let late = 0;
      let all = 0;
      for (const { latenciesNs } of outcomes) {
        all += latenciesNs.length;
        for (const ns of latenciesNs) if (ns > slaMs * NS_PER_MS) late++;
      }
      return { slaMs, share: late / all };
    });
    return { policy, points, violations };
  });
}

/** The network on the modelled device; with --table2 slowed down or sped up to the paper's time alone. */
function networkOf(name: string, mode: NpuMode): Network {
  const network = NETWORKS[name](mode);
  if (!table2) return network;
  const { aloneMs } = factsOf(network, seed);
  return scaled(network, network.published.aloneMs / aloneMs);
}

function vary(name: string): VariantResult[] {
  const networks = {
    overlapped: networkOf(name, "overlapped"),
    causal: networkOf(name, "causal"),
  };
  return Object.entries(VARIANTS).map(([variant, { build, mode, isFlat }]) => ({
    variant,
    points: (quick ? QUICK_VARIANT_RATES : VARIANT_RATES).map((ratePerS) => {
      progress(`${name}: ${variant.trim()} at ${ratePerS}/s`);
      const device = networks[mode ?? "overlapped"];
      const network = isFlat ? flat(device) : device;
      return point(ratePerS, run({ network, build, ratePerS }));
    }),
  }));
}

const results = names.map((name) => {
  const network = networkOf(name, "overlapped");
  return {
    network: name,
    facts: factsOf(network, seed),
    policies: evaluate(network),
    variants: vary(name),
  };
});
if (json) {
  console.log(JSON.stringify({ seed, runs, table2, results }));
} else {
  console.log(
    `LazyBatching on the NPU of Table I${
      table2 ? ", scaled to the times alone of Table II" : ""
    }; seed ${seed}, ${runs} runs per point, SLA ${SLA_MS} ms`,
  );
  for (const { network, ...result } of results) {
    printNetwork(NETWORKS[network]("overlapped"), result);
  }
}
