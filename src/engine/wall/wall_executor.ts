import type { Executor } from "../core/executor.ts";
import type { SlotTask } from "../tensors/slot.ts";

/** A task as a worker completed it. */
export interface Completion {
  readonly task: SlotTask;
  readonly startNs: number;
  readonly endNs: number;
}

/** Executes tasks on wall-clock time. Completions are fetched. */
export interface WallExecutor extends Executor {
  /** Threads that execute tasks besides the engine's own; 0: they are executed in that one. */
  readonly threads: number;
  /** Changes with every completion; to be read before `poll` and waited with after it. */
  readonly bell: number;
  /** Calls back, once, when the bell is no longer as it was seen. */
  onRing(seen: number, callback: () => void): void;
  /**
   * How long a worker that has nothing more to do may keep its completions from the bell: the engine waits for nothing
   * else. 0, as at first: it may not.
   */
  linger(us: number): void;
  /** Tasks completed since the last call, in order of completion. */
  poll(): Completion[];
  /** Ends after the tasks under way; every call resolves when that is done. */
  close(): Promise<void>;
}
