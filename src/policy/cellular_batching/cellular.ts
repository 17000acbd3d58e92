/**
 * Cellular batching (BatchMaker): requests join and leave at every cell.
 * Source: Gao, Yu, Wu, Li, "Low Latency RNN Inference with Cellular Batching" (EuroSys 2018),
 * section 4.3, Algorithm 1; line numbers below are its.
 * State: per cell type a queue of subgraphs; per subgraph its submittable nodes, the worker it is
 * pinned to and the number of its tasks under way.
 * Invariant: a subgraph is in its queue exactly while it has submittable nodes and its externals are done.
 * Assumption: NumReadyNodes counts what the asking worker may take, i.e. not what is pinned to
 * others; otherwise lines 14-17 would submit an empty task.
 */
import { describe } from "../../base/describe.ts";
import type { Cell } from "../../graph/cell.ts";
import type { Model } from "../../graph/model.ts";
import { advance, isReadyAtOnce } from "../common/frontier.ts";
import type { Launch, Task } from "../launch.ts";
import { knownOptions, positiveInteger, wholeNumber } from "../options.ts";
import {
  type Decision,
  type EngineView,
  IDLE,
  type Policy,
} from "../policy.ts";
import {
  type CellularRequest,
  joinGrown,
  type Subgraph,
  type SubgraphQueue,
  subgraphsOf,
  type TaggedNode,
} from "./subgraph.ts";

/**
 * Options of `cellular`; names are those of Algorithm 1.
 */
export interface CellularOptions {
  /**
   * Bsizes.Max(), for all cells or by cell name; default 64. Cells of which so many rows are ready go before others: of a
   * small model beside one that fills its batches, 1 lets each request take turns with them.
   */
  batchSizeMax?: number | Readonly<Record<string, number>>;
  /** Bsizes.Min(): rows that a task after a worker's first needs at least; default 1. */
  batchSizeMin?: number | Readonly<Record<string, number>>;
  /** MaxTasksToSubmit (line 3); default 5. */
  maxTasksToSubmit?: number;
  /**
   * Tasks that a worker may have when it is given further ones, so that it computes while the engine hands out
   * results and takes in requests, which takes as long as a small task. Default 1 where the engine hears of the end
   * of tasks some time after it (`EngineView.isRemote`), 0 otherwise: it is idle.
   * Deviation: the paper's workers are idle when they ask (line 2). From 1 on, tasks of cells that do not follow
   * themselves have about half of the rows there are, ready or with the worker, so that one half is computed while
   * the other one comes in; but 8 rows at least, where so many are ready, and only an idle worker is given fewer:
   * fewer than 16 it gets all at once.
   */
  tasksAhead?: number;
  /**
   * "batch": cells that cannot follow themselves batch like any other. "serialize": LazyBatching's
   * reading (section III-B, Fig. 7): with such cells in a model, new requests cannot join a running
   * batch and wait until it has ended. Default "batch".
   */
  nonRecurrent?: "batch" | "serialize";
}

/** One of Algorithm 1's CellTypes. */
interface CellType extends SubgraphQueue {
  readonly cell: Cell;
  readonly sizeMax: number;
  readonly sizeMin: number;
  /** NumRunningTasks. */
  tasks: number;
  /** Of the first model that brought the cell. */
  readonly turn: Turn;
}

/** Rows that a task ahead has at least. */
const AHEAD_ROWS_MIN = 8;

/** When a model was last served: counts bursts. */
interface Turn {
  last: number;
}

/** Lines 12-23 under way: the tasks that one call of Batch has submitted so far. */
interface Burst {
  readonly type: CellType;
  readonly worker: number;
  readonly why: string;
  /** The worker had tasks before. */
  readonly isAhead: boolean;
  tasks: number;
}

