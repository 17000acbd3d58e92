/** What the soak serves, and requests that no model takes. */
import { BENCH_MODELS, buildModel } from "../../src/cli/bench_models.ts";
import type { Model } from "../../src/graph/model.ts";
import type { InputGenerator } from "../../src/workload/inputs.ts";

interface Served {
  /** One of the bench's models. */
  readonly name: string;
  readonly hidden: number;
  /** Options set differently than the bench does. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/** Served side by side, each by as many requests as the others: one line adds one. */
const SERVED: readonly Served[] = [
  { name: "lstm", hidden: 128, options: { head: "classifier" } },
  { name: "seq2seq", hidden: 96, options: { eos: 2 } },
  { name: "treelstm", hidden: 128, options: { classes: 5 } },
];

export interface SoakModel {
  readonly model: Model;
  readonly inputs: InputGenerator;
}

/** @param seed of the weights */
export function soakModels(seed: number): SoakModel[] {
  return SERVED.map(({ name, hidden, options = {} }) => {
    const bench = BENCH_MODELS.find((known) => known.name === name);
    if (bench === undefined) throw new RangeError(`No bench model "${name}"`);
    return buildModel(bench, hidden, false, seed, options);
  });
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
