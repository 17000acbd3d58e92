import { parallelism } from "../../../src/engine/wall/runtime.ts";
import type { Experiment, Json } from "../experiment.ts";
import {
  type Choices,
  lines,
  loadTable,
  peaks,
  peakTable,
  underLoad,
} from "./load_lines.ts";
import { scaleOf } from "./scale.ts";
import { Served } from "./served.ts";

const SIZES = [1, 2, 4, 8, 16];
const BATCH = { batchSizeMax: 16 };

/** Policy III with stages and buffer pairs (DVABatch's Fig. 19), beside batching without a window. */
function choicesOf(profile: Json): Choices {
  const staged = (stages: number, pairs: number) => ({
    policy: "dvabatch",
    options: { ...BATCH, profile, policy: "III", stages, pairs },
  });
  return {
    ZeroBatch: { policy: "graph", options: { ...BATCH, windowNs: 0 } },
    "1 stage, 2 pairs": staged(1, 2),
    "4 stages, 1 pair": staged(4, 1),
    "4 stages, 2 pairs": staged(4, 2),
    "4 stages, 3 pairs": staged(4, 3),
  };
}

export const dvabatchStages: Experiment = {
  id: "machine.dvabatch_stages",
  title: "DVABatch's stages and buffer pairs on ResNet-50",
  claims: [],
  conditions:
    `As DVABatch's Fig. 19, on as many worker threads as this machine has cores: ${
      Served.sizes("resnet50")
    }. Policy III with this machine's profile, at most 16 per batch. Workers that share caches and memory are no GPU's ` +
    `streams: two batches at once take about as long as two cores need.`,
  exclusive: true,
  async run(context) {
    const { seconds, shares } = scaleOf(context);
    const workers = parallelism();
    const model = "resnet50";
    const choices = choicesOf(await profileOf());
    await using served = new Served(context, { model, workers, seconds });
    const found = await peaks(served, choices);
    const peakPerS = Math.max(...found.values());
    const loaded = await underLoad(served, choices, { peakPerS, shares });
    return {
      findings: [],
      charts: [
        {
          kind: "bars",
          title: "Peak throughput by stages and pairs",
          x: "",
          y: "requests/s",
          categories: [...found.keys()],
          series: [{
            name: "peak",
            points: [...found.values()].map((y, x) => ({ x, y })),
          }],
        },
        {
          kind: "lines",
          title: "Mean latency",
          x: "arrivals, requests/s",
          y: "ms",
          logY: true,
          series: lines(loaded, "meanMs", "ratePerS"),
        },
        {
          kind: "lines",
          title: "99th percentile of latency",
          x: "arrivals, requests/s",
          y: "ms",
          logY: true,
          series: lines(loaded, "p99Ms", "ratePerS"),
        },
      ],
      tables: [loadTable("Runs under load", loaded), peakTable(found)],
    };

    /** On one worker, as an offline profile is made. */
    async function profileOf(): Promise<Json> {
      await using alone = new Served(context, { model, workers: 1, seconds });
      return await alone.profile(SIZES);
    }
  },
};
