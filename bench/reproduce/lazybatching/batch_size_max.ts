/** Section VI-C: graph batching with a smaller model-allowed maximum batch size. */
import { mean } from "../../../src/base/statistics.ts";
import type { Experiment } from "../experiment.ts";
import { withCause } from "./cause.ts";
import { gainsOf, judged, MAIN_NETWORKS, sweep } from "./evaluation.ts";
import { workloadOf } from "./networks.ts";
import { BATCH_SIZE_MAX, graphB, LAZYB, WINDOWS_MS } from "./policies.ts";

const SIZES = [16, 32, BATCH_SIZE_MAX] as const;
const PUBLISHED = [
  { size: 16, latency: 12, throughput: 1.3 },
  { size: 32, latency: 14, throughput: 1.3 },
] as const;

const RATES = [16, 250, 1000, 2000] as const;
const QUICK_RATES = [16, 1000] as const;

export const batchSizeMax: Experiment = {
  id: "lazybatching.batch_size_max",
  title: "Graph batching of at most 16 and 32",
  claims: ["LB-23"],
  conditions:
    "The NPU of Table I, scaled to Table II's time alone; averages over 16, 250, 1000 and 2000 requests/s, the " +
    "windows and the three networks; one run per point. LazyB keeps its maximum of 64",
  async run(context) {
    const rates = context.quick ? QUICK_RATES : RATES;
    const title = "Gains by graph batching's maximum, averaged over windows";
    const latency: number[][] = [];
    const throughput: number[][] = [];
    const rows: string[][] = [];
    for (const network of MAIN_NETWORKS) {
      const gains = [];
      for (const size of SIZES) {
        // The default is what Fig. 12 has measured.
        const batchSizeMax = size === BATCH_SIZE_MAX ? undefined : size;
        const swept = await sweep(context, network, judged(network), {
          rates,
          policies: {
            LazyB: LAZYB,
            ...Object.fromEntries(
              WINDOWS_MS.map((ms) => [
                `GraphB(${ms})`,
                graphB(ms, batchSizeMax),
              ]),
            ),
          },
          runs: 1,
        });
        gains.push({
          latency: gainsOf(swept, "latency").average,
          throughput: gainsOf(swept, "throughput").average,
        });
      }
      latency.push(gains.map(({ latency }) => latency));
      throughput.push(gains.map(({ throughput }) => throughput));
      rows.push([
        workloadOf(network).title,
        ...gains.map(({ latency, throughput }) =>
          `${latency.toFixed(1)}x, ${throughput.toFixed(2)}x`
        ),
      ]);
    }
    const over = (gains: readonly (readonly number[])[], size: number) =>
      mean(gains.map((one) => one[SIZES.findIndex((each) => each === size)]));
    return {
      findings: [withCause(
        {
          claim: "LB-23",
          compared: PUBLISHED.flatMap(({ size, ...published }) => [
            {
              name: `latency, at most ${size}`,
              as: "gain" as const,
              published: published.latency,
              ours: over(latency, size),
            },
            {
              name: `throughput, at most ${size}`,
              as: "gain" as const,
              published: published.throughput,
              ours: over(throughput, size),
            },
          ]),
        },
        "As with the default maximum, throughput differs only where graph batching cannot keep up.",
        title,
      )],
      charts: [],
      tables: [{
        title,
        columns: [
          "latency, throughput",
          ...SIZES.map((size) => `at most ${size}`),
        ],
        rows: [...rows, [
          "all three",
          ...SIZES.map((size) =>
            `${over(latency, size).toFixed(1)}x, ${
              over(throughput, size).toFixed(2)
            }x`
          ),
        ]],
      }],
    };
  },
};
