import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { late } from "../../../src/policy/late_batching/late.ts";
import { runExample } from "../cellular_batching/chain_example.ts";
import type { Compared } from "../claim.ts";
import type { Experiment } from "../experiment.ts";

/**
 * Stated: requests 10-13 wait for 6-9 until 105; the shortest of them has length 2, one takes 7; one of 6-9 leaves
 * at 102 under late batching, and request 10 needs three cells. Assumption: 6-9 start at 100 with lengths 2, 4, 5
 * and 5; 10-13 arrive at 100, too, with lengths 3, 2, 7 and 4.
 */
const REQUESTS = [2, 4, 5, 5, 3, 2, 7, 4].map((length) => ({
  arrival: 100,
  length,
}));
const FIRST = 6;

export const FIG_1: Experiment = {
  id: "late_batching.fig1",
  title: "Fig. 1: dataflow batching and late batching",
  claims: ["LT-01"],
  conditions:
    "One unit of time per cell, at most four per batch; requests 6-9 of lengths 2, 4, 5, 5 and 10-13 of lengths 3, 2, 7, 4 " +
    "arrive at 100, which the text leaves open. One block runs, one waits behind it.",
  run() {
    const graphs = runExample(graph({ batchSizeMax: 4 }), REQUESTS, FIRST);
    const blocks = runExample(late({ batchSizeMax: 4 }), REQUESTS, FIRST);
    const at = (name: string, published: number, ours: number): Compared => ({
      name,
      as: "equal",
      published,
      ours,
    });
    return Promise.resolve({
      findings: [{
        claim: "LT-01",
        compared: [
          ...[10, 11, 12, 13].flatMap((n) => [
            at(
              `dataflow batching: request ${n} starts`,
              105,
              graphs.startOf(n),
            ),
            at(`dataflow batching: request ${n} returns`, 112, graphs.endOf(n)),
          ]),
          at("late batching: request 6 returns", 102, blocks.endOf(6)),
          at("late batching: request 10 starts", 102, blocks.startOf(10)),
          at("late batching: request 10 returns", 105, blocks.endOf(10)),
        ],
      }],
      charts: [
        graphs.chart("Fig. 1, dataflow batching"),
        blocks.chart("Fig. 1, late batching"),
      ],
      tables: [],
    });
  },
};
