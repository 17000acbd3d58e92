/** Fig. 4: how long the inputs of GLUE tasks are. */
import { Histogram } from "../../../src/workload/histogram.ts";
import { TASKS } from "../../../src/workload/lengths.ts";
import type { Experiment, Series } from "../experiment.ts";
import { percent } from "../simulation.ts";

const WORDS = { from: 5, to: 20, long: 100 } as const;

export interface TaskShares {
  readonly task: string;
  readonly examples: number;
  /** Of inputs of 5 to 20 tokens, and of more than 100. */
  readonly usual: number;
  readonly long: number;
  readonly counts: readonly (readonly [tokens: number, count: number])[];
}

export function taskShares(): TaskShares[] {
  return Object.values(TASKS).map(({ name, counts, examples }) => {
    const entries = [...new Histogram(counts).entries()];
    const share = (holds: (tokens: number) => boolean) =>
      entries.reduce(
        (sum, [tokens, count]) => sum + (holds(tokens) ? count : 0),
        0,
      ) / examples;
    return {
      task: name,
      examples,
      usual: share((n) => n >= WORDS.from && n <= WORDS.to),
      long: share((n) => n > WORDS.long),
      counts: entries,
    };
  });
}

export const fig4: Experiment = {
  id: "dvabatch.fig4",
  title: "Fig. 4: lengths of GLUE's inputs",
  claims: ["DV-05"],
  conditions:
    "Histograms of src/workload: what an uncased BERT is given for every training example of RTE, SST-2, MRPC and CoLA, " +
    "which are four of the paper's ten workloads. Tokens are word pieces with [CLS] and [SEP]; RTE and MRPC have two sentences.",
  run() {
    const tasks = taskShares();
    const all = tasks.reduce((sum, { examples }) => sum + examples, 0);
    const inAll = (of: (task: TaskShares) => number) =>
      tasks.reduce((sum, task) => sum + of(task) * task.examples, 0) / all;
    const [usual, long] = [inAll((t) => t.usual), inAll((t) => t.long)];
    return Promise.resolve({
      findings: [{
        claim: "DV-05",
        compared: [{
          name: "most have 5 to 20",
          as: "holds",
          published: "most",
          ours: usual > 0.5,
          seen: `${percent(usual)} of ${all} inputs`,
        }, {
          name: "some have more than 100",
          as: "holds",
          published: "some",
          ours: long > 0,
          seen: `${percent(long)}; ${
            percent(Math.max(...tasks.map((task) => task.long)))
          } of the task with the longest`,
        }],
        note:
          "Tokens instead of words, four of the ten workloads; the four weigh as many examples as they have.",
      }],
      charts: [{
        kind: "lines",
        title: "Share of inputs up to a length",
        x: "tokens",
        y: "share of inputs",
        logX: true,
        step: true,
        series: tasks.map(({ task, examples, counts }): Series => {
          let before = 0;
          return {
            name: task,
            points: counts.map(([x, count]) => ({
              x,
              y: (before += count) / examples,
            })),
          };
        }),
      }],
      tables: [{
        title: "Lengths by task",
        columns: ["task", "inputs", "5 to 20 tokens", "above 100"],
        rows: tasks.map(({ task, examples, usual, long }) => [
          task,
          examples,
          percent(usual),
          percent(long),
        ]),
      }],
    });
  },
};
