/** Slots: what is planned, and where it lies. */
import type { MutantList } from "../mutant.ts";

export const MUTANTS: MutantList = [
  {
    id: "slot_plan.arena-wrap",
    file: "src/engine/tensors/task_arena.ts",
    from: "else if (bytes <= this.#tail) at = 0;",
    to: "else if (true) at = 0;",
    tests: ["test/engine/task_arena_test.ts"],
    why: "A piece that wraps to the start stops before the oldest in use.",
  },
];
