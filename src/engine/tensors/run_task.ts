import type { CellRunner } from "./cell_runner.ts";
import type { SlotTask } from "./slot.ts";
import type { TensorStore } from "./tensor_store.ts";

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
  store.tables.write(task, tables);
  runner.run({
    program: store.programId(task.cell),
    rows: task.nodes.length + task.padding,
    tables,
    padsDone: task.padsDone,
    paddedLength: task.paddedLength,
  });
}
