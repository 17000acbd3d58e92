import { linesTable } from "../cellular_batching/fig7.ts";
import {
  latencyChart,
  type Line,
  meanOf,
  peakOf,
} from "../cellular_batching/load.ts";
import type { Experiment } from "../experiment.ts";
import { CONDITIONS, FIXED, lines } from "./systems.ts";

const REDUCTIONS = "Below the peak: how much lower late batching's latency is";
const LINEAR = "The same on a device without steps of 64 rows";

interface Reduction {
  readonly ratePerS: number;
  readonly p50: number;
  readonly p99: number;
}

/** Percentages at rates below 95 % of the lower peak. */
function reductions(late: Line, mxnet: Line): Reduction[] {
  const peak = Math.min(peakOf(late), peakOf(mxnet));
  return late.measured.flatMap((mine, i) => {
    if (mine.ratePerS >= 0.95 * peak) return [];
    const lower = (figure: "p50Ms" | "p99Ms") =>
      100 * (1 - meanOf(mine, figure) / meanOf(mxnet.measured[i], figure));
    return [{
      ratePerS: mine.ratePerS,
      p50: lower("p50Ms"),
      p99: lower("p99Ms"),
    }];
  });
}

function reductionsTable(title: string, rows: readonly Reduction[]) {
  return {
    title,
    columns: ["requests/s", "median, %", "99th percentile, %"],
    rows: rows.map(({ ratePerS, p50, p99 }) => [
      ratePerS,
      Number(p50.toFixed(1)),
      Number(p99.toFixed(1)),
    ]),
  };
}

export const FIXED_LENGTH: Experiment = {
  id: "late_batching.fixed",
  title: "Fig. 6 and 7: fixed length 20",
  claims: ["LT-03"],
  conditions: CONDITIONS,
  async run(context) {
    const all = await lines(context, FIXED);
    const [late, mxnet] = all;
    const rows = reductions(late, mxnet);
    const [lateLinear, mxnetLinear] = await lines(
      context,
      FIXED,
      "Titan X, linear",
    );
    const linear = reductions(lateLinear, mxnetLinear);
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
            "Tiles of 64 rows: a batch of 65 takes twice the time of 64. Between 4000 and 6000/s late batching's batches have " +
            "more rows than that and MXNet's, which take turns, have not. On a device whose time is linear from 64 rows to 512 the " +
            `median is ${
              Math.min(...linear.map(({ p50 }) => p50)).toFixed(0)
            } to ${
              Math.max(...linear.map(({ p50 }) => p50)).toFixed(0)
            } % lower at every rate below the peak.`,
          shownBy: LINEAR,
        },
      }],
      charts: [
        latencyChart("Fig. 6: median", all, "p50Ms"),
        latencyChart("Fig. 7: 99th percentile", all, "p99Ms"),
      ],
      tables: [
        linesTable("Fig. 6 and 7, figures", all),
        reductionsTable(REDUCTIONS, rows),
        reductionsTable(LINEAR, linear),
      ],
    };
  },
};
