/**
 * E2bird's evaluation on a simulated Titan RTX: N-Ebird and E-Ebird against TensorFlow Serving's OPT_Wait
 * (sections 8.2 and 8.3), beside the published figures; then on devices that differ in one thing each, to
 * see what the gains depend on. docs/papers.md says what was found.
 *
 * Latencies by batch size are Table 1's. Assumption: copying one 224 x 224 x 3 picture takes 50 us (602 KB
 * at 12 GB/s, PCI-e 3.0 x16) and results are small; the paper has neither copies nor sizes 1 and 2
 * (src/cost/published.ts). OPT_Wait has the wait that search finds best for the peak, and beside it the
 * 30 ms that the paper used for ResNet-152 (section 3.2).
 * Assumption: low load is a tenth of the peak; high load is the rate at which the 99th percentile of
 * OPT_Wait reaches the QoS target of 200 ms within the 250 requests.
 *
 *     deno task bench:e2bird [--network NAME,...] [--quick] [--json] [--seed N]
 */
import { Prng } from "../../src/base/prng.ts";
import { ascending, mean, percentile } from "../../src/base/statistics.ts";
import { NS_PER_MS, NS_PER_US } from "../../src/base/units.ts";
import {
  namesOption,
  seedOption,
  taskSettings,
} from "../../src/cli/options.ts";
import { GpuCost, TITAN_RTX } from "../../src/cost/gpu_cost.ts";
import {
  RESNET_TITAN_RTX,
  sharedTable,
  titanRtxInterference,
} from "../../src/cost/published.ts";
import { coRunNs } from "../../src/cost/shared_capacity.ts";
import type { SharedCost } from "../../src/cost/shared_cost.ts";
import { throughInStream } from "../../src/engine/virtual/virtual_driver.ts";
import { resnet50 } from "../../src/npu/networks/resnet50.ts";
import {
  BASELINES,
  searchWindow,
} from "../../src/policy/baselines/search_window.ts";
import { eEbird } from "../../src/policy/e2bird/e_ebird.ts";
import {
  RES152_CONFIGURATIONS,
  searchConfigurations,
} from "../../src/policy/e2bird/offline.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { nEbird } from "../../src/policy/e2bird/n_ebird.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { poisson } from "../../src/workload/arrivals.ts";
import { printDevice } from "./e2bird_report.ts";
import { layerModel } from "../reproduce/layer_model.ts";
import { highestRate, progress, simulate } from "../reproduce/simulation.ts";

/** Section 8.2. */
const LOW = 150;
const HIGH = 250;
const QOS_NS = 200 * NS_PER_MS;
const WINDOWS_MS = [0, 2, 5, 10, 15, 20, 30, 40, 60];
const PUBLISHED_WAIT_MS = 30;
/** Streams of the device: as many as the largest engine has workers. */
const STREAMS = 40;

const HELP = `bench:e2bird [options]

E2bird's evaluation on a simulated Titan RTX, beside the published figures.

  --network NAMES   comma-separated (default all): ${
  Object.keys(RESNET_TITAN_RTX).join(", ")
}
  --quick           fewer rates, requests and runs
  --seed N          seed of requests and arrivals (default 1)
  --json            the figures as JSON
`;

const { networks, quick, seed, json } = taskSettings({
  name: "bench:e2bird",
  help: HELP,
  options: {
    network: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    seed: { type: "string" },
  },
}, ({ values }) => ({
  ...values,
  networks: namesOption(
    "network",
    values.network,
    Object.keys(RESNET_TITAN_RTX),
  ),
  seed: seedOption(values.seed),
}));
const runs = quick ? 4 : 20;
const peakRequests = quick ? 1500 : 3000;

const model = layerModel("network", ["network"]);
const cell = model.cells[0];

/** A device, and how long a picture's copy takes. */
interface Device {
  readonly name: string;
  readonly copyNs: number;
  cost(network: string): SharedCost;
}

const table = (network: string, interference?: (batches: number) => number) =>
  sharedTable(RESNET_TITAN_RTX[network], interference && { interference });

/** The whole of ResNet-50 as one cell on the tiles and waves of src/cost/gpu_cost.ts. */
const tiles = new GpuCost(TITAN_RTX, (_cell, rows) => resnet50(rows));

const DEVICES: readonly Device[] = [
  {
    name: "equal sharing (section 7.2)",
    copyNs: 50 * NS_PER_US,
    cost: (network) => table(network),
  },
  {
    name: "streams cost each other (Fig. 12)",
    copyNs: 50 * NS_PER_US,
    cost: (network) => table(network, titanRtxInterference),
  },
  {
    name: "equal sharing (section 7.2)",
    copyNs: 400 * NS_PER_US,
    cost: (network) => table(network),
  },
  {
    name: "streams cost each other (Fig. 12)",
    copyNs: 400 * NS_PER_US,
    cost: (network) => table(network, titanRtxInterference),
  },
  {
    name: "tiles and waves",
    copyNs: 50 * NS_PER_US,
    cost: () => tiles,
  },
];

/** The copies of a batch go with it. */
function withCopies(cost: SharedCost, copyNs: number): SharedCost {
  return {
    latencyNs: (cell, rows) => cost.latencyNs(cell, rows),
    demand: (cell, rows) => cost.demand(cell, rows),
    interference: (batches) => cost.interference?.(batches) ?? 1,
    htodNs: (_cell, rows) => copyNs * rows,
  };
}

interface System {
  readonly name: string;
  build(): Policy;
  readonly cost: SharedCost;
  readonly workers: number;
  /** A picture's copy when it arrives, ahead of its batch; 0: it is copied with the batch. */
  readonly poolCopyNs: number;
}

