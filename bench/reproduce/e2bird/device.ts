/**
 * The Titan RTX of E2bird's evaluation, as far as the paper describes it. It gives neither the time of a copy nor
 * the gap between TensorFlow Serving's batches, so these vary; what streams cost each other, beyond sharing the
 * device equally (section 7.2), can be had from one figure only (Fig. 12), so it is left out unless asked for.
 */
import { NS_PER_MS, NS_PER_US } from "../../../src/base/units.ts";
import {
  sharedTable,
  titanRtxInterference,
} from "../../../src/cost/published.ts";
import { coRunNs } from "../../../src/cost/shared_capacity.ts";
import type { SharedCost } from "../../../src/cost/shared_cost.ts";
import { CELL, latencyPoints, type NetworkName, tileCost } from "./networks.ts";

export type Device = {
  /**
   * "equal": running batches get shares in proportion to their demands (section 7.2, Eq. 3). "interference": streams
   * cost each other what Fig. 12 shows, too (`titanRtxInterference`). "tiles": the tile model's latencies and
   * demands, for every network.
   */
  readonly sharing: "equal" | "interference" | "tiles";
  /** Copy of one picture. */
  readonly copyUs: number;
  /** TensorFlow Serving's own time between two batches. */
  readonly gapMs: number;
};

/** Assumption: 602,112 bytes at 12 GB/s, PCI-e 3.0 x16, take 50 us; results are small; there is no gap. */
export const TITAN: Device = { sharing: "equal", copyUs: 50, gapMs: 0 };

const SHARING: Readonly<Record<Device["sharing"], string>> = {
  equal: "equal sharing",
  interference: "interference",
  tiles: "tiles and waves",
};

export function nameOf({ sharing, copyUs, gapMs }: Device): string {
  return `${SHARING[sharing]}, copies of ${copyUs} us` +
    (gapMs > 0 ? `, gaps of ${gapMs} ms` : "");
}

/** A network alone on the device, without copies. */
export function networkCost(
  network: NetworkName,
  sharing: Device["sharing"],
): SharedCost {
  if (sharing === "tiles") return tileCost(network);
  return sharedTable(
    latencyPoints(network),
    sharing === "equal" ? {} : { interference: titanRtxInterference },
  );
}

/** A batch's copies go ahead of it on its own stream, as does what the server does between batches. */
export function withTransfers(
  cost: SharedCost,
  { copyUs, gapMs }: Pick<Device, "copyUs" | "gapMs">,
): SharedCost {
  return {
    latencyNs: (cell, rows) => cost.latencyNs(cell, rows),
    demand: (cell, rows) => cost.demand(cell, rows),
    interference: (batches) => cost.interference?.(batches) ?? 1,
    htodNs: (_cell, rows) => gapMs * NS_PER_MS + copyUs * NS_PER_US * rows,
  };
}

/** Latency of each of several workers that start together, ns (section 7.3.1's profile). */
export function latenciesTogetherNs(
  cost: SharedCost,
  sizes: readonly number[],
): number[] {
  return coRunNs(
    sizes.map((rows) => ({
      aloneNs: cost.latencyNs(CELL, rows),
      demand: cost.demand(CELL, rows),
    })),
    (batches) => cost.interference?.(batches) ?? 1,
  );
}
