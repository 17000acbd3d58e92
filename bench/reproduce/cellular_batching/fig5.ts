import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import type { Compared } from "../claim.ts";
import type { Experiment } from "../experiment.ts";
import { runExample } from "./chain_example.ts";

/**
 * Stated: req1-4 arrive at 0, req1 has length 2, req4 5; req2 and req3 leave at 3; the second graph batch takes
 * 7. Assumption: req5, of length 7, has arrived by 2, req6 and req7 by 3, req8 by 5, with lengths 3, 4 and 2.
 */
const REQUESTS = [
  { arrival: 0, length: 2 },
  { arrival: 0, length: 3 },
  { arrival: 0, length: 3 },
  { arrival: 0, length: 5 },
  { arrival: 1, length: 7 },
  { arrival: 2, length: 3 },
  { arrival: 2, length: 4 },
  { arrival: 4, length: 2 },
];

export const FIG_5: Experiment = {
  id: "cellular_batching.fig5",
  title: "Fig. 5: eight requests, graph batching and cellular batching",
  claims: ["CB-05"],
  conditions:
    "One unit of time per cell, at most four per batch, one task at a time; req5 (length 7) arrives at 1, req6 (3) " +
    "and req7 (4) at 2, req8 (2) at 4, which the text leaves open.",
  run() {
    const graphs = runExample(graph({ batchSizeMax: 4 }), REQUESTS);
    const cells = runExample(
      cellular({ batchSizeMax: 4, maxTasksToSubmit: 1 }),
      REQUESTS,
    );
    const at = (name: string, published: number, ours: number): Compared => ({
      name,
      as: "equal",
      published,
      ours,
    });
    const batch = (time: number, published: string): Compared => ({
      name: `batch at ${time}`,
      as: "holds",
      published,
      ours: cells.batchAt(time).join() === published,
      seen: cells.batchAt(time).join(),
    });
    return Promise.resolve({
      findings: [{
        claim: "CB-05",
        compared: [
          ...[1, 2, 3, 4].map((n) =>
            at(`graph batching: req${n} returns`, 5, graphs.endOf(n))
          ),
          ...[5, 6, 7, 8].flatMap((n) => [
            at(`graph batching: req${n} starts`, 5, graphs.startOf(n)),
            at(`graph batching: req${n} returns`, 12, graphs.endOf(n)),
          ]),
          at("cellular batching: req1 returns", 2, cells.endOf(1)),
          at("cellular batching: req2 returns", 3, cells.endOf(2)),
          at("cellular batching: req3 returns", 3, cells.endOf(3)),
          batch(0, "1,2,3,4"),
          batch(1, "1,2,3,4"),
          batch(2, "2,3,4,5"),
          batch(3, "4,5,6,7"),
        ],
      }],
      charts: [
        graphs.chart("Fig. 5, graph batching"),
        cells.chart("Fig. 5, cellular batching"),
      ],
      tables: [],
    });
  },
};