function latencies(
  { build, cost, workers, poolCopyNs }: System,
  timesNs: readonly number[],
): Float64Array {
  const arrivals = timesNs.map((arrivalNs) => ({
    model,
    input: {},
    arrivalNs,
  }));
  return simulate({
    policy: build(),
    cost,
    workers,
    arrivals: poolCopyNs > 0 ? throughInStream(arrivals, poolCopyNs) : arrivals,
  }).latenciesNs;
}

/** Section 8.2: requests at a low, then at a high rate. */
function twoPhases(lowPerS: number, highPerS: number, run: number): number[] {
  const prng = new Prng(seed).fork(`run ${run}`);
  const low = poisson({ ratePerS: lowPerS }).timesNs(LOW, prng.fork("low"));
  const high = poisson({ ratePerS: highPerS }).timesNs(HIGH, prng.fork("high"));
  const startNs = low[low.length - 1];
  return [...low, ...high.map((ns) => startNs + ns)];
}

function phaseMeansMs(
  system: System,
  lowPerS: number,
  highPerS: number,
): { lowMs: number; highMs: number } {
  const low: number[] = [];
  const high: number[] = [];
  for (let run = 0; run < runs; run++) {
    const all = latencies(system, twoPhases(lowPerS, highPerS, run));
    low.push(mean(all.slice(0, LOW)) / NS_PER_MS);
    high.push(mean(all.slice(LOW)) / NS_PER_MS);
  }
  return { lowMs: mean(low), highMs: mean(high) };
}

/** Section 8.3: highest steady rate that keeps the 99th percentile below the QoS target. */
function peakPerS(system: System, from: number): number {
  return highestRate(from, (ratePerS) => {
    const times = poisson({ ratePerS }).timesNs(peakRequests, new Prng(seed));
    return percentile(ascending(latencies(system, times)), 0.99) < QOS_NS;
  });
}

export interface SystemResult {
  readonly system: string;
  readonly lowMs: number;
  readonly highMs: number;
  readonly peakPerS: number;
}

export interface DeviceResult {
  readonly network: string;
  readonly device: string;
  readonly copyUs: number;
  readonly lowPerS: number;
  readonly highPerS: number;
  /** E-Ebird's mixes, by system and TotalBS, as its offline phase finds them on this device. */
  readonly configurations: Readonly<
    Record<string, Readonly<Record<number, readonly number[]>>>
  >;
  readonly systems: readonly SystemResult[];
}

function evaluate(network: string, device: Device): DeviceResult {
  const { copyNs } = device;
  const cost = device.cost(network);
  const capacity = 1e9 * 32 / cost.latencyNs(cell, 32);
  const from = capacity / 8;
  const serving = (windowMs: number): System => ({
    name: `OPT_Wait(${windowMs} ms)`,
    build: () =>
      graph(BASELINES["OPT_Wait"]({ windowNs: windowMs * NS_PER_MS })),
    cost: withCopies(cost, copyNs),
    workers: 1,
    poolCopyNs: 0,
  });
  const { windowNs } = searchWindow(
    WINDOWS_MS.map((ms) => ms * NS_PER_MS),
    (windowNs) => peakPerS(serving(windowNs / NS_PER_MS), from),
  );
  const latenciesNs = (sizes: readonly number[]) =>
    coRunNs(
      sizes.map((rows) => ({
        aloneNs: cost.latencyNs(cell, rows),
        demand: cost.demand(cell, rows),
      })),
      (batches) => cost.interference?.(batches) ?? 1,
    );
  const configurations = {
    "E-Ebird, mean of workers": searchConfigurations({ latenciesNs }),
    "E-Ebird, of inferences": searchConfigurations({
      latenciesNs,
      objective: "inference",
    }),
    "E-Ebird, all done": searchConfigurations({
      latenciesNs,
      objective: "last",
    }),
    "E-Ebird, Table 4": RES152_CONFIGURATIONS,
  };
  const optWait = serving(windowNs / NS_PER_MS);
  const naive: System = {
    name: "N-Ebird",
    build: () => nEbird(),
    cost,
    workers: STREAMS,
    poolCopyNs: copyNs,
  };
  const systems: readonly System[] = [
    serving(PUBLISHED_WAIT_MS),
    optWait,
    naive,
    ...Object.entries(configurations).map(([name, configurations]) => ({
      ...naive,
      name,
      build: () => eEbird({ configurations }),
    })),
    {
      ...naive,
      name: "N-Ebird, copies with batch",
      cost: withCopies(cost, copyNs),
      poolCopyNs: 0,
    },
  ];
  const lowPerS = capacity / 10;
  const highPerS = highestRate(capacity / 4, (ratePerS) => {
    const all = latencies(optWait, twoPhases(lowPerS, ratePerS, 0)).slice(LOW);
    return percentile(ascending(all), 0.99) < QOS_NS;
  });
  return {
    network,
    device: device.name,
    copyUs: copyNs / NS_PER_US,
    lowPerS,
    highPerS,
    configurations,
    systems: systems.map((system) => {
      progress(`${network}, ${device.name}: ${system.name}`);
      return {
        system: system.name,
        ...phaseMeansMs(system, lowPerS, highPerS),
        peakPerS: peakPerS(system, from),
      };
    }),
  };
}

const results = networks.flatMap((network) =>
  DEVICES.filter(({ name }) =>
    name !== "tiles and waves" || network === "resnet50"
  ).map((device) => evaluate(network, device))
);
if (json) {
  console.log(JSON.stringify({ seed, runs, results }));
} else {
  console.log(`E2bird on a simulated Titan RTX; seed ${seed}, ${runs} runs`);
  for (const result of results) printDevice(result);
}
