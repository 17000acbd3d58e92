import { ascending } from "../../../src/base/statistics.ts";
import { corpus, fixedLengths } from "../../../src/workload/lengths.ts";
import { Prng } from "../../../src/base/prng.ts";
import { JointHistogram } from "../../../src/workload/histogram.ts";
import { linesTable } from "../cellular_batching/fig7.ts";
import {
  latencyChart,
  type Line,
  meanOf,
  measureLine,
  peakOf,
} from "../cellular_batching/load.ts";
import type {
  ChartData,
  Context,
  Experiment,
  TableData,
} from "../experiment.ts";
import { CONDITIONS, FOLD, LATE, lines, rates } from "./systems.ts";

const MERGING = "Merging as a share of the computation: what it does to Fold";
const LENGTHS = "Lengths";

function throughputChart(measured: readonly Line[]): ChartData {
  return {
    kind: "lines",
    title: "Fig. 5: throughput against load",
    x: "offered (requests/s)",
    y: "reached (requests/s)",
    series: measured.map(({ name, measured }) => ({
      name,
      points: measured.map((one) => ({
        x: one.ratePerS,
        y: meanOf(one, "perS"),
      })),
    })),
  };
}

async function mergingTable(
  context: Context,
): Promise<TableData> {
  const rows: (string | number)[][] = [];
  for (const mergeShare of context.quick ? [0, 2] : [0, 0.5, 1, 2, 4]) {
    const line = await measureLine(context, "Fold", {
      ...FOLD,
      mergeShare,
    }, [250, 1000, 10_000]);
    rows.push([
      mergeShare,
      Math.round(peakOf(line)),
      ...line.measured.slice(0, 2).flatMap((one) =>
        (["p50Ms", "p99Ms"] as const).map((figure) =>
          Number(meanOf(one, figure).toFixed(1))
        )
      ),
    ]);
  }
  return {
    title: MERGING,
    columns: [
      "share",
      "peak/s",
      "p50 at 250/s (ms)",
      "p99",
      "p50 at 1000/s (ms)",
      "p99",
    ],
    rows,
  };
}

async function aheadTable(context: Context): Promise<TableData> {
  const rows: (string | number)[][] = [];
  const { submitUs: driverUs } = LATE;
  for (
    const submitUs of context.quick ? [driverUs] : [0, driverUs, 4 * driverUs]
  ) {
    for (const pushAhead of context.quick ? [1, 2] : [1, 2, 3]) {
      const line = await measureLine(context, "late", {
        ...LATE,
        submitUs,
        pushAhead,
      }, [1000, 10_000]);
      rows.push([
        submitUs,
        pushAhead,
        Math.round(peakOf(line)),
        Number(meanOf(line.measured[0], "p50Ms").toFixed(1)),
        Number(meanOf(line.measured[0], "p99Ms").toFixed(1)),
      ]);
    }
  }
  return {
    title: "Ahead-of-time scheduling: blocks on the device",
    columns: [
      "driver us per block",
      "blocks",
      "peak/s",
      "p50 at 1000/s (ms)",
      "p99 (ms)",
    ],
    rows,
  };
}

export const WMT15: Experiment = {
  id: "late_batching.wmt15",
  title: "Fig. 3-5: WMT15",
  claims: ["LT-02", "LT-04", "LT-05"],
  conditions: CONDITIONS,
  async run(context) {
    const all = await lines(context, "europarl");
    const [late, mxnet, fold] = all;
    const merging = await mergingTable(context);
    const ahead = await aheadTable(context);
    const europarl = corpus("europarl-v7.de-en");
    const english = ascending(
      [...new JointHistogram(europarl.counts).entries()].map(
        ([, target]) => target,
      ),
    );
    const gain = peakOf(late) / peakOf(mxnet);
    const capacity = peakOf(mxnet);
    // Beyond its own peak everybody's latency is how long the overload has lasted.
    const worse = rates(context).flatMap((rate, i) => {
      if (rate > capacity) return [];
      const [mine, padded, merged] = all.map(({ measured }) => measured[i]);
      return (["p50Ms", "p99Ms"] as const).map((figure) => ({
        rate,
        figure,
        holds: meanOf(merged, figure) > meanOf(mine, figure) &&
          meanOf(merged, figure) > meanOf(padded, figure),
      }));
    });
    const exceptions = worse.filter(({ holds }) => !holds);
    return {
      findings: [
        {
          claim: "LT-02",
          compared: [
            {
              name: "shortest sentence",
              as: "equal",
              published: 1,
              ours: english[0],
            },
            {
              name: "longest sentence",
              as: "size",
              published: 330,
              ours: english[english.length - 1],
            },
            {
              name: "fixed length",
              as: "equal",
              published: 20,
              ours: fixedLengths(20).sample(new Prng(1)).source,
            },
          ],
          note: `Requests are drawn from ${europarl.pairs} pairs; at most ${
            2 * Math.max(...rates(context))
          } per point instead of 100,000. Poisson arrivals.`,
          cause: {
            text:
              "The sample of Europarl that can be had was cut at 80 tokens by its publisher.",
            shownBy: LENGTHS,
          },
        },
        {
          claim: "LT-04",
          compared: [
            {
              name: "peak over MXNet's, least",
              as: "gain",
              published: 1.25,
              ours: gain,
            },
            {
              name: "most",
              as: "gain",
              published: 1.33,
              ours: gain,
            },
          ],
        },
        {
          claim: "LT-05",
          compared: [
            {
              name: "Fold's median and 99th percentile up to MXNet's peak",
              as: "holds",
              published: "strictly worse",
              ours: exceptions.length === 0,
              seen: exceptions.length === 0
                ? `at all of ${worse.length / 2} rates`
                : `not at ${
                  exceptions.map(({ rate, figure }) =>
                    `${rate}/s (${figure.slice(0, 3)})`
                  ).join(", ")
                }`,
            },
            {
              name: "Fold's peak",
              as: "holds",
              published: "lower than both",
              ours: peakOf(fold) < Math.min(peakOf(late), peakOf(mxnet)),
              seen: [fold, mxnet, late].map((line) =>
                `${peakOf(line).toFixed(0)}/s`
              ).join(", "),
            },
          ],
          note:
            'Assumption: merging takes twice as long as computing ("a large proportion"; "much longer" in the next paper). ' +
            "With once as long its 99th percentile at 250/s is below MXNet's, whose requests wait for a round of buckets.",
          cause: {
            text:
              "How long merging takes is the whole of it: without it merged graphs pad nothing and wait for no bucket.",
            shownBy: MERGING,
          },
        },
      ],
      charts: [
        latencyChart("Fig. 3: median", all, "p50Ms"),
        latencyChart("Fig. 4: 99th percentile", all, "p99Ms"),
        throughputChart(all),
      ],
      tables: [
        linesTable("Fig. 3-5, figures", all),
        merging,
        ahead,
        {
          title: LENGTHS,
          columns: ["", "mean", "99th percentile", "longest"],
          rows: [[
            europarl.name,
            europarl.target.mean,
            europarl.target.p99,
            europarl.target.max,
          ]],
        },
      ],
    };
  },
};
