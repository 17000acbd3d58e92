/** The abstract's averages: over the windows of graph batching and the three networks. */
import { mean } from "../../../src/base/statistics.ts";
import type { Experiment } from "../experiment.ts";
import { withCause } from "./cause.ts";
import {
  AS_MODELLED,
  type Gains,
  gainsOf,
  judged,
  lateShares,
  MAIN_NETWORKS,
  satisfaction,
  sweep,
  titleOf,
  WINDOWS,
} from "./evaluation.ts";
import { SLOWER, slowerTable } from "./slower.ts";

interface Averages {
  readonly title: string;
  readonly latency: Gains;
  readonly throughput: Gains;
  readonly satisfaction: number;
}

export const overall: Experiment = {
  id: "lazybatching.overall",
  title: "Average gains over graph batching",
  claims: ["LB-01"],
  conditions:
    "What Fig. 12, 13 and 15 measure, averaged over rates, windows and the three networks; SLA satisfaction at 1000 " +
    "requests/s over targets of 20 to 100 ms. Assumption: it is the share of requests in time, of windows that are " +
    "narrower than the target",
  async run(context) {
    const scaled: Averages[] = [];
    const modelled: Averages[] = [];
    for (const network of MAIN_NETWORKS) {
      for (
        const [device, runs, into] of [
          [judged(network), context.runs, scaled],
          [AS_MODELLED, 1, modelled],
        ] as const
      ) {
        const swept = await sweep(context, network, device, { runs });
        into.push({
          title: titleOf(network, device),
          latency: gainsOf(swept, "latency"),
          throughput: gainsOf(swept, "throughput"),
          satisfaction: satisfaction(
            await lateShares(context, network, device, { runs }),
          ),
        });
      }
    }
    const gain = (
      name: string,
      published: number,
      of: (averages: Averages) => number,
    ) => ({ name, as: "gain" as const, published, ours: mean(scaled.map(of)) });
    const x = (value: number) => `${value.toFixed(2)}x`;
    return {
      findings: [withCause(
        {
          claim: "LB-01",
          compared: [
            gain("response time", 15, ({ latency }) => latency.average),
            gain("throughput", 1.5, ({ throughput }) => throughput.average),
            gain("SLA satisfaction", 5.5, ({ satisfaction }) => satisfaction),
          ],
        },
        "Whoever serves all that arrives has the throughput of the arrivals: a gain needs a device that one policy " +
          "saturates and the other does not, as slower ones show.",
        SLOWER,
      )],
      charts: [],
      tables: [
        {
          title: "Gains over graph batching, averaged over rates",
          columns: [
            "network, device",
            ...WINDOWS.map((window) => `latency, ${window}`),
            "latency, mean",
            "throughput, mean",
            "SLA satisfaction",
          ],
          rows: [...scaled, ...modelled].map(
            ({ title, latency, throughput, satisfaction }) => [
              title,
              ...latency.byWindow.map(x),
              x(latency.average),
              x(throughput.average),
              x(satisfaction),
            ],
          ),
        },
        await slowerTable(context, MAIN_NETWORKS),
      ],
    };
  },
};
