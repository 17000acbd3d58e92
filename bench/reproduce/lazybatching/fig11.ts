/** Fig. 11: lengths of sentences, and the decoder length that covers them. */
import { decTimesteps } from "../../../src/policy/common/exec_time.ts";
import { Histogram, JointHistogram } from "../../../src/workload/histogram.ts";
import { CORPORA } from "../../../src/workload/lengths.ts";
import type { Experiment } from "../experiment.ts";
import { percent } from "../simulation.ts";
import { DEC_TIMESTEPS, TEST_SET } from "./networks.ts";
import { WORD_LENGTHS } from "./word_lengths.ts";

/** Training data, as what the paper characterises is. */
const TRAINING_SET = "wmt15.en-de";

type Counts = ReadonlyMap<number, number>;

interface Sides {
  readonly english: Counts;
  readonly german: Counts;
}

/** Sentences by words. */
function wordsOf(name: string): Sides {
  const { english, german } = WORD_LENGTHS[name];
  return {
    english: new Map(new Histogram(english).entries()),
    german: new Map(new Histogram(german).entries()),
  };
}

/** Sentences by tokens. */
function tokensOf(name: string): Sides {
  const { english, counts } = CORPORA[name];
  const sides = [new Map<number, number>(), new Map<number, number>()];
  for (const [source, target, count] of new JointHistogram(counts).entries()) {
    for (const [i, length] of [source, target].entries()) {
      sides[i].set(length, (sides[i].get(length) ?? 0) + count);
    }
  }
  const [source, target] = sides.map((side) =>
    new Map([...side].sort(([a], [b]) => a - b))
  );
  return english === "source"
    ? { english: source, german: target }
    : { english: target, german: source };
}

/** Share of sentences of at most that length. */
function shareTo(counts: Counts, length: number): number {
  let [upTo, all] = [0, 0];
  for (const [one, count] of counts) {
    all += count;
    if (one <= length) upTo += count;
  }
  return upTo / all;
}

/** What is counted of each corpus. */
const COUNTED: readonly { readonly name: string; readonly sides: Sides }[] = [
  ...Object.keys(WORD_LENGTHS).map((name) => ({
    name: `${name}, words`,
    sides: wordsOf(name),
  })),
  ...Object.keys(CORPORA).map((name) => ({
    name: `${name}, tokens`,
    sides: tokensOf(name),
  })),
];

const LENGTHS = [5, 10, 15, 20, 25, 30, 32, 40, 50, 60, 80];

export const fig11: Experiment = {
  id: "lazybatching.fig11",
  title: "Lengths of sentences, and decoder lengths that cover them",
  claims: ["LB-11", "LB-12"],
  conditions:
    `WMT 2019 is not embedded. Judged by the words of ${TRAINING_SET} (a sample of WMT 2015's training data, ` +
    `sentences up to 50 tokens). Simulations draw tokens of ${TEST_SET}, punctuation marks among them`,
  run() {
    const { english, german } = wordsOf(TRAINING_SET);
    const test = wordsOf(TEST_SET);
    const size = (name: string, published: number, ours: number) => ({
      name,
      as: "size" as const,
      published,
      ours,
    });
    return Promise.resolve({
      findings: [
        {
          claim: "LB-11",
          compared: [
            size("share of English below 20", 0.7, shareTo(english, 19)),
            size("share of German up to 30", 0.9, shareTo(german, 30)),
          ],
          note: `Of the test set ${TEST_SET}: ${
            percent(shareTo(test.english, 19))
          } and ${percent(shareTo(test.german, 30))}.`,
        },
        {
          claim: "LB-12",
          compared: [
            {
              name: "default of dec_timesteps",
              as: "equal" as const,
              published: 32,
              ours: DEC_TIMESTEPS,
            },
            size("coverage of 32 steps", 0.9, shareTo(german, 32)),
            size("steps that cover 90 %", 32, decTimesteps(german, 0.9)),
            size("coverage of 10 steps", 0.16, shareTo(german, 10)),
          ],
          note:
            `A decoder takes a step per token: of the tokens that are simulated 32 steps cover ${
              percent(shareTo(tokensOf(TEST_SET).german, 32))
            }.`,
        },
      ],
      charts: (["english", "german"] as const).map((side) => ({
        kind: "lines" as const,
        title: `Share of sentences up to a length: ${side}`,
        x: "words or tokens",
        y: "share",
        series: COUNTED.map(({ name, sides }) => ({
          name,
          points: LENGTHS.map((x) => ({ x, y: shareTo(sides[side], x) })),
        })),
      })),
      tables: [{
        title: "Coverage by corpus",
        columns: [
          "corpus",
          "English below 20",
          "German up to 30",
          "German up to 10",
          "German up to 32",
          "steps that cover 90 %",
        ],
        rows: COUNTED.map(({ name, sides: { english, german } }) => [
          name,
          percent(shareTo(english, 19)),
          percent(shareTo(german, 30)),
          percent(shareTo(german, 10)),
          percent(shareTo(german, 32)),
          decTimesteps(german, 0.9),
        ]),
      }],
    });
  },
};
