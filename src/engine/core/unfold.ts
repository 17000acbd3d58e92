/** Calls of a model's functions, which are the user's. What they throw is an error of their request alone. */
import { shorten } from "../../base/describe.ts";
import { plainCopy } from "../../base/plain_copy.ts";
import { refusePromise } from "../../base/refuse_promise.ts";
import type { CellGraph, CellNode } from "../../graph/cell_graph.ts";
import type { Model } from "../../graph/model.ts";
import type { ActiveRequest } from "./active_request.ts";
import { checkGrowth } from "./check_growth.ts";

/** @throws TypeError or RangeError on bad input, or what else the model throws */
export function checkInput(model: Model, input: unknown): void {
  refusePromise(model.check(input), "check", "model", model.name);
}

/**
 * A checked copy of a request's input for later: callers may use theirs again once the request is taken.
 * @returns undefined when a copy would be something else
 * @throws TypeError or RangeError on bad input, or what else the model throws
 */
export function deferred(
  model: Model,
  input: unknown,
): ActiveRequest["waiting"] {
  checkInput(model, input);
  const copied = plainCopy(input);
  return copied && { input: copied.copy, bytes: copied.bytes };
}

/**
 * Unfolds a checked input into an empty graph, which is sealed then.
 * @throws TypeError or RangeError on a request that is none, or what else the model throws
 */
export function unfold(model: Model, input: unknown, graph: CellGraph): void {
  refusePromise(model.unfold(input, graph), "unfold", "model", model.name);
  graph.seal();
  if (graph.nodes.length === 0) {
    throw new RangeError(
      `Model "${model.name}" unfolded the request into no node at all; a request has at least one`,
    );
  }
  for (const name of Object.keys(model.outputs ?? {})) {
    if (graph.results.has(name)) continue;
    throw new RangeError(
      `Model "${model.name}" declares result "${
        shorten(name)
      }", but unfolded the request without it`,
    );
  }
  if (!graph.closed) checkGrowth(model, graph);
}

/** Appends what follows `node`. */
export function grow(model: Model, node: CellNode, graph: CellGraph): void {
  if (model.grow === undefined) {
    throw new TypeError(`Model "${model.name}" grows, but has no "grow"`);
  }
  const { grow } = model;
  graph.growing(() =>
    refusePromise(grow.call(model, node, graph), "grow", "model", model.name)
  );
}
