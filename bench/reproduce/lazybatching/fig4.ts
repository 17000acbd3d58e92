/** Fig. 4: what a longer window gains graph batching when nobody comes in it. */
import { letters, staticChain } from "../../../test/policy/static_chain.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import type { Experiment } from "../experiment.ts";
import { drive, startOf, timelineChart } from "./worked.ts";

/** Stated: Req2 arrives at 4, Req3 at 12. Assumption: Req1 arrives at 0; a batch executes in 2. */
const REQUESTS = [0, 4, 12].map((arrivalNs) => ({ arrivalNs }));

/** Assumption: a window of 4 is over just before 4, as otherwise Req2 would arrive in time for Req1's batch. */
const WINDOWS = { narrow: 2, wide: 4 - 1e-3 };

export const fig4: Experiment = {
  id: "lazybatching.fig4",
  title: "A longer window that gains nothing",
  claims: ["LB-03"],
  conditions:
    "Graph batching on virtual time, two nodes of one unit. Assumption: Req1 arrives at 0; the window of 4 is over " +
    "just before Req2's arrival at 4",
  run() {
    const run = (windowNs: number) =>
      drive(
        graph({ windowNs }),
        [staticChain({ cells: letters(2) })],
        REQUESTS,
      );
    const narrow = run(WINDOWS.narrow);
    const wide = run(WINDOWS.wide);
    const sizes = ({ tasks }: typeof narrow) =>
      tasks.map(({ requests }) => requests.length).join();
    const delays = [1, 2].map((request) =>
      startOf(wide, request) - startOf(narrow, request)
    );
    return Promise.resolve({
      findings: [{
        claim: "LB-03",
        compared: [
          {
            name: "batches of the same sizes with both windows",
            as: "holds" as const,
            published: "no larger batch",
            ours: sizes(narrow) === sizes(wide),
            seen: `rows per node: ${sizes(narrow)} and ${sizes(wide)}`,
          },
          ...delays.map((delay, i) => ({
            name: `Req${i + 1} is delayed`,
            as: "holds" as const,
            published: "starts later with a window of 4",
            ours: delay > 0,
            seen: `by ${delay.toFixed(3)} units`,
          })),
        ],
      }],
      charts: [
        timelineChart("Graph batching, window of 2", narrow),
        timelineChart("Graph batching, window of 4", wide),
      ],
      tables: [],
    });
  },
};
