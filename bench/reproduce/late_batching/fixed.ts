import { linesTable } from "../cellular_batching/fig7.ts";
import { latencyChart, meanOf, peakOf } from "../cellular_batching/load.ts";
import type { Experiment } from "../experiment.ts";
import { CONDITIONS, FIXED, lines, rates } from "./systems.ts";

const REDUCTIONS = "Below the peak: how much lower late batching's latency is";

export const FIXED_LENGTH: Experiment = {
  id: "late_batching.fixed",
  title: "Fig. 6 and 7: fixed length 20",
  claims: ["LT-03"],
  conditions: CONDITIONS,
  async run(context) {
    const all = await lines(context, FIXED);
    const [late, mxnet] = all;
    const peak = Math.min(peakOf(late), peakOf(mxnet));
    const rows = rates(context).flatMap((rate, i) => {
      if (rate >= 0.95 * peak) return [];
      const lower = (figure: "p50Ms" | "p99Ms") =>
        100 *
        (1 - meanOf(late.measured[i], figure) /
            meanOf(mxnet.measured[i], figure));
      return [{ rate, p50: lower("p50Ms"), p99: lower("p99Ms") }];
    });
    const medians = rows.map(({ p50 }) => p50);
    return {
      findings: [{
        claim: "LT-03",
        compared: [
          {
            name: "median, least reduction",
            as: "reduction",
            published: 25,
            ours: Math.min(...medians),
            unit: "%",
          },
          {
            name: "median, most",
            as: "reduction",
            published: 40,
            ours: Math.max(...medians),
            unit: "%",
          },
        ],
        cause: {
          text:
            "What joining at once saves is the rest of the batch under way, up to half of the latency; what it costs is the " +
            "driver's time per block, when the device has no next one, and smaller batches.",
          shownBy: REDUCTIONS,
        },
      }],
      charts: [
        latencyChart("Fig. 6: median", all, "p50Ms"),
        latencyChart("Fig. 7: 99th percentile", all, "p99Ms"),
      ],
      tables: [
        linesTable("Fig. 6 and 7, figures", all),
        {
          title: REDUCTIONS,
          columns: ["requests/s", "median, %", "99th percentile, %"],
          rows: rows.map(({ rate, p50, p99 }) => [
            rate,
            Number(p50.toFixed(1)),
            Number(p99.toFixed(1)),
          ]),
        },
      ],
    };
  },
};