/**
 * Cellular batching (BatchMaker): a task batches nodes of one cell over whatever requests are ready, so that requests
 * join and leave at every cell; an idle worker gets several tasks ahead. Batches any model.
 * Source: Gao, Yu, Wu, Li, "Low Latency RNN Inference with Cellular Batching" (EuroSys 2018), section 4.3, Algorithm 1.
 * @throws TypeError or RangeError on an option that the policy does not have or cannot take
 *
 * @example On virtual time: a newcomer joins at the next step and leaves as soon as it is done
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstm } from "@shoal/core";
 * import {
 *   constantCost,
 *   driveVirtual,
 *   EngineCore,
 *   SimExecutor,
 *   Timeline,
 * } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const timeline = new Timeline();
 * const executor = new SimExecutor({
 *   timeline,
 *   cost: constantCost(10), // ns per batch, however large
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const engine = new EngineCore({
 *   models: [model],
 *   policy: cellular({ maxTasksToSubmit: 1 }),
 *   executor,
 * });
 * const endsNs: Record<string, number> = {};
 * const request = (name: string, tokens: number[], arrivalNs: number) => ({
 *   model,
 *   input: { tokens },
 *   arrivalNs,
 *   onEnd: () => endsNs[name] = timeline.nowNs,
 * });
 * driveVirtual(engine, timeline, [
 *   request("long", [1, 2, 3], 0),
 *   request("short", [4], 5),
 * ]);
 * assert.deepEqual(endsNs, { short: 20, long: 30 });
 * ```
 */
