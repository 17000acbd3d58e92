import type { CellRunner } from "./cell_runner.ts";
import type { SlotTask, TensorStore } from "./tensor_store.ts";

/** @throws RangeError when a task's tables take more than `taskBytes` */
export function checkTables(
  store: TensorStore,
  task: SlotTask,
  taskBytes: number,
): void {
  const bytes = store.tableBytes(task);
  if (bytes <= taskBytes) return;
  throw new RangeError(
    `A task of ${
      task.nodes.length + task.padding
    } rows needs ${bytes} bytes of tables; give the engine more taskBytes (now ${taskBytes})`,
  );
}

/**
 * Executes a task in the calling thread.
 * @param tables address of room for its tables
 */
export function runTask(
  store: TensorStore,
  runner: CellRunner,
  task: SlotTask,
  tables: number,
): void {
  store.writeTables(task, tables);
  runner.run({
    program: store.programId(task.cell),
    rows: task.nodes.length + task.padding,
    tables,
    padsDone: task.padsDone,
    paddedLength: task.paddedLength,
  });
}
