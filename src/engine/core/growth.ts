import type { CellNode } from "../../graph/cell_graph.ts";
import type { ActiveRequest } from "./active_request.ts";
import type { Executor } from "./executor.ts";
import { grow } from "./unfold.ts";

/** Appends what follows submitted nodes. What goes wrong there is the failure of one request alone. */
export class Growth {
  readonly #executor: Pick<Executor, "grew">;
  /** Requests whose growth failed in the launch under way. */
  readonly #stunted = new Map<ActiveRequest, Error>();

  constructor(executor: Pick<Executor, "grew">) {
    this.#executor = executor;
  }

  /** @param node one with a stop rule, just submitted */
  submitted(node: CellNode, request: ActiveRequest): void {
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

  /** Whether growth of the request has failed: what it has appended has no place in memory. */
  isStunted(request: ActiveRequest): boolean {
    return this.#stunted.has(request);
  }

  /** The requests whose growth has failed since the last call. */
  takeStunted(): readonly (readonly [ActiveRequest, Error])[] {
    if (this.#stunted.size === 0) return NONE;
    const stunted = [...this.#stunted];
    this.#stunted.clear();
    return stunted;
  }
}

const NONE: readonly never[] = [];
