import { NS_PER_S, NS_PER_US } from "../../../src/base/units.ts";
import type { Context, Experiment } from "../experiment.ts";
import { Served } from "./served.ts";

function sizesOf({ quick, full }: Context): number[] {
  const last = full ? 1024 : quick ? 64 : 256;
  const step = quick ? 4 : 2;
  const sizes: number[] = [];
  for (let rows = 1; rows <= last; rows *= step) sizes.push(rows);
  return sizes;
}

/** BatchMaker's Fig. 3 on this machine. */
export const stepTime: Experiment = {
  id: "machine.step_time",
  title: "Time and throughput of an LSTM step against the rows in its batch",
  claims: [],
  conditions:
    `As BatchMaker's Fig. 3 (CB-03, CB-04), on one worker thread of this machine: ${
      Served.sizes("lstm")
    }. Medians of full batches.`,
  exclusive: true,
  async run(context) {
    await using served = new Served(context, {
      ...{ model: "lstm", workers: 1, seconds: 0 },
    });
    const points = (await served.profile(sizesOf(context)))["lstm_step"];
    return {
      findings: [],
      charts: [
        {
          kind: "lines",
          title: "Time of a step",
          x: "rows in the batch",
          y: "us",
          logX: true,
          logY: true,
          series: [{
            name: "LSTM step",
            points: points.map(([rows, ns]) => ({
              x: rows,
              y: ns / NS_PER_US,
            })),
          }],
        },
        {
          kind: "lines",
          title: "Throughput of steps",
          x: "rows in the batch",
          y: "rows/s",
          logX: true,
          series: [{
            name: "LSTM step",
            points: points.map(([rows, ns]) => ({
              x: rows,
              y: rows * NS_PER_S / ns,
            })),
          }],
        },
      ],
      tables: [{
        title: "LSTM step",
        columns: ["rows", "us", "rows/s", "time of double the rows"],
        rows: points.map(([rows, ns], i) => [
          rows,
          ns / NS_PER_US,
          rows * NS_PER_S / ns,
          points[i + 1]?.[0] === 2 * rows
            ? `${(points[i + 1][1] / ns).toFixed(2)}x`
            : "",
        ]),
      }],
    };
  },
};
