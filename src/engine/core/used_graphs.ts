/**
 * Graphs of requests that are over, for requests to come, of models whose requests all have the same nodes
 * (`Model.brings`): unfolded and planned once, written to and read like any other. What is not made anew is no garbage:
 * a request's graph is most of what it leaves behind. All other graphs are taken apart: V8 allocates in its old space
 * what it has seen to survive often, as graphs do while requests wait, by place in the code and for good, and what is
 * made there keeps all that it points to until the next major collection. One such list of a graph kept all of it, and
 * minor collections copied the graphs of all requests that had been there since the last one.
 *
 * A graph is used again, or taken apart, once the policy has heard of all that became of its request, and of the end of
 * every launch that had nodes of it. What its first request brought is not kept with it.
 */
import { CellGraph } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import { emptyGraph } from "../../graph/empty_graph.ts";
import { copyOf } from "../../graph/input_data.ts";
import { restartGraph } from "../../graph/restart_graph.ts";
import type { ActiveRequest } from "./active_request.ts";
import { BroughtData } from "./brought_data.ts";
import { QueueFullError } from "./errors.ts";
import type { Executor } from "./executor.ts";
import { checkInput, unfold } from "./unfold.ts";

type Graph = CellGraph<ActiveRequest>;

/** Nodes of all graphs that are kept, some megabytes; further graphs are not. */
const NODES_MAX = 2 ** 14;

/** Of a model that says what its requests bring. */
interface KnownModel {
  readonly brought: BroughtData;
  readonly graphs: Graph[];
}

/** A request that is over. */
interface Left {
  readonly request: ActiveRequest;
  /** Where its graph is kept; undefined: nowhere. */
  readonly graphs: Graph[] | undefined;
}

/** The graphs of an engine's requests. */
export class UsedGraphs {
  readonly #executor: Pick<Executor, "admit">;
  readonly #empty = new Map<Model, Graph>();
  readonly #known = new Map<Model, KnownModel>();
  /** Of the graphs that are used again, and of those that will be. */
  #nodes = 0;
  /** The policy may look at their graphs yet. */
  #left: Left[] = [];

  constructor(executor: Pick<Executor, "admit">) {
    this.#executor = executor;
  }

  /** What a request has until it is unfolded. */
  empty(model: Model): Graph {
    let graph = this.#empty.get(model);
    if (graph === undefined) {
      this.#empty.set(model, graph = new CellGraph<ActiveRequest>(model));
    }
    return graph;
  }

  /**
   * Checks a request's input, gives it a graph, a used one or a new one that it is unfolded into, and has room made for
   * it. One that waited for room has its graph.
   * @param mayWait asked where there is no room now: whether the request keeps its graph, to be admitted again
   * @returns whether there was room
   * @throws TypeError or RangeError on bad input, or what else the model or the executor throws
   */
  admit(
    request: ActiveRequest,
    input: unknown,
    mayWait: (request: ActiveRequest) => boolean,
  ): boolean {
    const { model } = request;
    const isNew = !this.#hasGraph(request);
    if (isNew) {
      checkInput(model, input);
      if (!this.#uses(request, input)) this.#unfold(request, input);
    }
    try {
      this.#executor.admit(request);
    } catch (error) {
      if (error instanceof QueueFullError && mayWait(request)) {
        // What it brings may be its caller's; what it was unfolded with is a copy.
        if (isNew) {
          request.brought = request.brought?.map((x) => x && copyOf(x));
        }
        return false;
      }
      this.withdraw(request);
      throw error;
    }
    // By now it is in the slot.
    if (request.brought) request.brought = undefined;
    else this.#known.get(model)?.brought.forget(request.graph);
    return true;
  }

  #hasGraph({ graph, model }: ActiveRequest): boolean {
    return graph !== this.empty(model);
  }

  /** A request that never was admitted goes: a graph that it has by now is not lost. */
  withdraw(request: ActiveRequest): void {
    if (!this.#hasGraph(request)) return;
    if (request.brought) request.brought = undefined;
    else this.#known.get(request.model)?.brought.forget(request.graph);
    this.leave(request);
  }

  /** @returns whether there was a used graph for the request */
  #uses(request: ActiveRequest, input: unknown): boolean {
    const { model } = request;
    const known = this.#known.get(model);
    if (known === undefined || known.graphs.length === 0) return false;
    const brought = known.brought.of(model, input);
    // Not before: a model's functions may submit requests themselves, which take graphs, too.
    const graph = known.graphs.pop();
    if (graph === undefined) return false;
    this.#nodes -= graph.nodes.length;
    restartGraph(graph, request);
    request.graph = graph;
    request.brought = brought;
    return true;
  }

  #unfold(request: ActiveRequest, input: unknown): void {
    const { model } = request;
    const graph = new CellGraph<ActiveRequest>(model);
    graph.owner = request;
    unfold(model, input, graph);
    if (model.brings !== undefined) this.#checkBrought(model, input, graph);
    request.graph = graph;
  }

  #checkBrought(model: Model, input: unknown, graph: Graph): void {
    const known = this.#known.get(model);
    if (known) return known.brought.checkAlike(model, input, graph);
    const brought = new BroughtData(model, input, graph);
    this.#known.set(model, { brought, graphs: [] });
  }

  /** A request has departed, and nothing of it is in flight, nor in a launch that the policy will hear of. */
  leave(request: ActiveRequest): void {
    const { model, graph: { nodes } } = request;
    const known = model.brings && this.#known.get(model);
    const isKept = known && this.#nodes + nodes.length <= NODES_MAX;
    if (isKept) this.#nodes += nodes.length;
    this.#left.push({
      request,
      graphs: isKept ? known.graphs : undefined,
    });
  }

  /** The policy has heard of all that has happened. */
  settle(): void {
    if (this.#left.length === 0) return;
    const left = this.#left;
    this.#left = [];
    for (const one of left) this.#part(one);
  }

  /** Neither has the other any more: the graph would keep what its request got, and who looks later find another's. */
  #part({ request, graphs }: Left): void {
    const { model, graph } = request;
    graph.owner = NOBODY;
    request.graph = this.empty(model);
    if (graphs) graphs.push(graph);
    else emptyGraph(graph);
  }
}

const NOBODY = undefined as unknown as ActiveRequest;
