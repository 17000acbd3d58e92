/** What the soak serves, and requests that no model takes. */
import { buildModel } from "../../src/cli/bench_models.ts";
import type { Model } from "../../src/graph/model.ts";
import type { InputGenerator } from "../../src/workload/input_generator.ts";

interface Served {
  /** In the registry. */
  readonly name: string;
  /** Options set differently than the bench's small models have them. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Served side by side, each by as many requests as the others: one line adds one. */
const SERVED: readonly Served[] = [
  { name: "lstm", options: { hidden: 128, head: "classifier" } },
  {
    name: "seq2seq",
    options: { hidden: 96, sourceVocabulary: 1536, eos: 2 },
  },
  { name: "treelstm", options: { hidden: 128, classes: 5 } },
];

export interface SoakModel {
  readonly model: Model;
  readonly inputs: InputGenerator;
}

/** @param seed of the weights */
export function soakModels(seed: number): SoakModel[] {
  return SERVED.map(({ name, options }) =>
    buildModel(name, "small", seed, options)
  );
}

/** Refused by `check` of every model. */
export const BAD_INPUTS: readonly unknown[] = [
  null,
  undefined,
  "tokens",
  {},
  { tokens: [] },
  { tokens: [1, 2, -1] },
  { tokens: [1, 0.5] },
  { tokens: [1], maxSteps: 0, tree: 1 },
  { tree: [1] },
  { tree: [1, [2, 1e9]] },
];
