/** Section VI: the evaluation's defaults, used as they are: 20 runs of the heavy load. */
import { mean } from "../../../src/base/statistics.ts";
import type { Experiment } from "../experiment.ts";
import { HEAVY_RATE, judged, latency, MAIN_NETWORKS } from "./evaluation.ts";
import { workloadOf } from "./networks.ts";
import { BATCH_SIZE_MAX, graphB, LAZYB, SLA_MS } from "./policies.ts";
import { ERROR_BARS, type Run, runsOf, spreadOf } from "./runs.ts";

const RUNS = 20;
const POLICIES = { LazyB: LAZYB, "GraphB(5)": graphB(5) };

export const defaults: Experiment = {
  id: "lazybatching.defaults",
  title: "The evaluation's defaults, over 20 runs",
  claims: ["LB-16"],
  conditions:
    "1000 requests/s on the NPU of Table I, scaled to Table II's time alone. Other figures have as many runs as the " +
    "program is told; this one says what that leaves out",
  async run(context) {
    const networks = context.quick ? ["resnet50" as const] : MAIN_NETWORKS;
    const spreads: { name: string; policy: string; runs: Run[] }[] = [];
    for (const network of networks) {
      for (const [policy, spec] of Object.entries(POLICIES)) {
        spreads.push({
          name: workloadOf(network).title,
          policy,
          runs: await runsOf(context, {
            network,
            device: judged(network),
            policy: spec,
            ratePerS: HEAVY_RATE,
          }, RUNS),
        });
      }
    }
    const equal = (name: string, published: number, ours: number) => ({
      name,
      as: "equal" as const,
      published,
      ours,
    });
    return {
      findings: [{
        claim: "LB-16",
        compared: [
          equal("most per batch", 64, BATCH_SIZE_MAX),
          equal("SLA, ms", 100, SLA_MS),
          equal(
            "runs",
            20,
            Math.min(...spreads.map(({ runs }) => runs.length)),
          ),
          equal("error bars from, percentile", 25, ERROR_BARS[0]),
          equal("error bars to, percentile", 75, ERROR_BARS[1]),
        ],
        note:
          `Runs per point of the other figures: ${context.runs}. The table has both means.`,
      }],
      charts: [{
        kind: "bars",
        title: `Mean latency at ${HEAVY_RATE}/s over ${RUNS} runs`,
        x: "network",
        y: "ms",
        categories: networks.map((network) => workloadOf(network).title),
        series: Object.keys(POLICIES).map((policy) => ({
          name: policy,
          points: spreads.filter((one) => one.policy === policy)
            .map(({ runs }, x) => spreadOf(x, runs, latency)),
        })),
      }],
      tables: [{
        title: "Mean latency, ms",
        columns: [
          "network",
          "policy",
          `${RUNS} runs`,
          "25th percentile",
          "75th percentile",
          `the first ${context.runs}`,
        ],
        rows: spreads.map(({ name, policy, runs }) => {
          const { y, low, high } = spreadOf(0, runs, latency);
          return [
            name,
            policy,
            y.toFixed(2),
            low.toFixed(2),
            high.toFixed(2),
            mean(runs.slice(0, context.runs).map(latency)).toFixed(2),
          ];
        }),
      }],
    };
  },
};
