/**
 * Late batching: a request's block graph is executed block by block; the next batch is decided when
 * the last one was pushed to the device, not when it completed.
 * Source: Gao, Yu, Wu, Li, "Low Latency Model Serving with Late Batching" (AISys 2017), section 2.
 * One device executes pushed blocks in order, so a block whose inputs are pushed may be pushed
 * (ahead-of-time scheduling). No subgraphs, priorities or pinning.
 * Assumption: the text does not say which nodes the driver selects. The oldest request that has a ready one decides
 * which block it is, and all ready nodes of that block go along, in order of arrival.
 * Assumption: the text bounds neither the batch nor how far the driver runs ahead of the device.
 * `batchSizeMax` is Fig. 1's batch size; `pushAhead` is the number of blocks on the device, the running
 * one included.
 */
import { Fifo } from "../../base/fifo.ts";
import type { Cell } from "../../graph/cell.ts";
import type { CellGraph, CellNode } from "../../graph/cell_graph.ts";
import { advance, isReadyAtOnce } from "../common/frontier.ts";
import type { Launch } from "../launch.ts";
import { knownOptions, positiveInteger } from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import type { Request } from "../request.ts";

/**
 * Options of `late`.
 */
export interface LateOptions {
  /** Most rows per batch; default 64. */
  batchSizeMax?: number;
  /** Blocks on the device at once; default 2: one runs, one waits behind it. */
  pushAhead?: number;
}

/** A request's ready blocks, in the order in which they became ready, and how many there are of each of its model's cells. */
interface ReadyBlocks {
  readonly blocks: Fifo<Block>;
  readonly counts: number[];
}
interface LateRequest extends Request<ReadyBlocks> {
  readonly graph: CellGraph<LateRequest>;
}
type Block = CellNode<LateRequest>;

/** The device that late batching drives. */
const DEVICE = 0;

/**
 * Late batching: a request's graph is executed block by block (a block is a node); the next batch is decided when the
 * last one was pushed to the device, not when it completed, in order of arrival, without priorities. Batches any model;
 * uses the first worker only, as the paper has one device.
 * Source: Gao, Yu, Wu, Li, "Low Latency Model Serving with Late Batching" (AISys 2017), section 2.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { late, treeLstm } from "@shoal/core";
 *
 * const policy = late({ batchSizeMax: 32, pushAhead: 2 }); // one block runs, one waits behind it
 * assert.equal(policy.supports(treeLstm({ hidden: 4, vocabulary: 10 })), undefined);
 * ```
 */
export function late(options: LateOptions = {}): Policy {
  knownOptions("late", options, ["batchSizeMax", "pushAhead"]);
  const batchSizeMax = positiveInteger(
    "late",
    "batchSizeMax",
    options.batchSizeMax ?? 64,
  );
  const pushAhead = positiveInteger(
    "late",
    "pushAhead",
    options.pushAhead ?? 2,
  );
  /** All requests, in order of arrival. */
  const requests = new Fifo<LateRequest>();
  /** Those with ready blocks of a cell, in order of arrival: of thousands that wait most have none that would batch. */
  const readyOf = new Map<Cell, LateRequest[]>();

  /** Oldest request first; its first ready block says which block is batched. */
  function nextBatch(): Block[] {
    const batch: Block[] = [];
    const cell = firstReady()?.cell;
    if (cell === undefined) return batch;
    for (const { tag: { blocks } } of readyOf.get(cell)!) {
      for (let i = 0; i < blocks.size; i++) {
        const node = blocks.at(i)!;
        if (node.cell !== cell) continue;
        batch.push(node);
        if (batch.length === batchSizeMax) return batch;
      }
    }
    return batch;
  }

  function firstReady(): Block | undefined {
    for (const { tag: { blocks } } of requests) {
      if (blocks.size > 0) return blocks.first;
    }
    return undefined;
  }

  function addReady(node: Block): void {
    const { graph: { owner }, cell } = node;
    owner.tag.blocks.push(node);
    const c = owner.model.cells.indexOf(cell);
    if (owner.tag.counts[c]++ > 0) return;
    const list = readyOf.get(cell) ?? [];
    readyOf.set(cell, list);
    list.splice(placeOf(owner, list), 0, owner);
  }

  function removeReady(node: Block): void {
    const { graph: { owner }, cell } = node;
    owner.tag.blocks.delete(node);
    const c = owner.model.cells.indexOf(cell);
    if (--owner.tag.counts[c] === 0) leave(owner, cell);
  }

  /** The request has no ready block of the cell any more. */
  function leave(request: LateRequest, cell: Cell): void {
    const list = readyOf.get(cell)!;
    list.splice(placeOf(request, list), 1);
  }

  return {
    name: "late",
    supports: () => undefined,
    enqueue(request: LateRequest) {
      const counts = request.model.cells.map(() => 0);
      request.tag = { blocks: new Fifo(), counts };
      requests.push(request);
      for (const node of request.graph.nodes) {
        if (isReadyAtOnce(node)) addReady(node);
      }
    },
    schedule(view: EngineView): Decision {
      if (view.workers[DEVICE].queued >= pushAhead) return IDLE;
      const nodes = nextBatch();
      if (nodes.length === 0) return IDLE;
      const launch: Launch = {
        worker: DEVICE,
        steps: [{ cell: nodes[0].cell, nodes }],
        release: "step",
        why: "the oldest request's next block",
      };
      return { kind: "launch", launch };
    },
    submitted(launch: Launch<LateRequest>) {
      for (const node of launch.steps[0].nodes) {
        removeReady(node);
        advance(node, addReady);
      }
    },
    ended(request: LateRequest) {
      requests.delete(request);
      const { model: { cells }, tag: { counts } } = request;
      cells.forEach((cell, c) => counts[c] > 0 && leave(request, cell));
      counts.fill(0);
    },
  };
}

/** Where a request stands in a list in order of arrival, or would: ids ascend. */
function placeOf({ id }: LateRequest, list: readonly LateRequest[]): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].id < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
