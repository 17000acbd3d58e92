/** Sections 7.1 and 8.1: what the experiments are set up with, beside what the paper's were. */
import { NS_PER_S } from "../../../src/base/units.ts";
import { TITAN_RTX } from "../../../src/cost/gpu_cost.ts";
import {
  durationNs,
  PROFILED_SIZES,
  timeEven,
} from "../../../src/policy/dvabatch/stages.ts";
import { poisson } from "../../../src/workload/arrivals.ts";
import type { Compared } from "../claim.ts";
import type { Experiment } from "../experiment.ts";
import { TRIES } from "./fig20.ts";
import { network, NETWORKS } from "./networks.ts";
import { SETUP } from "./serving.ts";

const PUBLISHED_NETWORKS = [
  "U-Net",
  "LinkNet",
  "BERT base",
  "BERT large",
  "VGG-19",
  "ResNet-152",
];
const PUBLISHED_SIZES = [1, 2, 4, 8, 16, 32, 64];
const MINUTES = 10;

const equal = (name: string, published: number, ours: number): Compared => ({
  name,
  as: "equal",
  published,
  ours,
});

const same = (
  name: string,
  published: readonly (string | number)[],
  ours: readonly (string | number)[],
): Compared => ({
  name,
  as: "holds",
  published: published.join(", "),
  ours: published.join() === ours.join(),
  seen: ours.join(", "),
});

/** Device time of executing every stage once at every profiled size, for every number of stages tried, s. */
function profilingS(name: string): number {
  const { model, profile } = network(name);
  let ns = 0;
  for (const count of TRIES) {
    for (const stage of timeEven(model, count, profile, SETUP.batchSizeMax)) {
      for (const size of PROFILED_SIZES) ns += durationNs(stage, size, profile);
    }
  }
  return ns / NS_PER_S;
}

export const setup: Experiment = {
  id: "dvabatch.setup",
  title: "Sections 7.1 and 8.1: setups",
  claims: ["DV-08", "DV-11"],
  conditions:
    "The configuration objects that the other experiments run with; profiling takes what the modelled device would.",
  run() {
    const times = NETWORKS.map(profilingS);
    const slowest = Math.max(...times);
    return Promise.resolve({
      findings: [{
        claim: "DV-08",
        compared: [
          same("profiled batch sizes", PUBLISHED_SIZES, PROFILED_SIZES),
          equal("numbers of stages tried", 8, TRIES.length),
          {
            name: "time to profile them",
            as: "holds",
            published: `${MINUTES} minutes`,
            ours: slowest <= 60 * MINUTES,
            seen: `${slowest.toFixed(1)} s for the slowest network (${
              NETWORKS[times.indexOf(slowest)]
            }), each stage executed once at each size`,
          },
        ],
      }, {
        claim: "DV-11",
        compared: [
          same("device", ["Titan RTX"], [TITAN_RTX.name]),
          same(
            "networks",
            PUBLISHED_NETWORKS,
            NETWORKS.map((name) => name.split(",")[0]),
          ),
          same("workload of BERT", ["RTE"], [
            ...new Set(
              NETWORKS.flatMap((name) => name.split(", ").slice(1)),
            ),
          ]),
          equal("bs_max", 64, SETUP.batchSizeMax),
          equal("target, ms", 200, SETUP.qosMs),
          equal("low load", 0.25, SETUP.loads.low),
          equal("medium load", 0.6, SETUP.loads.medium),
          equal("high load", 0.9, SETUP.loads.high),
          same("arrivals", ["poisson 1/s"], [poisson({ ratePerS: 1 }).name]),
        ],
        note: "The device is a model of the paper's.",
      }],
      charts: [],
      tables: [{
        title:
          "Networks on the device: stages' time at 64, and the whole at 1 and 64, ms",
        columns: ["network", "policy", "stages", "alone", "64", "profiling, s"],
        rows: NETWORKS.map((name, i) => {
          const { model, profile, policy, stages } = network(name);
          const ms = (rows: number, cells = model.cells) =>
            (durationNs(cells, rows, profile) / 1e6).toFixed(1);
          return [
            name,
            policy,
            timeEven(model, stages, profile, SETUP.batchSizeMax)
              .map((stage) => ms(SETUP.batchSizeMax, stage)).join(" + "),
            ms(1),
            ms(SETUP.batchSizeMax),
            times[i].toFixed(1),
          ];
        }),
      }],
    });
  },
};
