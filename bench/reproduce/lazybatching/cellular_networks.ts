/** Section VI: cellular batching on networks that do not consist of recurrent layers only. */
import type { Experiment } from "../experiment.ts";
import { percent } from "../simulation.ts";
import { withCause } from "./cause.ts";
import {
  figures,
  HEAVY_RATE,
  judged,
  latency,
  MAIN_NETWORKS,
  sweep,
} from "./evaluation.ts";
import { workloadOf } from "./networks.ts";
import { graphB, type PolicySpec } from "./policies.ts";

const POLICIES = {
  "graph batching, window 0": graphB(0),
  "Algorithm 1": { kind: "cellular", nonRecurrent: "batch" },
  "this paper's reading": { kind: "cellular", nonRecurrent: "serialize" },
} as const satisfies Record<string, PolicySpec>;

type Reading = keyof typeof POLICIES;

const RATES = [250, HEAVY_RATE] as const;

export const cellularNetworks: Experiment = {
  id: "lazybatching.cellular",
  title: "Cellular batching on ResNet, GNMT and the Transformer",
  claims: ["LB-27"],
  conditions:
    "BatchMaker's Algorithm 1 and, beside it, this paper's reading of it (Fig. 7), against graph batching without a " +
    "window, which cellular batching has not; the NPU of Table I, scaled to Table II's time alone",
  async run(context) {
    const title = "Mean latency, ms, and what a batch holds";
    const table: string[][] = [];
    const ratios = [];
    for (const network of MAIN_NETWORKS) {
      const swept = await sweep(context, network, judged(network), {
        rates: RATES,
        policies: POLICIES,
      });
      const means = (policy: Reading) => figures(swept, policy, latency);
      const graph = means("graph batching, window 0");
      const heavy = RATES.indexOf(HEAVY_RATE);
      for (const policy of Object.keys(POLICIES) as Reading[]) {
        const rows = figures(swept, policy, ({ rowsSeen }) => rowsSeen);
        table.push([
          workloadOf(network).title,
          policy,
          ...means(policy).map((ms) => ms.toFixed(2)),
          rows[heavy].toFixed(1),
          // Little's law: requests in the system are rate times latency.
          percent(rows[heavy] / (HEAVY_RATE * means(policy)[heavy] / 1000), 0),
        ]);
      }
      ratios.push({
        title: workloadOf(network).title,
        ratio: means("Algorithm 1")[heavy] / graph[heavy],
        read: means("this paper's reading")[heavy] / graph[heavy],
      });
    }
    return {
      findings: [withCause(
        {
          claim: "LB-27",
          compared: ratios.map(({ title, ratio }) => ({
            name: `${title}: latency over graph batching's`,
            as: "size" as const,
            published: 1,
            ours: ratio,
          })),
          note: `Read as Fig. 7 has it: ${
            ratios.map(({ title, read }) => `${title} ${read.toFixed(2)}`)
              .join(", ")
          }.`,
        },
        "Algorithm 1 batches nodes of one cell, recurrent or not; every layer of GNMT and the Transformer recurs, so " +
          "that this paper's reading makes no difference to them. Requests join at the first layer and advance in " +
          "turns, layer by layer: how many of those in the system a batch holds decides who is ahead. Only ResNet, " +
          "under the reading that newcomers wait, is identical.",
        title,
      )],
      charts: [],
      tables: [{
        title,
        columns: [
          "network",
          "policy",
          ...RATES.map((rate) => `${rate}/s`),
          `rows of a row's batch, ${HEAVY_RATE}/s`,
          "of the requests in the system",
        ],
        rows: table,
      }],
    };
  },
};
