import type { CellNode, NodeOutput } from "../../graph/cell_graph.ts";
import type { Result } from "../../graph/result.ts";
import type { ResultRows } from "../../graph/result_rows.ts";
import type { Executor, SessionMemory, Settlement } from "../core/executor.ts";
import type { SlotRequest, SlotTask } from "./slot.ts";
import type { TensorStore } from "./tensor_store.ts";

/** What executors of real tensors do with requests: they have slots in a store. The engine calls its methods. */
export abstract class SlotExecutor implements Executor {
  /** @internal */
  protected readonly store: TensorStore;
  readonly #taskBytes: number;

  /**
   * @param taskBytes room for the tables of one task, at most
   * @internal
   */
  constructor(store: TensorStore, taskBytes: number) {
    this.store = store;
    this.#taskBytes = taskBytes;
  }

  /**
   * Slots of sessions.
   * @internal
   */
  get sessions(): SessionMemory {
    return this.store.sessions as SessionMemory;
  }

  /** How many workers there are. */
  abstract get workers(): number;

  /**
   * Queues a task whose tables fit.
   * @internal
   */
  protected abstract enqueue(task: SlotTask): void;

  /**
   * Queues a task on its worker.
   * @throws RangeError when there is never room for the task's tables
   * @internal
   */
  push(task: SlotTask): void {
    const bytes = this.store.tables.bytes(task);
    if (bytes > this.#taskBytes) {
      throw new RangeError(
        `A task of ${
          task.nodes.length + task.padding
        } rows needs ${bytes} bytes of tables; give the engine more taskBytes (now ${this.#taskBytes})`,
      );
    }
    this.enqueue(task);
  }

  /**
   * Plans a request's slot and writes its inputs.
   * @throws RangeError when there is never room for it, QueueFullError when there is none now
   * @internal
   */
  admit(request: SlotRequest): void {
    this.store.admit(request);
  }

  /**
   * Gives a node that a graph grew by its place in the slot.
   * @internal
   */
  grew({ slot }: SlotRequest, node: CellNode): void {
    slot.plan.place(node);
  }

  /**
   * What became of a row.
   * @internal
   */
  settle(_task: SlotTask, node: CellNode, request: SlotRequest): Settlement {
    return this.store.settle(node, request);
  }

  /**
   * Rows of the request that have not started are not computed.
   * @internal
   */
  abandon(request: SlotRequest): void {
    this.store.abandon(request);
  }

  /**
   * Copies the rows of the request's results, or some of them, out of its slot.
   * @internal
   */
  result(
    request: SlotRequest,
    rows?: ReadonlyMap<string, ResultRows<NodeOutput>>,
  ): Result {
    return this.store.result(request, rows);
  }

  /**
   * Frees the request's slot.
   * @internal
   */
  release(request: SlotRequest): void {
    this.store.release(request);
  }
}
