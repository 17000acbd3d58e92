/** Our side of the bench: requests to a serving engine, as a user makes them. */
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import { growingCells } from "../../src/graph/growing_cells.ts";
import type { Model } from "../../src/graph/model.ts";
import { SlotPlan } from "../../src/graph/slot_plan.ts";
import type { RunResult } from "../../src/engine/wall/run_result.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";

/** A batch is launched once all of its requests are there; they are, before this. */
const WINDOW_NS = 1e9;
/** The pool's classes of sizes are up to an eighth apart. */
const SLACK = 1.25;

/** An engine, and the requests that are put to it. */
export interface Served {
  /** Puts all requests at once. @returns milliseconds of all that is timed: whole requests, or their steps */
  run(): Promise<number>;
  /** Results of the last run, a request each. */
  results(): readonly RunResult["outputs"][];
  close(): Promise<void>;
}

/** @param inputs a batch of requests */
export async function serve(
  model: Model,
  inputs: readonly unknown[],
  threads: number,
): Promise<Served> {
  const engine = await ServingEngine.create({
    models: [model],
    policy: graph({ batchSizeMax: inputs.length, windowNs: WINDOW_NS }),
    workers: 1,
    threadsPerWorker: threads,
    slotBytes: slotBytes(model, inputs),
  });
  const growing = new Set(growingCells(model.cells).map(({ name }) => name));
  let last: readonly RunResult[] = [];
  return {
    async run() {
      const startMs = performance.now();
      last = await Promise.all(
        inputs.map((input) => engine.run(model, input, { batches: true })),
      );
      const wholeMs = performance.now() - startMs;
      return growing.size === 0
        ? wholeMs
        : Math.max(...last.map((result) => stepsMs(result, growing)));
    },
    results: () => last.map(({ outputs }) => outputs),
    close: () => engine.close(),
  };
}

/** From the start of the first batch of a growing cell to the end of the request. */
function stepsMs(
  { timing: { queuedMs, ranMs, batches = [] } }: RunResult,
  growing: ReadonlySet<string>,
): number {
  const first = batches.find(({ cell }) => growing.has(cell));
  if (first === undefined) throw new Error("A request took no step");
  return queuedMs + ranMs - first.startedMs;
}

/** Slot memory for the requests all at once. */
export function slotBytes(model: Model, inputs: readonly unknown[]): number {
  const graph = new CellGraph(model);
  model.unfold(inputs[0], graph);
  const bytes = new SlotPlan(graph).bytes;
  return Math.ceil(SLACK * inputs.length * bytes) + 2 ** 24;
}
