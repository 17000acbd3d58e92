/** Fig. 3: the worked examples of the three diversities, by driving the policies on virtual time. */
import { mean } from "../../../src/base/statistics.ts";
import type { CostModel } from "../../../src/cost/cost_model.ts";
import type { Model } from "../../../src/graph/model.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { graph } from "../../../src/policy/baselines/graph_batching.ts";
import { dvabatch } from "../../../src/policy/dvabatch/dvabatch.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { shapesOnly } from "../../../src/tensor/weights.ts";
import type { ChartData, Experiment, TableData } from "../experiment.ts";
import { layerModel } from "../layer_model.ts";
import { simulate } from "../simulation.ts";

/** Units per T: a quarter of it is needed. */
const T = 4;

interface Case {
  readonly claim: string;
  readonly name: string;
  readonly model: Model<never>;
  readonly cost: CostModel;
  readonly inputs: readonly { readonly atT: number; readonly input: unknown }[];
  readonly before: () => Policy;
  readonly after: () => Policy;
  readonly workers: number;
  /** Mean latencies in T, and the reduction, as published. */
  readonly published: readonly [before: number, after: number, percent: number];
}

const four = layerModel("four operators", ["A", "B", "C", "D"]);
const sentence = lstm({ hidden: 1, vocabulary: 2, weights: shapesOnly() });
const atOnce = (input: unknown) => ({ atT: 0, input });
const words = (count: number) => ({ tokens: new Array<number>(count).fill(1) });

const caseTwo: CostModel = {
  latencyNs: ({ name }, rows) => name === "A" ? T : rows * T / 4,
};

export const CASES: readonly Case[] = [
  {
    claim: "DV-02",
    name: "Case I, input diversity",
    model: sentence,
    cost: { latencyNs: () => T },
    // Assumption: the long query takes 4 operators, the short ones 2.
    inputs: [2, 2, 2, 4].map((count) => atOnce(words(count))),
    before: () => graph({ batchSizeMax: 4 }),
    after: () =>
      dvabatch({ policy: "I", stages: 1, windowNs: 0, batchSizeMax: 4 }),
    workers: 2,
    published: [4, 2.5, 37.5],
  },
  {
    claim: "DV-03",
    name: "Case II, operator diversity",
    model: four,
    cost: caseTwo,
    inputs: [{}, {}, {}, {}].map(atOnce),
    before: () => graph({ batchSizeMax: 4 }),
    after: () =>
      dvabatch({
        policy: "II+III",
        profile: (cell, rows) => caseTwo.latencyNs(cell, rows),
        batchSizeMax: 4,
      }),
    workers: 4,
    published: [4, 2.875, 28.1],
  },
  {
    claim: "DV-04",
    name: "Case III, load diversity",
    model: four,
    cost: { latencyNs: () => T },
    // Window 4 T from the first arrival; three arrive while the first operator of the lone one runs.
    inputs: [0, 5, 5, 5].map((atT) => ({ atT, input: {} })),
    before: () => graph({ batchSizeMax: 4, windowNs: 4 * T }),
    after: () => dvabatch({ policy: "III", batchSizeMax: 4, windowNs: 4 * T }),
    workers: 4,
    published: [8, 5.25, 34.4],
  },
];

type Spans = (ChartData & { kind: "timeline" })["rows"];

/** Mean latency in T, and who ran what. */
export function drive(
  { model, cost, inputs, workers }: Case,
  policy: Policy,
): { meanT: number; rows: Spans } {
  const rows = Array.from({ length: workers }, (_, worker) => ({
    name: `executor ${worker + 1}`,
    spans: [] as { from: number; to: number; label: string }[],
  }));
  const { latenciesNs } = simulate({
    policy,
    cost,
    workers,
    arrivals: inputs.map(({ atT, input }) => ({
      model,
      input,
      arrivalNs: atT * T,
    })),
    observer: {
      task: (_task, { worker, startNs, endNs, cell, requests }) =>
        rows[worker].spans.push({
          from: startNs / T,
          to: endNs / T,
          label: `${cell}: ${
            requests.map((id) => id + 1).sort((a, b) => a - b).join(", ")
          }`,
        }),
    },
  });
  return {
    meanT: mean(latenciesNs) / T,
    rows: rows.filter(({ spans }) => spans.length > 0),
  };
}

export const fig3: Experiment = {
  id: "dvabatch.fig3",
  title: "Fig. 3: the three diversities",
  claims: CASES.map(({ claim }) => claim),
  conditions:
    "Worked examples on virtual time: T is an operator's time, four queries, batches of at most 4, two buffer pairs. " +
    "Before: graph batching on one executor. Assumptions: in case I the short queries take 2 operators and run beside " +
    "the long one; in case III the three come at 5 T.",
  run() {
    const charts: ChartData[] = [];
    const table: (string | number)[][] = [];
    const findings = CASES.map((one) => {
      const [publishedBefore, publishedAfter, percent] = one.published;
      const before = drive({ ...one, workers: 1 }, one.before());
      const after = drive(one, one.after());
      for (
        const [name, { rows }] of [["batched", before], [
          "DVABatch",
          after,
        ]] as const
      ) {
        charts.push({
          kind: "timeline",
          title: `${one.name}, ${name}`,
          unit: "T",
          rows,
        });
      }
      table.push([one.name, before.meanT, after.meanT]);
      const ours = 100 * (1 - after.meanT / before.meanT);
      return {
        claim: one.claim,
        compared: [
          {
            name: "batched, T",
            as: "equal",
            published: publishedBefore,
            ours: before.meanT,
          },
          {
            name: "DVABatch, T",
            as: "equal",
            published: publishedAfter,
            ours: after.meanT,
          },
          {
            name: "less, % (one decimal)",
            as: "equal",
            published: percent,
            ours: Math.round(10 * ours) / 10,
          },
        ] as const,
      };
    });
    const tables: TableData[] = [{
      title: "Mean latency, T",
      columns: ["case", "batched", "DVABatch"],
      rows: table,
    }];
    return Promise.resolve({ findings, charts, tables });
  },
};
