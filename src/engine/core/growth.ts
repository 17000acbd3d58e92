import type { CellNode } from "../../graph/cell_graph.ts";
import type { ActiveRequest } from "./active_request.ts";
import type { Executor } from "./executor.ts";
import { grow } from "./unfold.ts";

const NONE: readonly (readonly [ActiveRequest, Error])[] = [];

/** Lets graphs grow as their steps are submitted. What goes wrong there is one request's failure alone. */
export class Growth {
  readonly #executor: Pick<Executor, "grew">;
  /** Requests whose growth failed in the launch under way. */
  readonly #stunted = new Map<ActiveRequest, Error>();

  constructor(executor: Pick<Executor, "grew">) {
    this.#executor = executor;
  }

  /** Appends what follows a submitted node of a cell with a stop rule. */
  follow(node: CellNode, request: ActiveRequest): void {
    const { graph, model } = request;
    request.stepsSubmitted++;
    if (graph.closed) return;
    if (request.stepsSubmitted >= graph.stepsMax) {
      graph.closed = true;
      return;
    }
    const before = graph.nodes.length;
    try {
      grow(model, node, graph);
      for (let i = before; i < graph.nodes.length; i++) {
        this.#executor.grew(request, graph.nodes[i]);
      }
    } catch (error) {
      this.#stunted.set(request, error as Error);
    }
    if (graph.nodes.length === before) graph.closed = true;
  }

  /** Whether its growth failed: what was appended before has no place in memory. */
  isStunted(request: ActiveRequest): boolean {
    return this.#stunted.has(request);
  }

  /** Hands out the requests whose growth failed, with what was thrown. */
  takeStunted(): readonly (readonly [ActiveRequest, Error])[] {
    if (this.#stunted.size === 0) return NONE;
    const all = [...this.#stunted];
    this.#stunted.clear();
    return all;
  }
}
