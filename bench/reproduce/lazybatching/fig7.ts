/** Fig. 7: cellular batching and layers that do not recur. */
import { staticChain } from "../../../test/policy/static_chain.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { lazy } from "../../../src/policy/lazybatching/lazy.ts";
import type { Experiment } from "../experiment.ts";
import { drive, startOf, timelineChart } from "./worked.ts";

/** Assumption: Req1-2 arrive at 0, Req3-5 at 3, all with 4 steps. */
const REQUESTS = [0, 0, 3, 3, 3].map((arrivalNs) => ({ arrivalNs, steps: 4 }));

export const fig7: Experiment = {
  id: "lazybatching.fig7",
  title: "Cellular batching and layers that do not recur",
  claims: ["LB-06"],
  conditions:
    "Policies on virtual time, one unit per node. Cellular batching as this paper describes it: with layers that do " +
    "not recur, new requests wait until the running batch has ended. Assumption: arrivals at 0 and 3, 4 steps",
  run() {
    const model = staticChain({
      cells: ["CONV1", "CONV2", "RNN*", "FC1", "FC2"],
    });
    const serialized = drive(
      cellular({ nonRecurrent: "serialize", maxTasksToSubmit: 1 }),
      [model],
      REQUESTS,
    );
    const graphs = drive(graph(), [model], REQUESTS);
    const algorithm1 = drive(
      cellular({ maxTasksToSubmit: 1 }),
      [model],
      REQUESTS,
    );
    const lazily = drive(
      lazy({ slaNs: Infinity, profile: () => 1 }),
      [model],
      REQUESTS,
    );
    const starts = [3, 4, 5].map((request) => startOf(serialized, request));
    const mixed = serialized.tasks.filter(({ requests }) =>
      requests.includes(1) && requests.includes(3)
    );
    const together = algorithm1.tasks.find(({ requests }) =>
      requests.includes(1) && requests.includes(3)
    );
    return Promise.resolve({
      findings: [{
        claim: "LB-06",
        compared: [
          {
            name: "Req3-5 in the running batch",
            as: "holds" as const,
            published: "not admitted",
            ours: mixed.length === 0 &&
              starts.every((start) => start === serialized.departNs[1]),
            seen: `they start at ${starts}, when Req1-2 have ended`,
          },
          {
            name: "what is left is graph batching",
            as: "holds" as const,
            published: "serializes Req1-2 and Req3-5",
            ours: `${serialized.departNs}` === `${graphs.departNs}`,
            seen: `departures ${
              serialized.departNs.slice(1)
            }, graph batching's ${graphs.departNs.slice(1)}`,
          },
        ],
        note:
          `This is the paper's reading. BatchMaker's own Algorithm 1 batches Req3-5 with Req1-2 at ${
            together?.cell ?? "no node"
          } from ${
            together?.startNs ?? "never"
          } on: see its timeline, and LB-27 for what that comes to on networks.`,
      }],
      charts: [
        timelineChart("Cellular batching as this paper reads it", serialized),
        timelineChart(
          "Cellular batching, BatchMaker's Algorithm 1",
          algorithm1,
        ),
        timelineChart("LazyBatching", lazily),
      ],
      tables: [],
    });
  },
};
