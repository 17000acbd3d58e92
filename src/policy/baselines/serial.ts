/**
 * Serial execution: one request at a time per worker, in order of arrival, node by node.
 * Source: LazyBatching, section VI ("Serial"). The reference that every other policy's results
 * must equal bit for bit.
 */
import { Fifo } from "../../base/fifo.ts";
import { growingCells } from "../../graph/growing_cells.ts";
import type { Launch, Step } from "../launch.ts";
import { type EngineView, IDLE, type Policy } from "../policy.ts";
import { knownOptions } from "../options.ts";
import type { Request } from "../request.ts";

/**
 * Serial execution: one request at a time per worker, in order of arrival, node by node. The reference that every
 * other policy's results equal bit for bit. Batches any model. Takes no options.
 * Source: LazyBatching, section VI ("Serial").
 * @throws TypeError on an option
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, serial } from "@shoal/core";
 *
 * const policy = serial();
 * assert.equal(policy.supports(lstm({ hidden: 4, vocabulary: 10 })), undefined);
 * ```
 */
export function serial(
  options: Readonly<Record<string, unknown>> = {},
): Policy {
  knownOptions("serial", options, []);
  const queue = new Fifo<Request>();
  return {
    name: "serial",
    supports: () => undefined,
    enqueue(request) {
      request.tag = queue;
      queue.push(request);
    },
    schedule(view: EngineView) {
      const worker = view.workers.find(({ queued }) => queued === 0);
      const request = worker && queue.shift();
      if (request === undefined) return IDLE;
      request.tag = undefined;
      return { kind: "launch", launch: alone(request, worker!.id) };
    },
    ended(request) {
      if (request.tag === queue) queue.delete(request);
    },
  };
}

/** All nodes of one request, in the graph's (topological) order. */
function alone(request: Request, worker: number): Launch {
  const steps: Step[] = request.graph.nodes.map((node) => ({
    cell: node.cell,
    nodes: [node],
  }));
  const growing = request.graph.closed ? [] : growingCells(request.model.cells);
  return {
    worker,
    steps,
    ...(growing.length > 0 &&
      { tail: { cells: growing, requests: [request] } }),
    release: "end",
    why: `request ${request.id} is first in the queue`,
  };
}
