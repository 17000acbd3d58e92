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

const MODEL = "resnet50";
/** Inferences alive at once in every mix. */
const TOTAL = 32;
const MIX_WORKERS = 4;

/** E2bird's N workers of M and its policies on real kernels (Fig. 7, 12 and 13). */
export const workerMixes: Experiment = {
  id: "machine.worker_mixes",
  title: "E2bird's workers on ResNet-50: N of size M, and N-Ebird",
  claims: [],
  conditions:
    `As E2bird's Fig. 7 and 12 (EB-06, EB-12) and 13 (EB-16), on worker threads of this machine, which share its ` +
    `cores when they are more: ${
      Served.sizes(MODEL)
    }. ${TOTAL} inferences at once as N batches of ${TOTAL} / N; N-Ebird has workers of 1, 2, 4 and 8.`,
  exclusive: true,
  async run(context) {
    const { seconds, shares } = scaleOf(context);
    const counts = context.quick ? [1, 2] : [1, 2, 4, 8];
    const mixes: { workers: number; perS: number }[] = [];
    for (const workers of counts) {
      await using served = new Served(context, {
        ...{ model: MODEL, workers, seconds },
      });
      const options = { batchSizeMax: TOTAL / workers, windowNs: 0 };
      const perS = await served.peakPerS({ policy: "graph", options });
      mixes.push({ workers, perS });
    }
    const choices: Choices = {
      "N-Ebird": { policy: "n-ebird", options: { workers: [1, 2, 4, 8] } },
      NO_Wait: graph({ windowNs: 0 }),
      "30 ms wait": graph({ windowNs: 30e6 }),
      Static: graph({ windowNs: 30e6, dummyRows: true }),
    };
    await using served = new Served(context, {
      ...{ model: MODEL, workers: MIX_WORKERS, seconds },
    });
    const found = await peaks(served, choices);
    const peakPerS = Math.max(...found.values());
    const loaded = await underLoad(served, choices, { peakPerS, shares });
    const chart = (title: string, y: "meanMs" | "p99Ms"): ChartData => ({
      kind: "lines",
      title,
      x: "arrivals, requests/s",
      y: "ms",
      logY: true,
      series: lines(loaded, y, "ratePerS"),
    });
    return {
      findings: [],
      charts: [
        {
          kind: "bars",
          title: `Time of ${TOTAL} inferences as N batches of ${TOTAL} / N`,
          x: "N",
          y: "ms",
          categories: mixes.map(({ workers }) => `${workers}`),
          series: [{
            name: "time",
            points: mixes.map(({ perS }, x) => ({
              x,
              y: 1000 * TOTAL / perS,
            })),
          }],
        },
        chart("Mean latency", "meanMs"),
        chart("99th percentile of latency", "p99Ms"),
      ],
      tables: [loadTable("Runs under load", loaded), peakTable(found)],
    };
  },
};

function graph(options: { windowNs: number; dummyRows?: boolean }) {
  return { policy: "graph", options: { ...options, batchSizeMax: 8 } };
}
