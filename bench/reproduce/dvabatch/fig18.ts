/** Fig. 18: split alone. */
import { mean } from "../../../src/base/statistics.ts";
import type { ChartData, Experiment } from "../experiment.ts";
import {
  atLoads,
  type ByLoad,
  delayBatch,
  meanOf,
  pointOf,
  reductions,
} from "./evaluation.ts";
import { SERVING_CONDITIONS } from "./fig14.ts";
import { WITH_OPERATOR_DIVERSITY } from "./networks.ts";
import { dva, type DvaSettings, LOADS, type Run } from "./serving.ts";

/** Published: half of the batches are larger. */
const HALF_ABOVE: Readonly<Record<string, number>> = {
  "LinkNet": 50,
  "U-Net": 30,
};

const SPLIT: DvaSettings = { policy: "II" };

const VARIANTS: Readonly<Record<string, DvaSettings>> = {
  "DVABatch-split": SPLIT,
  "DVABatch": {},
  "neither stretch nor split": { policy: "none" },
  "split, 2 % tolerance": { ...SPLIT, splitTolerance: 0.02 },
  "split, 5 % tolerance": { ...SPLIT, splitTolerance: 0.05 },
  "split, 10 % tolerance": { ...SPLIT, splitTolerance: 0.1 },
  "split in parallel, 5 % tolerance": {
    ...SPLIT,
    splitTolerance: 0.05,
    splitManner: "parallel",
  },
  "split, 5 % tolerance, one pair": {
    ...SPLIT,
    splitTolerance: 0.05,
    pairs: 1,
  },
};

const TABLE = "Split alone: mean latency below DelayBatch's, %";
const meanMs = ({ meanMs }: Run) => meanMs;

export const fig18: Experiment = {
  id: "dvabatch.fig18",
  title: "Fig. 18: the split operation alone",
  claims: ["DV-17"],
  conditions: SERVING_CONDITIONS,
  async run(context) {
    const charts: ChartData[] = [];
    const rows: (string | number)[][] = [];
    const high: number[] = [];
    const medians: { name: string; median: number }[] = [];
    for (const name of WITH_OPERATOR_DIVERSITY) {
      const delayed = await delayBatch(context, name);
      const at = (system: Parameters<typeof atLoads>[1]) =>
        atLoads(context, system, name, delayed.peakPerS);
      const delay = await at(delayed.system);
      const runs: Record<string, ByLoad<Run[]>> = { "DelayBatch": delay };
      for (const [what, settings] of Object.entries(VARIANTS)) {
        runs[what] = await at(dva(name, settings));
      }
      for (const [what, found] of Object.entries(runs)) {
        rows.push([
          name,
          what,
          ...reductions(found, delay, meanMs).map((one) => one.toFixed(1)),
          meanOf(found.high, ({ rowsSeen }) => rowsSeen).toFixed(1),
          // The baseline's decisions do not say when a batch is new.
          ...(found === delay
            ? ["-", "-", "-"]
            : (["medianBatch", "batches", "splits"] as const).map((what) =>
              meanOf(found.high, (run) => run[what]).toFixed(0)
            )),
        ]);
      }
      const split = runs["DVABatch-split"];
      high.push(reductions(split, delay, meanMs)[2]);
      medians.push({
        name,
        median: meanOf(split.high, ({ medianBatch }) => medianBatch),
      });
      charts.push({
        kind: "bars",
        title: `Mean latency of ${name}`,
        x: "load",
        y: "ms",
        categories: LOADS,
        series: ([
          ["DelayBatch", delay],
          ["DVABatch-split", split],
          ["DVABatch", runs["DVABatch"]],
        ] as const).map(([label, runs]) => ({
          name: label,
          points: LOADS.map((load, x) => pointOf(x, runs[load], meanMs)),
        })),
      });
    }
    return {
      findings: [{
        claim: "DV-17",
        compared: [
          {
            name: "mean latency below DelayBatch's, high load",
            as: "reduction",
            published: 15,
            ours: mean(high),
            unit: "%",
          },
          ...medians.map(({ name, median }) => ({
            name: `median batch of ${name}, high load`,
            as: "size" as const,
            published: HALF_ABOVE[name],
            ours: median,
          })),
        ],
        note:
          "The paper says that half of the batches are above; the median is compared with that bound.",
        cause: {
          text:
            "Twice the rows hardly ever take more than twice the time on a device without noise, so Policy II as written splits " +
            "next to nothing: what is gained is the pipeline's overlap, as the row without split says; with a tolerance it splits " +
            "and loses. Batches are small because nobody needs larger ones: a query gets little cheaper beyond a few rows, " +
            "DelayBatch's own batches are small at that load, and a pipeline takes a new one as soon as its first stage is free.",
          shownBy: TABLE,
        },
      }],
      charts,
      tables: [{
        title: TABLE,
        columns: [
          "network",
          "system",
          ...LOADS,
          "rows a batch, high",
          "median batch, high",
          "batches, high",
          "splits, high",
        ],
        rows,
      }],
    };
  },
};
