/**
 * The same evaluation on devices that are slower by a factor: how far a published figure is one of the device's
 * capacity. Beyond its capacity every policy's latency is its backlog's, and throughput is work saved.
 */
import { ascending } from "../../../src/base/statistics.ts";
import type { Context, TableData } from "../experiment.ts";
import { percent } from "../simulation.ts";
import {
  figures,
  gainsOf,
  HEAVY_RATE,
  judged,
  latency,
  type Sweep,
  sweep,
  WINDOWS,
} from "./evaluation.ts";
import { type NetworkName, workloadOf } from "./networks.ts";
import { graphB, LAZYB, SLAS_MS, WINDOWS_MS } from "./policies.ts";

const FACTORS = [1, 1.5, 2, 4] as const;
const QUICK_FACTORS = [1, 2] as const;

const POLICIES = {
  LazyB: LAZYB,
  ...Object.fromEntries(WINDOWS_MS.map((ms) => [`GraphB(${ms})`, graphB(ms)])),
};

/** Least 99th percentile of the windows, ms. */
function bestTail(swept: Sweep): number {
  return ascending(
    WINDOWS.map((window) => figures(swept, window, ({ p99Ms }) => p99Ms)[0]),
  )[0];
}

/** Share of the windows that are late for more than half of the requests at 100 ms. */
function badWindows(swept: Sweep): number {
  const loosest = SLAS_MS.length - 1;
  return WINDOWS.filter((window) =>
    figures(swept, window, ({ late }) => late[loosest])[0] > 0.5
  ).length / WINDOWS.length;
}

/** A row for each network and factor, at the heavy load; one run per point. */
export async function slowerTable(
  context: Context,
  networks: readonly NetworkName[],
): Promise<TableData> {
  const rows: (string | number)[][] = [];
  for (const network of networks) {
    for (const slower of context.quick ? QUICK_FACTORS : FACTORS) {
      const device = slower === 1
        ? judged(network)
        : { ...judged(network), slower };
      const swept = await sweep(context, network, device, {
        rates: [HEAVY_RATE],
        policies: POLICIES,
        runs: 1,
      });
      const lazyB = (of: Parameters<typeof figures>[2]) =>
        figures(swept, "LazyB", of)[0];
      const gains = gainsOf(swept, "latency");
      rows.push([
        workloadOf(network).title,
        `${slower}x`,
        lazyB(latency).toFixed(1),
        `${gains.best.toFixed(2)}x`,
        `${gains.average.toFixed(1)}x`,
        `${gainsOf(swept, "throughput").best.toFixed(2)}x`,
        lazyB(({ p99Ms }) => p99Ms).toFixed(0),
        bestTail(swept).toFixed(0),
        percent(lazyB(({ late }) => late[late.length - 1]), 0),
        percent(badWindows(swept), 0),
      ]);
    }
  }
  return {
    title: SLOWER,
    columns: [
      "network",
      "times",
      "LazyB, mean ms",
      "best window's latency over it",
      "mean window's",
      "throughput over the best window's",
      "LazyB, 99th percentile, ms",
      "best window's",
      "LazyB late at 100 ms",
      "windows late for more than half",
    ],
    rows,
  };
}

/** Title of the table. */
export const SLOWER = `A slower device at ${HEAVY_RATE}/s`;
