/** Fig. 8: a batch is preempted, newcomers catch up, all go on together. */
import { letters, staticChain } from "../../../test/policy/static_chain.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { lazy } from "../../../src/policy/lazybatching/lazy.ts";
import type { Experiment } from "../experiment.ts";
import { drive, runningAt, startOf, timelineChart } from "./worked.ts";

/** Assumption: Req1-2 arrive at 4 and Req3-5 at 6, when the others have executed A and B. */
const REQUESTS = [4, 4, 6, 6, 6].map((arrivalNs) => ({ arrivalNs }));

export const fig8: Experiment = {
  id: "lazybatching.fig8",
  title: "Newcomers catch up and merge",
  claims: ["LB-07"],
  conditions:
    "On virtual time, five nodes of one unit; slack always agrees. Assumption: Req1-2 arrive at 4, Req3-5 at 6",
  run() {
    const model = staticChain({ cells: letters(5) });
    const lazily = drive(
      lazy({ slaNs: Infinity, profile: () => 1 }),
      [model],
      REQUESTS,
    );
    const baseline = drive(graph(), [model], REQUESTS);
    const merged = lazily.tasks.find(({ requests }) => requests.length === 5);
    const preemption = lazily.notes.find(({ op }) => op === "preempt");
    const caughtUp = lazily.tasks.find(({ cell, requests }) =>
      cell === "B" && requests.includes(3)
    );
    return Promise.resolve({
      findings: [{
        claim: "LB-07",
        compared: [
          {
            name: "Req1-2 are preempted",
            as: "equal" as const,
            published: 6,
            ours: preemption?.at ?? NaN,
          },
          {
            name: "Req3-5 have caught up through B",
            as: "equal" as const,
            published: 8,
            ours: caughtUp?.endNs ?? NaN,
          },
          {
            name: "all five go on",
            as: "holds" as const,
            published: "from node C",
            ours: merged?.cell === "C" && merged.startNs === caughtUp?.endNs,
            seen: runningAt(lazily, merged?.startNs ?? NaN),
          },
        ],
        note: `The baseline starts Req3-5 at ${
          startOf(baseline, 3)
        } and ends at ${
          Math.max(...baseline.departNs.slice(1))
        }, LazyBatching at ${Math.max(...lazily.departNs.slice(1))}.`,
      }],
      charts: [
        timelineChart("LazyBatching", lazily),
        timelineChart("Graph batching", baseline),
      ],
      tables: [],
    });
  },
};
