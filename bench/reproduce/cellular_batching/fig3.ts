import { type GpuConfig, GpuCost } from "../../../src/cost/gpu_cost.ts";
import type { CostModel } from "../../../src/cost/cost_model.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { NS_PER_S, NS_PER_US } from "../../../src/base/units.ts";
import type { Experiment, Series } from "../experiment.ts";
import { MODELS } from "./datasets.ts";
import { OVERHEAD_US, v100 } from "./device.ts";

/** 2, 4, ..., 2048 rows, as in the figure. */
const BATCHES = Array.from({ length: 11 }, (_, i) => 2 ** (i + 1));

/** The GPU from its data sheet, for a second opinion on the table's shape. */
const V100: GpuConfig = {
  name: "V100",
  source:
    "NVIDIA, Tesla V100 GPU Architecture: 80 SMs, 15.7 TFLOPS in f32, 900 GB/s. Assumption: tiles of 64 x 64, 70 % of " +
    "the peak, at which 512 rows take about the 784 us that are printed; at least 3 us per kernel",
  sms: 80,
  flopsPerS: 15.7e12,
  efficiency: 0.7,
  bytesPerS: 900e9,
  wordBytes: 4,
  tile: 64,
  kernelNs: 3000,
};

const [STEP] = MODELS.lstm.cells;

function line(name: string, latencyNs: (rows: number) => number): Series {
  return {
    name,
    points: BATCHES.map((rows) => {
      const ns = latencyNs(rows);
      return { x: rows / ns * NS_PER_S / 1000, y: ns / NS_PER_US };
    }),
  };
}

export const FIG_3: Experiment = {
  id: "cellular_batching.fig3",
  title: "Fig. 3: time and throughput of one LSTM step",
  claims: ["CB-03", "CB-04"],
  conditions:
    "The modelled V100's table, whose points at 64 and 512 rows are the paper's, and beside it a V100 of tiles and waves " +
    "from its data sheet (70 % of the peak fits the time at 512; the time at 64 and the shape follow).",
  run() {
    const table = v100();
    const overhead = v100({ overheadUs: OVERHEAD_US });
    const us = (cost: CostModel, rows: number) =>
      cost.latencyNs(STEP, rows) / NS_PER_US;
    const [big] = lstm({ hidden: 1024, vocabulary: 1 }).cells;
    const waves = new GpuCost(V100);
    const wavesNs = (rows: number) => waves.latencyNs(big, rows);
    const flat = wavesNs(64) / wavesNs(2);
    const middle = wavesNs(512) / wavesNs(64);
    const beyond = wavesNs(2048) / wavesNs(1024);
    const best = Math.max(...BATCHES.map((rows) => rows / wavesNs(rows)));
    const share = 512 / wavesNs(512) / best;
    return Promise.resolve({
      findings: [
        {
          claim: "CB-03",
          compared: [
            {
              name: "flat for small batches",
              as: "holds",
              published: "almost unchanged first",
              ours: flat < 1.5,
              seen: `2 to 64 rows: ${flat.toFixed(2)} times the time`,
            },
            {
              name: "then slower than the batch",
              as: "holds",
              published: "sublinear",
              ours: middle < 8 && middle > 1.5,
              seen: `64 to 512 rows: ${middle.toFixed(2)} times the time`,
            },
            {
              name: "past 512",
              as: "gain",
              published: 2,
              ours: beyond,
            },
            {
              name: "512 rows against the best throughput",
              as: "size",
              published: 1,
              ours: share,
            },
          ],
          note:
            "Of the V100 of tiles and waves; the simulations' table has this shape by construction. This machine's curve is " +
            "machine.step_time.",
        },
        {
          claim: "CB-04",
          compared: [
            {
              name: "64 rows, tiles and waves",
              as: "size",
              published: 185,
              ours: wavesNs(64) / NS_PER_US,
              unit: "us",
            },
            {
              name: "64 rows, the table",
              as: "equal",
              published: 185,
              ours: us(table, 64),
              unit: "us",
            },
            {
              name: "512 rows, the table",
              as: "equal",
              published: 784,
              ours: us(table, 512),
              unit: "us",
            },
            {
              name: "64 rows with scheduling and gathering",
              as: "equal",
              published: 250,
              ours: us(overhead, 64),
              unit: "us",
            },
          ],
          note:
            "The table's values are inputs, and 512 rows fit the share of the peak of tiles and waves.",
        },
      ],
      charts: [{
        kind: "lines",
        title: "Fig. 3: one LSTM step, 2 to 2048 rows",
        x: "throughput (1000 rows/s)",
        y: "time (us)",
        logY: true,
        series: [
          line("the table", (rows) => table.latencyNs(STEP, rows)),
          line(
            "with scheduling and gathering",
            (rows) => overhead.latencyNs(STEP, rows),
          ),
          line("tiles and waves", wavesNs),
        ],
      }],
      tables: [{
        title: "Time of one LSTM step (us)",
        columns: ["rows", "table", "tiles and waves"],
        rows: BATCHES.map((rows) => [
          rows,
          Math.round(us(table, rows)),
          Math.round(wavesNs(rows) / NS_PER_US),
        ]),
      }],
    });
  },
};
