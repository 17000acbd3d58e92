/**
 * Graphs of requests that are over, for requests to come, of models whose requests all have the same nodes
 * (`Model.brings`): unfolded and planned once, written to and read like any other. What is not made anew is no garbage:
 * a request's graph is most of what it leaves behind. V8 moreover allocates in its old space what it has seen to
 * survive often, as graphs do while a slow model's requests wait, by place in the code and for good; graphs of a
 * quick model that are made there afterwards keep all that they point to until the next major collection, and are what
 * brings it about.
 *
 * A graph is used again once the policy has heard of all that became of its request, and of the end of every launch
 * that may have had nodes of it.
 */
import { describe, shorten } from "../../base/describe.ts";
import { CellGraph } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import { restartGraph } from "../../graph/restart_graph.ts";
import type { TensorData } from "../../tensor/tensor.ts";
import type { Launch } from "../../policy/launch.ts";
import type { ActiveRequest } from "./active_request.ts";
import { checkInput, unfold } from "./unfold.ts";

type Graph = CellGraph<ActiveRequest>;

/** Nodes of all graphs that are kept, some megabytes; further graphs are not. */
const NODES_MAX = 2 ** 14;

/** The graphs of an engine's requests. */
export class UsedGraphs {
  readonly #empty = new Map<Model, Graph>();
  readonly #kept = new Map<Model, Graph[]>();
  #nodes = 0;
  /** Of requests that are over; the policy may look at them yet. */
  #left: Graph[] = [];
  /** Launches under way of which the policy hears more than once: it may look at any of their nodes. */
  #long = 0;

  /** What a request has until it is unfolded. */
  empty(model: Model): Graph {
    let graph = this.#empty.get(model);
    if (graph === undefined) {
      this.#empty.set(model, graph = new CellGraph<ActiveRequest>(model));
    }
    return graph;
  }

  /**
   * Checks a request's input and gives it a graph: a used one, or a new one that it is unfolded into.
   * @throws TypeError or RangeError on bad input, or what else the model throws
   */
  unfold(request: ActiveRequest, input: unknown): void {
    const { model } = request;
    checkInput(model, input);
    const kept = this.#kept.get(model);
    const used = kept?.[kept.length - 1];
    if (used !== undefined) {
      request.brought = broughtBy(model, input, used);
      kept!.pop();
      this.#nodes -= used.nodes.length;
      restartGraph(used, request);
      request.graph = used;
      return;
    }
    const graph = new CellGraph<ActiveRequest>(model);
    graph.owner = request;
    request.graph = graph;
    unfold(model, input, graph);
  }

  /** A request has departed, and nothing of it is in flight. */
  leave({ model, graph }: ActiveRequest): void {
    if (model.brings && graph.closed) this.#left.push(graph);
  }

  /** A launch begins. */
  launched(launch: Launch): void {
    if (isLong(launch)) this.#long++;
  }

  /** The policy has heard that it is over. */
  finished(launch: Launch): void {
    if (isLong(launch)) this.#long--;
  }

  /** The policy has heard of all that has happened. Graphs that it may look at again are not kept. */
  settle(): void {
    if (this.#left.length === 0) return;
    const left = this.#left;
    this.#left = [];
    if (this.#long > 0) return;
    for (const graph of left) {
      const { model } = graph.owner;
      if (this.#nodes + graph.nodes.length > NODES_MAX) return;
      // Else it would keep what its request brought and got.
      graph.owner = NOBODY;
      this.#nodes += graph.nodes.length;
      const kept = this.#kept.get(model);
      if (kept) kept.push(graph);
      else this.#kept.set(model, [graph]);
    }
  }
}

function isLong({ steps, tail }: Launch): boolean {
  return steps.length > 1 || tail !== undefined;
}

const NOBODY = undefined as unknown as ActiveRequest;

/**
 * What a request brings, in the order of the inputs of a graph of its model.
 * @throws TypeError when it is not of the types and lengths that the graph has been planned for
 */
function broughtBy(
  model: Model,
  input: unknown,
  { inputs }: Graph,
): readonly (TensorData | undefined)[] {
  const brought = model.brings!(input);
  for (let i = 0; i < inputs.length; i++) {
    const given: TensorData | undefined = brought[i];
    if (given === undefined) continue;
    const { data } = inputs[i];
    const isSame = given.length === data.length &&
      given[Symbol.toStringTag] === data[Symbol.toStringTag];
    if (isSame) continue;
    throw new TypeError(
      `"brings" of model "${
        shorten(model.name)
      }" gave data ${i} of another type or length than "unfold" brought: ${
        describe(given)
      }`,
    );
  }
  return brought;
}
