/** Fig. 6: graph and cellular batching on one RNN. */
import { staticChain } from "../../../test/policy/static_chain.ts";
import { batchAt } from "../../../test/policy/timeline.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import type { Experiment } from "../experiment.ts";
import { drive, runningAt, startOf, timelineChart } from "./worked.ts";

/**
 * Stated: Req1-2 start at 0, Req1 has 5 steps, Req5 10. Req4 can only join at 4 when Req2 leaves, so that has 4
 * steps; Req3 is there at 5, so it has more than 4. Assumption: Req3 has 7 steps, Req4 6; Req3 arrives at 1,
 * Req4 at 2, Req5 at 3.
 */
const REQUESTS = [
  { arrivalNs: 0, steps: 5 },
  { arrivalNs: 0, steps: 4 },
  { arrivalNs: 1, steps: 7 },
  { arrivalNs: 2, steps: 6 },
  { arrivalNs: 3, steps: 10 },
];

const BATCH_SIZE_MAX = 3;

export const fig6: Experiment = {
  id: "lazybatching.fig6",
  title: "Graph and cellular batching on an RNN",
  claims: ["LB-05"],
  conditions:
    "Both policies on virtual time, one unit per step, at most 3 per batch. Assumption: Req2 to Req4 have 4, 7 and " +
    "6 steps, Req3 to Req5 arrive at 1, 2 and 3",
  run() {
    const model = staticChain({ cells: ["RNN*"] });
    const graphs = drive(
      graph({ batchSizeMax: BATCH_SIZE_MAX }),
      [model],
      REQUESTS,
    );
    const cells = drive(
      cellular({ batchSizeMax: BATCH_SIZE_MAX, maxTasksToSubmit: 1 }),
      [model],
      REQUESTS,
    );
    const waiting = [3, 4, 5].map((request) => startOf(graphs, request));
    return Promise.resolve({
      findings: [{
        claim: "LB-05",
        compared: [
          {
            name: "end of graph batching's first batch",
            as: "equal" as const,
            published: 5,
            ours: Math.max(graphs.departNs[1], graphs.departNs[2]),
          },
          {
            name: "Req3-5 under graph batching",
            as: "holds" as const,
            published: "wait for it",
            ours: waiting.every((start) => start === graphs.departNs[1]),
            seen: `they start at ${waiting}`,
          },
          {
            name: "Req3 joins",
            as: "equal" as const,
            published: 1,
            ours: startOf(cells, 3),
          },
          {
            name: "Req4 joins",
            as: "equal" as const,
            published: 4,
            ours: startOf(cells, 4),
          },
          {
            name: "at 5",
            as: "holds" as const,
            published: "Req5 executes with Req3-4",
            ours: `${batchAt(cells, 5)}` === "3,4,5",
            seen: runningAt(cells, 5),
          },
        ],
      }],
      charts: [
        timelineChart("Graph batching", graphs),
        timelineChart("Cellular batching", cells),
      ],
      tables: [],
    });
  },
};
