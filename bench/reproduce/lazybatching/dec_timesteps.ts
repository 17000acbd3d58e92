/** Section VI-C: what too small a predicted decoder length does. */
import type { Experiment } from "../experiment.ts";
import { percent } from "../simulation.ts";
import { withCause } from "./cause.ts";
import { type Device, deviceTitle } from "./devices.ts";
import { AS_MODELLED, HEAVY_RATE, judged } from "./evaluation.ts";
import { averageOf, runsOf } from "./runs.ts";
import { SLAS_MS } from "./policies.ts";

const STEPS = [10, 20, 32, 48] as const;
const SLA_MS = 60;
const NETWORK = "transformer";

/** The judged device first; slower ones, and rates that the device as modelled keeps up with or not. */
const PLACES: readonly { readonly device: Device; readonly rate: number }[] = [
  { device: judged(NETWORK), rate: HEAVY_RATE },
  { device: { ...judged(NETWORK), slower: 2 }, rate: HEAVY_RATE },
  { device: { ...judged(NETWORK), slower: 3 }, rate: HEAVY_RATE },
  { device: AS_MODELLED, rate: 250 },
  { device: AS_MODELLED, rate: 500 },
];

export const decTimestepsSweep: Experiment = {
  id: "lazybatching.dec_timesteps",
  title: "Too small a predicted decoder length",
  claims: ["LB-22"],
  conditions:
    "Transformer, SLA 60 ms, 1000 requests/s on the NPU of Table I scaled to Table II's time alone; beside it slower " +
    "devices, one run per point",
  async run(context) {
    const title = `Transformer: late at ${SLA_MS} ms, refusals per request`;
    const late: number[][] = [];
    const rows: string[][] = [];
    for (const { device, rate } of PLACES) {
      const runs = late.length === 0 ? context.runs : 1;
      const shares: number[] = [];
      const cells: string[] = [];
      for (const decTimesteps of STEPS) {
        const results = await runsOf(context, {
          network: NETWORK,
          device,
          policy: { kind: "lazy", options: { decTimesteps } },
          ratePerS: rate,
          slaMs: SLA_MS,
        }, runs);
        const share = averageOf(
          results,
          (run) => run.late[SLAS_MS.indexOf(SLA_MS)],
        );
        shares.push(share);
        cells.push(
          `${percent(share)}, ${
            averageOf(results, ({ refused }) => refused).toFixed(3)
          }`,
        );
      }
      late.push(shares);
      rows.push([`${deviceTitle(device)}, ${rate}/s`, ...cells]);
    }
    const [judgedShares] = late;
    const with10 = judgedShares[STEPS.indexOf(10)];
    const with32 = judgedShares[STEPS.indexOf(32)];
    return {
      findings: [withCause(
        {
          claim: "LB-22",
          compared: [
            {
              name: "late with 32 steps",
              as: "holds",
              published: "nobody",
              ours: with32 === 0,
              seen: percent(with32),
            },
            {
              name: "late with 10 steps",
              as: "size",
              published: 36,
              ours: 100 * with10,
              unit: "%",
            },
          ],
        },
        "The predicted length matters only where slack refuses. At Table II's times nothing is refused with either " +
          "length, so that both do the same; where the device is slower slack refuses, and the lengths differ, but " +
          "a smaller one, which refuses less and batches more, is not the one that makes more requests late.",
        title,
      )],
      charts: [{
        kind: "lines",
        title: `Late at ${SLA_MS} ms by predicted length`,
        x: "dec_timesteps",
        y: "share late",
        series: PLACES.map(({ device, rate }, p) => ({
          name: `${deviceTitle(device)}, ${rate}/s`,
          points: STEPS.map((x, i) => ({ x, y: late[p][i] })),
        })),
      }],
      tables: [{
        title,
        columns: ["device", ...STEPS.map((steps) => `${steps} steps`)],
        rows,
      }],
    };
  },
};
