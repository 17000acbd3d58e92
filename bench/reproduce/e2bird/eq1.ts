import { NS_PER_US } from "../../../src/base/units.ts";
import type { SharedCost } from "../../../src/cost/shared_cost.ts";
import { throughInStream } from "../../../src/engine/virtual/virtual_driver.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { nEbird } from "../../../src/policy/e2bird/n_ebird.ts";
import type { Experiment, Outcome } from "../experiment.ts";
import { simulate } from "../simulation.ts";
import { MODEL } from "./networks.ts";

const REQUESTS = 100;

/** Time per request when nothing is waited for but copies and computation, one stream, ns. */
function periodNs(
  transferNs: number,
  computeNs: number,
  overlaps: boolean,
): number {
  const arrivals = Array.from(
    { length: REQUESTS },
    () => ({ model: MODEL, input: {}, arrivalNs: 0 }),
  );
  const cost: SharedCost = {
    latencyNs: () => computeNs,
    demand: () => 1,
    ...(!overlaps && { htodNs: () => transferNs }),
  };
  const { latenciesNs } = simulate({
    policy: overlaps
      ? nEbird({ workers: [1] })
      : graph({ batchSizeMax: 1, windowNs: 0 }),
    cost,
    arrivals: overlaps ? throughInStream(arrivals, transferNs) : arrivals,
  });
  // All arrived at 0: latencies are departures. The first half fills the pipeline.
  const half = REQUESTS / 2;
  return (latenciesNs[REQUESTS - 1] - latenciesNs[half - 1]) / half;
}

function measure(transferUs: number) {
  const [transferNs, computeNs] = [transferUs, 100 - transferUs].map((us) =>
    us * NS_PER_US
  );
  const serialNs = periodNs(transferNs, computeNs, false);
  const overlapNs = periodNs(transferNs, computeNs, true);
  return {
    transferUs,
    bound: transferNs / (transferNs + computeNs),
    // Of the new throughput, and of the old one.
    ofNew: (serialNs - overlapNs) / serialNs,
    ofOld: serialNs / overlapNs - 1,
  };
}

function run(): Promise<Outcome> {
  const measured = [5, 10, 25, 40, 50, 60, 75, 90].map(measure);
  const exceeded = measured.filter(({ bound, ofNew }) => ofNew > bound);
  return Promise.resolve({
    findings: [{
      claim: "EB-04",
      compared: [
        ...measured.filter(({ transferUs }) => transferUs <= 50).map((
          { transferUs, bound, ofNew },
        ) => ({
          name: `t_T ${transferUs} us, t_C ${
            100 - transferUs
          } us: gain over new throughput`,
          as: "equal" as const,
          published: bound,
          ours: ofNew,
        })),
        {
          name: "t_T above t_C",
          as: "holds",
          published: "an upper bound",
          ours: exceeded.length === 0,
          seen: measured.filter(({ transferUs }) => transferUs > 50).map((
            { bound, ofNew },
          ) => `${ofNew.toFixed(2)} of ${bound.toFixed(2)}`).join(", "),
        },
      ],
      note:
        "As the share of the new throughput (the time that is saved). Over the old throughput the gain is t_T / t_C, " +
        "more than Eq. 1 has.",
    }],
    charts: [{
      kind: "lines",
      title: "Gain of overlapping copies and computation",
      x: "t_T / (t_T + t_C)",
      y: "share",
      series: ([
        ["Eq. 1", "bound"],
        ["of the new throughput", "ofNew"],
        ["of the old throughput", "ofOld"],
      ] as const).map(([name, of]) => ({
        name,
        points: measured.map((point) => ({ x: point.bound, y: point[of] })),
      })),
    }],
    tables: [],
  });
}

/** Eq. 1: what overlapping is worth. */
export const EQ_1: Experiment = {
  id: "e2bird.eq1",
  title: "The bound on what overlapping copies and computation gains",
  claims: ["EB-04"],
  conditions:
    "Virtual time; 100 requests at once, one stream, batches of one: copied with the batch (TensorFlow Serving) or one " +
    "after the other as they come (memory pool).",
  run,
};
