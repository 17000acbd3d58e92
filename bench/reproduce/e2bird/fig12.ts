import { mean } from "../../../src/base/statistics.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import type { SharedCost } from "../../../src/cost/shared_cost.ts";
import {
  combinations,
  engineConfiguration,
  RES152_CONFIGURATIONS,
  searchConfigurations,
  type SearchObjective,
  workerSizes,
} from "../../../src/policy/e2bird/offline.ts";
import type { Compared } from "../claim.ts";
import type {
  ChartData,
  Experiment,
  Outcome,
  TableData,
} from "../experiment.ts";
import { latenciesTogetherNs, networkCost } from "./device.ts";

const TOTAL = 32;
const SIZES = 6;
const BEST = [0, 0, 0, 2, 1, 0];
const SINGLE = [0, 0, 0, 0, 0, 1];

const equal = networkCost("Res152", "equal");

/** Devices by what running batches do to each other. */
const DEVICES: Readonly<Record<string, SharedCost>> = {
  "equal sharing (section 7.2)": equal,
  "interference (Fig. 12's two figures)": networkCost(
    "Res152",
    "interference",
  ),
  "tiles and waves": networkCost("Res152", "tiles"),
  "every batch fills the device": {
    latencyNs: (cell, rows) => equal.latencyNs(cell, rows),
    demand: () => 1,
  },
};
const [EQUAL, INTERFERENCE] = Object.keys(DEVICES);

interface Mix {
  readonly counts: readonly number[];
  /** Mean latency over workers (section 7.3.1). */
  readonly ms: number;
}

function mixMs(cost: SharedCost, counts: readonly number[]): number {
  return mean(latenciesTogetherNs(cost, workerSizes(counts))) / NS_PER_MS;
}

/** Every mix, the fastest first. */
function profile(cost: SharedCost): Mix[] {
  return combinations(TOTAL, SIZES)
    .map((counts) => ({ counts, ms: mixMs(cost, counts) }))
    .sort((a, b) => a.ms - b.ms);
}

/** The paper's own form: a line for each of the six best and the two worst mixes. */
function chart(device: string, mixes: readonly Mix[]): ChartData {
  return {
    kind: "lines",
    title: `Best and worst mixes of 32 for Res152: ${device}`,
    x: "log2 of the worker's size",
    y: "workers",
    series: [...mixes.slice(0, 6), ...mixes.slice(-2)].map((
      { counts, ms },
    ) => ({
      name: `${ms.toFixed(1)} ms [${counts}]`,
      points: counts.map((y, x) => ({ x, y })),
    })),
  };
}

const BY_DEVICE =
  "Mixes of 32 for Res152 by device, mean latency of workers, ms";

function byDevice(): TableData {
  return {
    title: BY_DEVICE,
    columns: [
      "device",
      "best",
      "ms",
      "[0,0,0,2,1,0]",
      "one of 32",
      "worst",
      "ms",
      "worst / best",
    ],
    rows: Object.entries(DEVICES).map(([device, cost]) => {
      const mixes = profile(cost);
      const [best, worst] = [mixes[0], mixes[mixes.length - 1]];
      return [
        device,
        `[${best.counts}]`,
        best.ms.toFixed(1),
        mixMs(cost, BEST).toFixed(1),
        mixMs(cost, SINGLE).toFixed(1),
        `[${worst.counts}]`,
        worst.ms.toFixed(1),
        (worst.ms / best.ms).toFixed(2),
      ];
    }),
  };
}

function searched(): TableData {
  const objectives: readonly (readonly [string, SearchObjective])[] = [
    ["mean of workers (section 7.3.1)", "worker"],
    ["mean of inferences", "inference"],
    ["until all are done", "last"],
  ];
  const totals = Object.keys(RES152_CONFIGURATIONS);
  return {
    title:
      "Mixes that the offline phase finds for Res152, by device and objective",
    columns: ["device", "objective", ...totals],
    rows: Object.entries(DEVICES).flatMap(([device, cost]) =>
      objectives.map(([name, objective]) => {
        const found = searchConfigurations({
          objective,
          latenciesNs: (sizes) => latenciesTogetherNs(cost, sizes),
        });
        return [
          device,
          name,
          ...totals.map((total) => `[${found[Number(total)]}]`),
        ];
      })
    ),
  };
}