export function cellular(options: CellularOptions = {}): Policy {
  const name = "cellular";
  knownOptions(name, options, [
    "batchSizeMax",
    "batchSizeMin",
    "maxTasksToSubmit",
    "tasksAhead",
    "nonRecurrent",
  ]);
  const maxTasksToSubmit = positiveInteger(
    name,
    "maxTasksToSubmit",
    options.maxTasksToSubmit ?? 5,
  );
  const givenAhead = options.tasksAhead === undefined
    ? undefined
    : wholeNumber(name, "tasksAhead", options.tasksAhead);
  const serialize = options.nonRecurrent === "serialize";
  if (!serialize && (options.nonRecurrent ?? "batch") !== "batch") {
    throw new RangeError(
      `"nonRecurrent" of policy "${name}" is "batch" or "serialize", got ${
        describe(options.nonRecurrent)
      }`,
    );
  }
  const size = (
    option: "batchSizeMax" | "batchSizeMin",
    cell: Cell,
    otherwise: number,
  ): number => {
    const given = options[option] ?? undefined;
    return positiveInteger(
      name,
      option,
      (typeof given === "object" ? given[cell.name] : given) ?? otherwise,
    );
  };
  for (const option of ["batchSizeMax", "batchSizeMin"] as const) {
    const given = options[option] ?? 1;
    for (
      const value of typeof given === "object" ? Object.values(given) : [given]
    ) positiveInteger(name, option, value);
  }

  const types: CellType[] = [];
  const typeOf = new Map<Cell, CellType>();
  const cohorts = new Map<
    Model,
    { running: number; waiting: Set<CellularRequest> }
  >();
  let burst: Burst | undefined;
  let bursts = 0;
  let tasksAhead = givenAhead ?? 0;
  /** Rows of the tasks that each worker has. */
  const rowsOn: number[] = [];

  /** Makes cell types of a model that is new. */
  function meet(model: Model): void {
    const turn: Turn = { last: 0 };
    for (const cell of model.cells) {
      if (!typeOf.has(cell)) addType(cell, turn);
    }
  }

  function typeFor(cell: Cell): CellType {
    return typeOf.get(cell)!;
  }

  function addType(cell: Cell, turn: Turn): void {
    const type: CellType = {
      cell,
      turn,
      sizeMax: size("batchSizeMax", cell, 64),
      sizeMin: size("batchSizeMin", cell, 1),
      first: undefined,
      last: undefined,
      readyAnywhere: 0,
      readyPinned: [],
      tasks: 0,
    };
    typeOf.set(cell, type);
    types.push(type);
  }

  function numReadyNodes(type: CellType, worker: number): number {
    return type.readyAnywhere + (type.readyPinned[worker] ?? 0);
  }

  /** A node's inputs are submitted; it may run as soon as its subgraph is in the queue. */
  function makeReady(node: TaggedNode): void {
    if (node.tag === undefined) adopt(node);
    const subgraph = node.tag;
    if (subgraph.dead) return;
    subgraph.addReady(node);
    if (!subgraph.released && subgraph.externals === 0) subgraph.release();
  }

  function admit(request: CellularRequest): void {
    const { nodes } = request.graph;
    const subgraphs = subgraphsOf(request.graph);
    request.tag = subgraphs;
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i];
      if (isReadyAtOnce(node)) node.tag.addReady(node);
    }
    for (const subgraph of subgraphs) {
      subgraph.queue = typeFor(subgraph.cell);
      if (subgraph.externals === 0) subgraph.release();
    }
  }

  /** A node that growth appended: it joins its predecessor's subgraph or starts one of its own. */
  function adopt(node: TaggedNode): void {
    const subgraph = joinGrown(node);
    if (subgraph.listed) return;
    subgraph.listed = true;
    subgraph.queue = typeFor(subgraph.cell);
    node.graph.owner.tag!.push(subgraph);
  }

  function admitCohorts(): void {
    for (const [model, cohort] of cohorts) {
      if (cohort.running > 0) continue;
      const most = Math.max(
        ...model.cells.map((cell) => typeFor(cell).sizeMax),
      );
      for (const request of cohort.waiting) {
        if (cohort.running === most) break;
        cohort.waiting.delete(request);
        cohort.running++;
        admit(request);
      }
    }
  }

  /** Lines 4-11: the cell type that an idle worker executes next. */
  function chooseType(
    worker: number,
  ): { type: CellType; why: string } | undefined {
    const ready = types.filter((type) => numReadyNodes(type, worker) > 0);
    const full = ready.filter((type) =>
      numReadyNodes(type, worker) >= type.sizeMax
    );
    if (full.length > 0) {
      return {
        type: highestPriority(full),
        why: "line 5: ready nodes fill a batch",
      };
    }
    const starving = ready.filter((type) => type.tasks === 0);
    if (starving.length > 0) {
      return {
        type: highestPriority(starving),
        why: "line 7: no task of the cell runs",
      };
    }
    if (ready.length > 0) {
      return { type: highestPriority(ready), why: "line 9: ready nodes" };
    }
    return undefined;
  }

  /** Bsizes.Max(), or half of the rows there are: see CellularOptions.tasksAhead. */
  function sizeNow(type: CellType, worker: number): number {
    if (tasksAhead === 0 || type.cell.recurrent) return type.sizeMax;
    const rows = numReadyNodes(type, worker) + (rowsOn[worker] ?? 0);
    // Of so few the other half would wait until the worker is idle again.
    if (!rowsOn[worker] && rows < 2 * AHEAD_ROWS_MIN) return type.sizeMax;
    return Math.min(
      type.sizeMax,
      Math.max(AHEAD_ROWS_MIN, Math.ceil(rows / 2)),
    );
  }

  /** Lines 24-32. The nodes stay ready until the engine has submitted them. */
  function formBatchedTask(type: CellType, worker: number): TaggedNode[] {
    const sizeMax = sizeNow(type, worker);
    const batch: TaggedNode[] = [];
    for (let subgraph = type.first; subgraph; subgraph = subgraph.after) {
      if (subgraph.pinned >= 0 && subgraph.pinned !== worker) continue;
      for (let node = subgraph.firstReady; node; node = node.next) {
        batch.push(node);
        if (batch.length === sizeMax) return batch;
      }
    }
    return batch;
  }

  /** Lines 14-16 and 22-23: the next task of a burst, or its end. */
  function nextTask(current: Burst): Decision | undefined {
    if (current.tasks >= maxTasksToSubmit) return undefined;
    const { type, worker } = current;
    const nodes = formBatchedTask(type, worker);
    if (
      nodes.length === 0 || (current.tasks > 0 && nodes.length < type.sizeMin)
    ) return undefined;
    const isAhead = current.isAhead ||
      tasksAhead > 0 && current.tasks > 0 && !type.cell.recurrent;
    if (isAhead && nodes.length < AHEAD_ROWS_MIN) return undefined;
    current.tasks++;
    const launch = {
      worker,
      steps: [{ cell: type.cell, nodes }],
      release: "step",
      why: current.why,
    } as const;
    return { kind: "launch", launch };
  }

  return {
    name,
    supports: () => undefined,
    lookahead: ({ cells }) =>
      Math.max(...cells.map((cell) => size("batchSizeMax", cell, 64))),
    enqueue(request: CellularRequest) {
      const { model } = request;
      meet(model);
      if (serialize && model.cells.some((cell) => !cell.recurrent)) {
        let cohort = cohorts.get(model);
        if (!cohort) {
          cohorts.set(model, cohort = { running: 0, waiting: new Set() });
        }
        cohort.waiting.add(request);
      } else {
        admit(request);
      }
    },
    schedule(view: EngineView): Decision {
      if (cohorts.size > 0) admitCohorts();
      tasksAhead = givenAhead ?? (view.isRemote ? 1 : 0);
      const next = burst && nextTask(burst);
      if (next) return next;
      burst = undefined;
      // The idle ones first.
      for (let ahead = 0; ahead <= tasksAhead; ahead++) {
        for (const { id, queued } of view.workers) {
          if (queued !== ahead) continue;
          const choice = chooseType(id);
          if (choice === undefined) continue;
          burst = { ...choice, worker: id, isAhead: ahead > 0, tasks: 0 };
          const launch = nextTask(burst);
          if (launch === undefined) continue;
          choice.type.turn.last = ++bursts;
          return launch;
        }
      }
      burst = undefined;
      return IDLE;
    },
    submitted(launch: Launch<CellularRequest>) {
      const { cell, nodes } = launch.steps[0];
      typeFor(cell).tasks++;
      rowsOn[launch.worker] = (rowsOn[launch.worker] ?? 0) + nodes.length;
      // Nodes of one subgraph stand together, as formBatchedTask found them.
      let current: Subgraph | undefined;
      for (let i = 0; i < nodes.length; i++) {
        const node = nodes[i];
        const subgraph = node.tag;
        if (subgraph !== current) {
          if (current?.readyCount === 0) current.withdraw();
          current = subgraph;
          subgraph.pin(launch.worker);
          subgraph.tasks++;
        }
        subgraph.takeReady();
        advance(node, makeReady);
      }
      if (current?.readyCount === 0) current.withdraw();
    },
    completed({ cell, nodes, worker }: Task<CellularRequest>) {
      typeFor(cell).tasks--;
      rowsOn[worker] -= nodes.length;
      let current: Subgraph | undefined;
      for (let i = 0; i < nodes.length; i++) {
        const node = nodes[i];
        const subgraph = node.tag;
        if (subgraph !== current) {
          current = subgraph;
          if (--subgraph.tasks === 0 && !subgraph.dead) subgraph.pin(-1);
        }
        if (!subgraph.feedsOthers) continue;
        const { successors } = node;
        for (let k = 0; k < successors.length; k++) {
          // Growth has appended some that nobody has looked at.
          const theirs: Subgraph | undefined = successors[k].tag;
          if (theirs === undefined || theirs === subgraph || theirs.dead) {
            continue;
          }
          if (
            --theirs.externals === 0 && theirs.readyCount > 0 &&
            !theirs.released
          ) theirs.release();
        }
      }
    },
    ended(request: CellularRequest) {
      const cohort = cohorts.get(request.model);
      if (cohort && !cohort.waiting.delete(request)) cohort.running--;
      for (const subgraph of request.tag ?? []) {
        if (subgraph.released) subgraph.withdraw();
        subgraph.dead = true;
      }
    },
  };
}

/**
 * Assumption: priorities order the cells of one model (section 4.3: decoder before encoder, internal before
 * leaf). The paper has one model; of several, the one that has not been served for longest goes first. Both hold among
 * types of one line (5, 7 or 9), as there: what fills no batch has no turn while others do.
 */
function highestPriority(types: readonly CellType[]): CellType {
  return types.reduce((best, type) => {
    if (type.turn !== best.turn) {
      return type.turn.last < best.turn.last ? type : best;
    }
    return type.cell.priority > best.cell.priority ? type : best;
  });
}
