/** Fig. 6: which batch sizes the operators of U-Net prefer. */
import { GpuCost, TITAN_RTX } from "../../../src/cost/gpu_cost.ts";
import { unet } from "../../../src/models/unet.ts";
import {
  preferredBatchSize,
  PROFILED_SIZES,
} from "../../../src/policy/dvabatch/stages.ts";
import { shapesOnly } from "../../../src/tensor/weights.ts";
import type { Experiment, Series } from "../experiment.ts";
import { UNET_SIDE } from "./networks.ts";

/** Sides of the images: the paper gives none. */
const SIDES = [32, 64, 128, 256];

interface Preferred {
  readonly side: number;
  /** By operator, in order. */
  readonly sizes: readonly number[];
  /** By batch size and operator, us. */
  readonly timesUs: readonly (readonly number[])[];
}

function preferred(side: number): Preferred {
  const gpu = new GpuCost(TITAN_RTX);
  const { cells } = unet({
    size: side,
    padding: "same",
    weights: shapesOnly(),
  });
  return {
    side,
    sizes: cells.map((cell) =>
      preferredBatchSize([cell], (cell, rows) => gpu.latencyNs(cell, rows))
    ),
    timesUs: PROFILED_SIZES.map((rows) =>
      cells.map((cell) => gpu.latencyNs(cell, rows) / 1000)
    ),
  };
}

/** Mean preferred size of the operators of the former and the latter half. */
function halves(sizes: readonly number[]): readonly [number, number] {
  const half = Math.ceil(sizes.length / 2);
  const meanOf = (part: readonly number[]) =>
    part.reduce((sum, size) => sum + size, 0) / part.length;
  return [meanOf(sizes.slice(0, half)), meanOf(sizes.slice(half))];
}

export const fig6: Experiment = {
  id: "dvabatch.fig6",
  title: "Fig. 6: operators of U-Net by batch size",
  claims: ["DV-07"],
  conditions:
    `The modelled ${TITAN_RTX.name}. Assumption: images of ${UNET_SIDE} x ${UNET_SIDE}, as the paper gives no size; the ` +
    "table has others. Halves of the operators by order for the paper's groups OPG_A and OPG_B, whose border it does not give.",
  run() {
    const all = SIDES.map(preferred);
    const { sizes, timesUs } = all.find(({ side }) => side === UNET_SIDE)!;
    const [former, latter] = halves(sizes);
    return Promise.resolve({
      findings: [{
        claim: "DV-07",
        compared: [{
          name: "most operators of the former half gain beyond 32",
          as: "holds",
          published: "most of OPG_A gain from batches above 32",
          ours: former > 32,
          seen: `preferred on average ${former.toFixed(1)}`,
        }, {
          name: "operators of the latter half gain below 8 only",
          as: "holds",
          published: "OPG_B prefers batches below 8",
          ours: latter < 8,
          seen: `preferred on average ${latter.toFixed(1)}`,
        }],
        cause: {
          text:
            "What fills the device is the size of a map: a convolution's rows are its pixels. U-Net's maps are largest at " +
            "both ends and smallest in the middle, so from 128 x 128 on the middle prefers the largest batches and both " +
            "ends the smallest; images so small that no operator fills the device prefer large batches everywhere. At no " +
            "side is the former half above 32 and the latter below 8.",
          shownBy: "Preferred batch sizes by the images' side",
        },
      }],
      charts: [{
        kind: "lines",
        title:
          `Time of each operator by batch size, ${UNET_SIDE} x ${UNET_SIDE}`,
        x: "operator, in order",
        y: "us per query",
        logY: true,
        series: PROFILED_SIZES.map((size, i): Series => ({
          name: `batch ${size}`,
          points: timesUs[i].map((us, x) => ({ x, y: us / size })),
        })),
      }, {
        kind: "lines",
        title: "Preferred batch size of each operator",
        x: "operator, in order",
        y: "batch size",
        logY: true,
        series: all.map(({ side, sizes }): Series => ({
          name: `${side} x ${side}`,
          points: sizes.map((y, x) => ({ x, y })),
        })),
      }],
      tables: [{
        title: "Preferred batch sizes by the images' side",
        columns: [
          "side",
          "first quarter",
          "second",
          "third",
          "last",
          "former half",
          "latter half",
        ],
        rows: all.map(({ side, sizes }) => [
          side,
          ...quarters(sizes),
          ...halves(sizes).map((mean) => mean.toFixed(1)),
        ]),
      }],
    });
  },
};

function quarters(sizes: readonly number[]): string[] {
  const bounds = [0, 1, 2, 3, 4].map((i) => Math.round(i * sizes.length / 4));
  return [0, 1, 2, 3].map((i) => {
    const part = sizes.slice(bounds[i], bounds[i + 1]);
    const meanSize = part.reduce((sum, size) => sum + size, 0) / part.length;
    return meanSize.toFixed(1);
  });
}
