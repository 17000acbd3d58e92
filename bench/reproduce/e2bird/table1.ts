import { NS_PER_MS } from "../../../src/base/units.ts";
import { TITAN_RTX } from "../../../src/cost/gpu_cost.ts";
import { onCurve } from "../../../src/base/curve.ts";
import type { Compared, Finding } from "../claim.ts";
import type { Experiment, Outcome, TableData } from "../experiment.ts";
import { networkCost } from "./device.ts";
import {
  CELL,
  latencyPoints,
  NETWORK_NAMES,
  type NetworkName,
  tileCost,
} from "./networks.ts";
import { BATCH_MAX, QOS_MS } from "./setup.ts";

/** Table 1: latency in ms and requests per second by batch size. */
const TABLE_1 = {
  Res50: { 4: [6.8, 588], 8: [12.1, 661], 16: [21.5, 740], 32: [40.1, 798] },
  Res101: { 4: [11.8, 338], 8: [20.6, 388], 16: [36.2, 441], 32: [65.4, 489] },
  Res152: { 4: [17.3, 231], 8: [29.2, 273], 16: [49.5, 323], 32: [93.7, 341] },
} as const;

function table1(): Compared[] {
  return Object.entries(TABLE_1).flatMap(([network, byBatch]) => {
    const cost = networkCost(network as NetworkName, "equal");
    return Object.entries(byBatch).flatMap(([batch, [ms, perS]]) => {
      const ns = cost.latencyNs(CELL, Number(batch));
      return [
        {
          name: `${network}, batch of ${batch}`,
          as: "size",
          published: ms,
          ours: ns / NS_PER_MS,
          unit: "ms",
        },
        {
          name: `${network}, batch of ${batch}`,
          as: "size",
          published: perS,
          ours: Math.round(Number(batch) / ns * 1e9),
          unit: "/s",
        },
      ] satisfies Compared[];
    });
  });
}

function latencies(): TableData {
  const sizes = [1, 4, 8, 16, 32];
  const ms = (ns: number) => (ns / NS_PER_MS).toFixed(1);
  return {
    title: "Latency by batch size, ms: what is simulated, and the tile model's",
    columns: [
      "network",
      ...sizes.map(String),
      ...sizes.map((n) => `tiles ${n}`),
    ],
    rows: NETWORK_NAMES.map((network) => [
      network,
      ...sizes.map((size) => ms(onCurve(latencyPoints(network), size))),
      ...sizes.map((size) => ms(tileCost(network).latencyNs(CELL, size))),
    ]),
  };
}

const PUBLISHED_NETWORKS = [
  "Inceptionv4",
  "Resnet_50",
  "Resnet_101",
  "Resnet_152",
  "VGG_16",
  "VGG_19",
];

function run(): Promise<Outcome> {
  const findings: Finding[] = [
    {
      claim: "EB-02",
      compared: table1(),
      note:
        "Latencies are Table 1's, as inputs; throughputs are batch over latency, and the table's own are not always.",
    },
    {
      claim: "EB-14",
      compared: [
        { name: "SMs", as: "equal", published: 72, ours: TITAN_RTX.sms },
        {
          name: "networks",
          as: "equal",
          published: PUBLISHED_NETWORKS.length,
          ours: NETWORK_NAMES.length,
        },
        { name: "largest batch", as: "equal", published: 32, ours: BATCH_MAX },
        {
          name: "QoS target",
          as: "equal",
          published: 200,
          ours: QOS_MS,
          unit: "ms",
        },
      ],
      note:
        "The tile model computes in f32 without the 576 tensor cores; Table 1's latencies, used where there are any, " +
        "are the paper's own, with whatever it computed in.",
    },
  ];
  return Promise.resolve({ findings, charts: [], tables: [latencies()] });
}

/** Tables 1 and 5: what is simulated. */
export const TABLE_1_AND_5: Experiment = {
  id: "e2bird.setup",
  title: "Device, networks and latencies",
  claims: ["EB-02", "EB-14"],
  conditions:
    "Table 1's latencies as simulated, and the tile model's (72 SMs with a tile of 64 x 64 each, 42.4 % of the f32 peak) " +
    "for the networks that the table lacks. Assumption: sizes 1 and 2 lie on the line through 4 and 8.",
  run,
};
