/**
 * The steps of a growing request, for who wants to hear of them as they are done. What a step adds to the request's
 * results stays in its slot until it departs (`keptPorts`), so steps can be told late; they are told in order.
 */
import { Fifo } from "../../base/fifo.ts";
import type {
  CellGraph,
  CellNode,
  NodeOutput,
} from "../../graph/cell_graph.ts";
import type { Result } from "../../graph/result.ts";
import type { ResultRows } from "../../graph/result_rows.ts";

/** A step of a growing request that is done. */
export interface DoneStep {
  /** Which one, from 0 on. */
  readonly index: number;
  /**
   * What it adds to the request's results: the rows of those that are lists, one after the other over all steps. The
   * first step has the results that are one row, and rows collected before, as well. Empty in simulations.
   */
  readonly outputs: Partial<Result>;
}

/**
 * Hears of a step. Never of one that turned out to lie behind the request's end, nor after the request has departed.
 * @param endNs when it was done, or the run that held its result (graph batching)
 */
export type OnStep = (step: DoneStep, endNs: number) => void;

/** What has been told of a request's steps. */
export class StepRows {
  /** Last nodes of steps that are done and not told. */
  readonly #done: Fifo<CellNode> = new Fifo();
  /** Sources told, of each result. */
  readonly #told = new Map<string, number>();
  #steps = 0;

  constructor(readonly onStep: OnStep) {}

  /**
   * A node of the request is done.
   * @returns whether a step is
   */
  done(node: CellNode): boolean {
    if (!node.cell.stop) return false;
    this.#done.push(node);
    return true;
  }

  /** The next step to be told, and its rows, by the names of the results; undefined when no other is done. */
  next({ results }: CellGraph):
    | {
      readonly index: number;
      readonly rows: ReadonlyMap<string, ResultRows<NodeOutput>>;
    }
    | undefined {
    const last = this.#done.shift();
    if (last === undefined) return undefined;
    const rows = new Map<string, ResultRows<NodeOutput>>();
    for (const [name, result] of results) {
      const { sources } = result;
      const from = this.#told.get(name) ?? 0;
      let to = from;
      // All nodes of a step, and those before it grew, are in front of its last.
      while (to < sources.length && sources[to].node.index <= last.index) to++;
      if (to === from) continue;
      this.#told.set(name, to);
      rows.set(name, { ...result, sources: sources.slice(from, to) });
    }
    return { index: this.#steps++, rows };
  }
}
