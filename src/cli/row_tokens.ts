import { Prng } from "../base/prng.ts";
import { mean } from "../base/statistics.ts";
import { CellGraph } from "../graph/cell_graph.ts";
import type { ProfiledTokens } from "../plan/profiled_cost.ts";
import type { TaskRecord } from "../policy/records.ts";
import type { BuiltModel } from "./bench_models.ts";

/** Requests that are looked at. */
const REQUESTS = 200;

/** Tokens that rows of a model's ragged cells have; undefined when it has no such cells. */
export function rowTokens(
  { model, inputs }: Pick<BuiltModel, "model" | "inputs">,
  seed: number,
): ProfiledTokens | undefined {
  if (model.cells.every(({ tokensMax }) => tokensMax === undefined)) return;
  const prng = new Prng(seed).fork("tokens");
  const lengths: number[] = [];
  for (let i = 0; i < REQUESTS; i++) {
    const graph = new CellGraph(model);
    model.unfold(inputs.next(prng).input, graph);
    for (const { cell, length } of graph.nodes) {
      if (cell.tokensMax !== undefined) lengths.push(length);
    }
  }
  return {
    least: Math.min(...lengths),
    mean: mean(lengths),
    most: Math.max(...lengths),
  };
}

/** What rows of a task take of what rows of mean texts do: in proportion to their tokens (ProfiledCost's assumption). */
export function tokenShare(
  { rows, padding, tokens }: Pick<TaskRecord, "rows" | "padding" | "tokens">,
  meanTokens: number,
): number {
  if (tokens === undefined) return 1;
  return (tokens.done + tokens.padding) / ((rows + padding) * meanTokens);
}

/** What a task would have taken with rows of mean texts, ns. */
export function meanTextsNs(record: TaskRecord, meanTokens: number): number {
  const { startNs, endNs } = record;
  return (endNs - startNs) / tokenShare(record, meanTokens);
}
