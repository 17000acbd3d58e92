import type { ChartData, Experiment } from "../experiment.ts";
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

const BATCH = { batchSizeMax: 64 };

const RECURRENT: Choices = {
  cellular: { policy: "cellular", options: BATCH },
  late: { policy: "late", options: BATCH },
  bucketed: { policy: "bucketed", options: BATCH },
  graph: { policy: "graph", options: BATCH },
};

/** Recurrent models under load, in the form of BatchMaker's Fig. 7, 13 and 14 and Late Batching's Fig. 3 to 7. */
export const SERVING: readonly Experiment[] = [
  serving(
    "lstm",
    "BatchMaker's Fig. 7, Late Batching's Fig. 3 to 7",
    RECURRENT,
  ),
  serving("seq2seq", "BatchMaker's Fig. 13", RECURRENT),
  serving("treelstm", "BatchMaker's Fig. 14", {
    cellular: RECURRENT.cellular,
    late: RECURRENT.late,
    merged: { policy: "merged", options: BATCH },
  }),
];

function serving(model: string, figure: string, choices: Choices): Experiment {
  return {
    id: `machine.${model}`,
    title: `Policies on ${model}: latency against throughput`,
    claims: [],
    conditions:
      `As ${figure}, on one worker thread of this machine (the other core schedules): ${
        Served.sizes(model)
      }. Poisson arrivals at shares of the best policy's peak, at most 64 rows a batch.`,
    exclusive: true,
    async run(context) {
      const { seconds, shares } = scaleOf(context);
      await using served = new Served(context, { model, workers: 1, seconds });
      const found = await peaks(served, choices);
      const peakPerS = Math.max(...found.values());
      const loaded = await underLoad(served, choices, { peakPerS, shares });
      const chart = (
        title: string,
        y: "p50Ms" | "p90Ms" | "p99Ms",
      ): ChartData => ({
        kind: "lines",
        title,
        x: "throughput, requests/s",
        y: "ms",
        logY: true,
        series: lines(loaded, y, "perS"),
      });
      return {
        findings: [],
        charts: [
          chart("Median latency", "p50Ms"),
          chart("90th percentile of latency", "p90Ms"),
          chart("99th percentile of latency", "p99Ms"),
          {
            kind: "lines",
            title: "Rows that a row saw in its batch",
            x: "arrivals, requests/s",
            y: "rows",
            series: lines(loaded, "meanRows", "ratePerS"),
          },
        ],
        tables: [loadTable("Runs under load", loaded), peakTable(found)],
      };
    },
  };
}
