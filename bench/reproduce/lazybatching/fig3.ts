/** Fig. 3: throughput and latency of ResNet over batch sizes, inputs already collected. */
import { NS_PER_MS, NS_PER_S } from "../../../src/base/units.ts";
import type { ChartData, Experiment } from "../experiment.ts";
import { type Device, deviceTitle } from "./devices.ts";
import { AS_MODELLED, judged } from "./evaluation.ts";
import { networkOn } from "./networks.ts";

const SIZES = [1, 2, 4, 8, 16, 32, 64] as const;

/** Assumption: saturated means that twice the batch gains less than this. */
const SATURATED = 1.05;

const NETWORK = "resnet50";

const DEVICES: readonly Device[] = [
  judged(NETWORK),
  { ...judged(NETWORK), mode: "causal" },
  AS_MODELLED,
  { ...AS_MODELLED, mode: "causal" },
];

interface Curve {
  readonly device: Device;
  /** By `SIZES`. */
  readonly batchMs: readonly number[];
  readonly perS: readonly number[];
  /** The size past which throughput is saturated. */
  readonly saturatedAt: number;
}

function curveOf(device: Device, seed: number): Curve {
  const { model, cost } = networkOn(NETWORK, device, seed);
  const batchNs = SIZES.map((size) =>
    model.cells.reduce((sum, cell) => sum + cost.latencyNs(cell, size), 0)
  );
  const perS = batchNs.map((ns, i) => SIZES[i] / ns * NS_PER_S);
  const i = perS.findIndex((one, i) => !(perS[i + 1] / one >= SATURATED));
  return {
    device,
    batchMs: batchNs.map((ns) => ns / NS_PER_MS),
    perS,
    saturatedAt: SIZES[i],
  };
}

export const fig3: Experiment = {
  id: "lazybatching.fig3",
  title: "What batching gains ResNet",
  claims: ["LB-02"],
  conditions:
    "ResNet-50 on the NPU of Table I (docs/npu.md: weight-stationary, overlapped folds, bf16), scaled to Table II's " +
    "time alone. Assumption: saturated means that twice the batch gains less than 5 %",
  run({ seed }) {
    const curves = DEVICES.map((device) => curveOf(device, seed));
    const [curve, causal] = curves;
    const title = "ResNet-50 by batch size";
    const causeShown = curve.saturatedAt < 16 / 1.5 ||
      curve.saturatedAt > 16 * 1.5;
    return Promise.resolve({
      findings: [{
        claim: "LB-02",
        compared: [{
          name: "batch past which throughput is saturated",
          as: "size" as const,
          published: 16,
          ours: curve.saturatedAt,
        }],
        note:
          `With folds that do not overlap (causal) it is ${causal.saturatedAt}.`,
        ...(causeShown && {
          cause: {
            text:
              `Where a fold's weights are loaded while the one before computes, the array hardly waits from ` +
              `${curve.saturatedAt} images on; where it waits for every fold's (causal), each image more shares that ` +
              `wait, up to ${causal.saturatedAt}.`,
            shownBy: title,
          },
        }),
      }],
      charts: curves.slice(0, 2).flatMap((
        { device, batchMs, perS },
      ): ChartData[] => [
        {
          kind: "lines",
          title: `Throughput: ${deviceTitle(device)}`,
          x: "batch",
          y: "images/s",
          logX: true,
          series: [{
            name: "throughput",
            points: SIZES.map((x, i) => ({ x, y: perS[i] })),
          }],
        },
        {
          kind: "lines",
          title: `Latency: ${deviceTitle(device)}`,
          x: "batch",
          y: "ms",
          logX: true,
          series: [
            {
              name: "of the batch",
              points: SIZES.map((x, i) => ({ x, y: batchMs[i] })),
            },
            {
              name: "per input",
              points: SIZES.map((x, i) => ({ x, y: batchMs[i] / x })),
            },
          ],
        },
      ]),
      tables: [{
        title,
        columns: [
          "device",
          ...SIZES.map((size) => `${size}: images/s`),
          "saturated past",
        ],
        rows: curves.map(({ device, perS, saturatedAt }) => [
          deviceTitle(device),
          ...perS.map(Math.round),
          saturatedAt,
        ]),
      }],
    });
  },
};