/** Table 4, as printed. */
const TABLE_4: Readonly<Record<number, readonly number[]>> = {
  4: [0, 0, 1, 0, 0, 0],
  8: [0, 0, 0, 1, 0, 0],
  16: [0, 0, 2, 1, 0, 0],
  32: [0, 0, 0, 2, 1, 0],
};
const ENGINE = [1, 1, 1, 2, 1, 0];

const NEEDED = "Workers of size 4 that Table 4's mixes need";

function table4(): Compared[] {
  const engine = engineConfiguration(RES152_CONFIGURATIONS);
  return [
    ...Object.entries(TABLE_4).map(([total, counts]): Compared => ({
      name: `mix for ${total}`,
      as: "holds",
      published: `[${counts}]`,
      ours: `${RES152_CONFIGURATIONS[Number(total)]}` === `${counts}`,
      seen: `[${RES152_CONFIGURATIONS[Number(total)]}]`,
    })),
    {
      name: "engine that satisfies every mix",
      as: "holds",
      published: `[${ENGINE}]`,
      ours: `${engine}` === `${ENGINE}`,
      seen: `[${engine}]`,
    },
  ];
}

function run(): Promise<Outcome> {
  const mixes = profile(equal);
  const [best, worst] = [mixes[0], mixes[mixes.length - 1]];
  const bestMs = mixMs(equal, BEST);
  const singleMs = mixMs(equal, SINGLE);
  return Promise.resolve({
    findings: [
      {
        claim: "EB-12",
        compared: [
          {
            name: "best mix",
            as: "holds",
            published: `[${BEST}]`,
            ours: `${best.counts}` === `${BEST}`,
            seen: `[${best.counts}], ${best.ms.toFixed(1)} ms`,
          },
          {
            name: `[${BEST}]`,
            as: "size",
            published: 85.3,
            ours: bestMs,
            unit: "ms",
          },
          {
            name: "one worker of 32",
            as: "size",
            published: 93.7,
            ours: singleMs,
            unit: "ms",
          },
          {
            name: `[${BEST}] against one of 32`,
            as: "gain",
            published: 93.7 / 85.3,
            ours: singleMs / bestMs,
          },
          {
            name: "worst against best",
            as: "gain",
            published: 4,
            ours: worst.ms / best.ms,
          },
        ],
        cause: {
          text:
            "where workers share equally, small ones end early and lower the mean, and nothing makes many of them slow; " +
            "four times needs streams that cost each other, and even then a mean over workers prefers small ones",
          shownBy: BY_DEVICE,
        },
      },
      {
        claim: "EB-13",
        compared: table4(),
        cause: {
          text:
            "the printed engine lacks one of the two workers of size 4 that its own mix for 16 needs",
          shownBy: NEEDED,
        },
      },
    ],
    charts: [
      chart(EQUAL, mixes),
      chart(INTERFERENCE, profile(DEVICES[INTERFERENCE])),
    ],
    tables: [
      byDevice(),
      searched(),
      {
        title: NEEDED,
        columns: ["", "workers of size 4"],
        rows: [
          ...Object.entries(TABLE_4).map(([total, counts]) => [
            `mix for ${total}`,
            counts[2],
          ]),
          ["engine as printed", ENGINE[2]],
          ["engine of every mix", engineConfiguration(TABLE_4)[2]],
        ],
      },
    ],
  });
}

/** Fig. 12 and Table 4: the offline phase. */
export const FIG_12: Experiment = {
  id: "e2bird.fig12",
  title: "The offline phase: mixes of workers for ResNet-152",
  claims: ["EB-12", "EB-13"],
  conditions:
    "All 202 mixes of 32, their workers started together on a simulated Titan RTX with Table 1's latencies. Judged on " +
    "equal sharing: the interference shown beside it is derived from this very figure.",
  run,
};
