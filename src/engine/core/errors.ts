/**
 * The bounded queue is full: slow down, or make `queueMax` larger. Or the memory for requests in flight and open streams
 * (`slotBytes`) is, and a request asked not to wait for room (`RequestOptions.whenFull`), a stream found none, or only
 * streams have it. The request was not taken.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm, QueueFullError, serial } from "@shoal/core";
 * import { constantCost, EngineCore, SimExecutor, Timeline } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const executor = new SimExecutor({
 *   timeline: new Timeline(),
 *   cost: constantCost(1000),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const engine = new EngineCore({ models: [model], policy: serial(), executor, queueMax: 1 });
 * const request = { model, input: { tokens: [1] }, arrivalNs: 0 };
 * engine.submit(request);
 * assert.throws(() => engine.submit(request), QueueFullError);
 * ```
 */
export class QueueFullError extends Error {
  /** "QueueFullError". */
  override name = "QueueFullError";
}

/**
 * A deadline passed before the request was started (`RequestOptions.deadlineMs`), or before it was
 * finished (`RequestOptions.finishMs`).
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { DeadlineError, lstm, serial, ServingEngine } from "@shoal/core";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const engine = await ServingEngine.create({ models: [model], policy: serial(), warmUp: false });
 * // Behind a request of 2,000 steps there is no starting within a microsecond.
 * const long = engine.run(model, { tokens: new Int32Array(2_000) });
 * await assert.rejects(engine.run(model, { tokens: [1] }, { deadlineMs: 0.001 }), DeadlineError);
 * await long;
 * await engine.close();
 * ```
 */
export class DeadlineError extends Error {
  /** "DeadlineError". */
  override name = "DeadlineError";

  /** Made by the engine. */
  constructor(
    message: string,
    /** Which deadline: `deadlineMs` is one for the start, `finishMs` for the end. */
    readonly missed: "start" | "finish",
  ) {
    super(message);
  }
}

/**
 * The engine was closed, or its workers are gone.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { ClosedError, lstm, serial, ServingEngine } from "@shoal/core";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const engine = await ServingEngine.create({ models: [model], policy: serial(), warmUp: false });
 * await engine.close();
 * await assert.rejects(async () => await engine.run(model, { tokens: [1] }), ClosedError);
 * ```
 */
export class ClosedError extends Error {
  /** "ClosedError". */
  override name = "ClosedError";
}

/**
 * A cell failed on this request's row: an id outside a table, or a kernel that trapped. Its batch-mates did not.
 *
 * @example A model whose `check` lets an id through that its table does not have
 * ```ts
 * import assert from "node:assert/strict";
 * import { CellError, defineCell, i32, type Model, serial, tensor } from "@shoal/core";
 * import { readKernels } from "@shoal/core/kernels";
 * import { constantCost, driveVirtual, EngineCore, PairedExecutor, Timeline } from "@shoal/core/simulate";
 *
 * const table = tensor([2, 1], Float32Array.of(0.5, 0.25));
 * const cell = defineCell({
 *   name: "lookup",
 *   inputs: { id: i32() },
 *   body: (op, { id }) => ({ y: op.Gather(table, id) }),
 * });
 * const model: Model<number> = {
 *   name: "lookup",
 *   cells: [cell],
 *   shape: "chain",
 *   check() {},
 *   unfold(id, graph) {
 *     const node = graph.node(cell, { id: graph.id(graph.ids([id]), 0) });
 *     graph.result("y", graph.output(node, "y"));
 *   },
 * };
 * const timeline = new Timeline();
 * const executor = new PairedExecutor({
 *   timeline,
 *   models: [model],
 *   kernels: await readKernels("shoal"),
 *   cost: constantCost(1000),
 *   onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 * });
 * const engine = new EngineCore({ models: [model], policy: serial(), executor });
 * let error: Error | undefined;
 * const onEnd = (ending: { error?: Error }) => error = ending.error;
 * driveVirtual(engine, timeline, [{ model, input: 2, arrivalNs: 0, onEnd }]);
 * assert(error instanceof CellError);
 * ```
 */
export class CellError extends Error {
  /** "CellError". */
  override name = "CellError";
}

/**
 * The worker died twice that had begun a task with one of the request's rows. The engine goes on with fresh workers;
 * whether the request is to blame cannot be told.
 *
 * @example Telling what may be tried again from what may not
 * ```ts
 * import assert from "node:assert/strict";
 * import { QueueFullError, WorkerError } from "@shoal/core";
 *
 * const mayRetry = (error: unknown) => error instanceof QueueFullError;
 * assert(!mayRetry(new WorkerError("the worker died twice")));
 * assert.equal(new WorkerError("the worker died twice").name, "WorkerError");
 * ```
 */
export class WorkerError extends Error {
  /** "WorkerError". */
  override name = "WorkerError";
}
