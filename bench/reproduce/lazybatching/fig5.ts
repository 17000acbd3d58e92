/** Fig. 5: what graph batching's window does at low, medium and high traffic. */
import type { ChartData, Experiment } from "../experiment.ts";
import { judged, titleOf } from "./evaluation.ts";
import { graphB } from "./policies.ts";
import { averageOf, type Run, runsOf, spreadOf } from "./runs.ts";

/** The caption's. */
const TRAFFIC = { low: 16, medium: 250, high: 2000 } as const;
const WINDOWS_MS = [5, 25, 50, 75, 99] as const;

const NETWORK = "resnet50";

export const fig5: Experiment = {
  id: "lazybatching.fig5",
  title: "Graph batching's window by traffic",
  claims: ["LB-04"],
  conditions:
    "ResNet-50 on the NPU of Table I, scaled to Table II's time alone; graph batching of at most 64, Poisson arrivals",
  async run(context) {
    const device = judged(NETWORK);
    const swept: Run[][][] = [];
    for (const ratePerS of Object.values(TRAFFIC)) {
      const byWindow: Run[][] = [];
      for (const windowMs of WINDOWS_MS) {
        const policy = graphB(windowMs);
        byWindow.push(
          await runsOf(context, { network: NETWORK, device, policy, ratePerS }),
        );
      }
      swept.push(byWindow);
    }
    const chart = (
      title: string,
      y: string,
      of: (run: Run) => number,
    ): ChartData => ({
      kind: "lines",
      title: `${title}: ${titleOf(NETWORK, device)}`,
      x: "window, ms",
      y,
      series: Object.values(TRAFFIC).map((ratePerS, r) => ({
        name: `${ratePerS}/s`,
        points: WINDOWS_MS.map((windowMs, w) =>
          spreadOf(windowMs, swept[r][w], of)
        ),
      })),
    });
    const value = (name: string, published: number, ours: number) => ({
      name,
      as: "equal" as const,
      published,
      ours,
    });
    return {
      findings: [{
        claim: "LB-04",
        compared: [
          value("low traffic, requests/s", 16, TRAFFIC.low),
          value("medium traffic, requests/s", 250, TRAFFIC.medium),
          value("high traffic, requests/s", 2000, TRAFFIC.high),
          value("narrowest window, ms", 5, WINDOWS_MS[0]),
          value("widest window, ms", 99, WINDOWS_MS[WINDOWS_MS.length - 1]),
        ],
        note:
          "An input of the evaluation. What the figure says of it, that a longer window only costs latency at low " +
          "traffic and makes batches larger at high traffic, is in the charts.",
      }],
      charts: [
        chart("Largest batch", "rows", ({ rowsMax }) => rowsMax),
        chart("Mean latency", "ms", ({ meanMs }) => meanMs),
      ],
      tables: [{
        title: "Largest batch, mean latency",
        columns: ["", ...WINDOWS_MS.map((ms) => `${ms} ms`)],
        rows: Object.entries(TRAFFIC).map(([name, ratePerS], r) => [
          `${name}, ${ratePerS}/s`,
          ...swept[r].map((runs) =>
            `${averageOf(runs, ({ rowsMax }) => rowsMax).toFixed(0)}, ${
              averageOf(runs, ({ meanMs }) => meanMs).toFixed(1)
            } ms`
          ),
        ]),
      }],
    };
  },
};
