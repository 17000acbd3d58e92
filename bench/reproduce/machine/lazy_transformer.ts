import { mean } from "../../../src/base/statistics.ts";
import { NS_PER_MS } from "../../../src/base/units.ts";
import type { Experiment, Json, TableData } from "../experiment.ts";
import {
  type Choices,
  lines,
  type Loaded,
  loadTable,
  peaks,
  peakTable,
  underLoad,
} from "./load_lines.ts";
import { scaleOf } from "./scale.ts";
import { type Measured, Served } from "./served.ts";

const WINDOWS_MS = [5, 25, 95];
const QUICK_WINDOWS_MS = [5, 95];
const SLA_MS = 100;
const SLAS_MS = [10, 20, 40, 60, 80, 100];
const SIZES = [1, 4, 16, 64];
const QUICK_SIZES = [1, 16];

/** LazyBatching's Fig. 12 and 15 on this machine. */
export const lazyTransformer: Experiment = {
  id: "machine.lazy_transformer",
  title: "LazyB and windows on a Transformer",
  claims: [],
  conditions:
    `As LazyBatching's Fig. 12 to 15, on one worker thread of this machine: ${
      Served.sizes("transformer")
    }. SLA ${SLA_MS} ms, at most 64 per batch; LazyB has this machine's profile.`,
  exclusive: true,
  async run(context) {
    const { seconds, shares } = scaleOf(context);
    await using served = new Served(context, {
      ...{ model: "transformer", workers: 1, seconds },
    });
    const windowsMs = context.quick ? QUICK_WINDOWS_MS : WINDOWS_MS;
    const profile: Json = await served.profile(
      context.quick ? QUICK_SIZES : SIZES,
    );
    const choices: Choices = {
      LazyB: {
        policy: "lazy",
        options: { profile, slaNs: SLA_MS * NS_PER_MS, batchSizeMax: 64 },
      },
      Serial: { policy: "serial", options: {} },
      ...Object.fromEntries(windowsMs.map((ms) => [`GraphB(${ms})`, {
        policy: "graph",
        options: { windowNs: ms * NS_PER_MS, batchSizeMax: 64 },
      }])),
    };
    const found = await peaks(served, choices);
    const peakPerS = Math.max(...found.values());
    const loaded = await underLoad(served, choices, { peakPerS, shares });
    const most = shares[shares.length - 1];
    const fullest = loaded.filter(({ share }) => share === most);
    return {
      findings: [],
      charts: [
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
          title: "Throughput",
          x: "arrivals, requests/s",
          y: "requests/s",
          series: lines(loaded, "perS", "ratePerS"),
        },
        {
          kind: "lines",
          title: `Requests beyond a target, at ${
            Math.round(100 * most)
          } % load`,
          x: "SLA target, ms",
          y: "% of requests",
          series: fullest.map(({ name, runs }) => ({
            name,
            points: SLAS_MS.map((slaMs) => ({
              x: slaMs,
              y: 100 * mean(runs.map((run) => beyond(run, slaMs))),
            })),
          })),
        },
      ],
      tables: [
        bestWindowTable(loaded),
        loadTable("Runs under load", loaded),
        peakTable(found),
      ],
    };
  },
};

/** Share of requests that took longer, as exact as the quantiles are. */
function beyond({ quantilesMs }: Measured, slaMs: number): number {
  return quantilesMs.filter((ms) => ms > slaMs).length / quantilesMs.length;
}

function bestWindowTable(loaded: readonly Loaded[]): TableData {
  const shares = [...new Set(loaded.map(({ share }) => share))];
  return {
    title: "LazyB and the best window",
    columns: ["load, %", "LazyB, ms", "best window", "ms", "ratio"],
    rows: shares.map((share) => {
      const means = loaded.filter((one) => one.share === share)
        .map(({ name, runs }): [string, number] => [
          name,
          mean(runs.map(({ meanMs }) => meanMs)),
        ]);
      const [, lazyMs] = means.find(([name]) => name === "LazyB")!;
      const [best, bestMs] = means.filter(([name]) => name.startsWith("GraphB"))
        .reduce((a, b) => b[1] < a[1] ? b : a);
      return [Math.round(100 * share), lazyMs, best, bestMs, bestMs / lazyMs];
    }),
  };
}
