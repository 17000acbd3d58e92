/** Slots: where a request's rows lie, and where its slot does. */
import type { MutantList } from "../mutant.ts";

const PLAN = "test/graph/slot_plan_test.ts";
const POOL = "test/engine/slot_pool_test.ts";
const REUSE = "test/graph/slot_plan_reuse_test.ts";
const WORK = "test/graph/slot_plan_work_test.ts";
const PAIRED = {
  file: "test/engine/equivalence_test.ts",
  filter: "/^(graph|cellular): .*paired/",
};

export const MUTANTS: MutantList = [
  {
    id: "slot_plan.turns",
    file: "src/graph/slot_plan.ts",
    from: "const buffers = turns.buffers[node.step % 2];",
    to: "const buffers = turns.buffers[0];",
    tests: [PLAN, PAIRED],
    why:
      "a growing step reads its own rows and those of the step before: two buffers, in turns",
  },
  {
    id: "slot_plan.steps-ago",
    file: "src/graph/slot_plan.ts",
    from: "before.step < node.step - 1",
    to: "before.step < node.step - 2",
    tests: [REUSE],
    why: "a growing step reads itself and the step before",
  },
  {
    id: "slot_plan.kept",
    file: "src/graph/slot_plan.ts",
    from: "      if (!node.keptPorts.includes(port)) {\n        free.push",
    to: "      if (port >= 0) {\n        free.push",
    tests: [PLAN],
    why: "what a request results in is not handed on",
  },
  {
    id: "slot_plan.kept-grown",
    file: "src/graph/slot_plan.ts",
    from:
      "node.keptPorts.includes(port) ? this.#take(outBytes(node, port)) : offset",
    to: "offset",
    tests: [PLAN, PAIRED],
    why: "results of growing steps lie beside the two buffers",
  },
  {
    id: "slot_plan.growing-readers",
    file: "src/graph/slot_plan.ts",
    from:
      "    if (successors.some(({ cell }) => this.#growing.has(cell))) return;\n",
    to: "",
    tests: [REUSE],
    why: "what growing nodes read of static ones stays",
  },
  {
    id: "slot_plan.run-before",
    file: "src/graph/slot_plan.ts",
    from: "    if (!runBefore(successors, descendant)) return;\n",
    to: "",
    tests: [PLAN],
    why:
      "a row is handed on once all that read it run before, in every legal order",
  },
  {
    id: "slot_plan.larger-piece",
    file: "src/graph/slot_plan.ts",
    from: "if (piece.bytes >= bytes && smaller) found = i;",
    to: "if (smaller) found = i;",
    tests: [PLAN],
    why: "a piece that is taken is as large as the row",
  },
  {
    id: "slot_plan.cut",
    file: "src/graph/slot_plan.ts",
    from:
      "free.push({ offset: piece.offset + bytes, bytes: piece.bytes - bytes });",
    to: "free.push({ offset: piece.offset, bytes: piece.bytes - bytes });",
    tests: [PLAN],
    why: "what is cut off a piece lies behind what was taken",
  },
  {
    id: "slot_plan.merge",
    file: "src/graph/slot_plan.ts",
    from: "if (offset + bytes === next.offset) {",
    to: "if (offset + bytes <= next.offset) {",
    tests: [PLAN],
    why: "only neighbours are joined",
  },
  {
    id: "slot_plan.kept-alignment",
    file: "src/graph/slot_plan.ts",
    from: "rows * (ROW_ALIGNMENT - BYTES_PER_ELEMENT)",
    to: "0 * rows",
    tests: [PLAN],
    why: "each row that a step keeps is padded to the alignment",
  },
  {
    id: "slot_plan.kept-room",
    file: "src/graph/slot_plan.ts",
    from: "(graph.closed ? 0 : keptBytes(graph))",
    to: "0",
    tests: [PLAN],
    why: "a slot has room for every step that its request may still take",
  },
  {
    id: "slot_plan.search-gives-up",
    file: "src/graph/slot_plan.ts",
    from: "if (++edges >= SEARCHED_MAX) return false;",
    to: "if (++edges >= SEARCHED_MAX) return true;",
    tests: [REUSE],
    why: "beyond what a search follows a row is kept for longer, not shorter",
  },
  {
    id: "slot_plan.search-bound",
    file: "src/graph/slot_plan.ts",
    from: "if (++edges >= SEARCHED_MAX) return false;",
    to: "",
    tests: [WORK],
    why:
      "planning takes work in proportion to the graph: how far a search goes is bounded",
  },
  {
    id: "slot_plan.pieces-bound",
    file: "src/graph/slot_plan.ts",
    from: "    if (free.length > PIECES_MAX) trim(free);\n",
    to: "",
    tests: [WORK],
    why:
      "planning takes work in proportion to the graph: what a node hands on is bounded",
  },
  {
    id: "slot_plan.align",
    file: "src/graph/slot_plan.ts",
    from: "return Math.ceil(bytes / ROW_ALIGNMENT) * ROW_ALIGNMENT;",
    to: "return (bytes + ROW_ALIGNMENT - 1) & -ROW_ALIGNMENT;",
    tests: [PLAN],
    why: "addresses reach 4 GiB, bit operations end at 2",
  },
  {
    id: "slot_plan.handed-once",
    file: "src/graph/slot_plan.ts",
    from: "  parent.reusable = undefined;\n",
    to: "",
    tests: [PLAN],
    why: "what a node hands on goes to the first of its children alone",
  },
  {
    id: "slot_plan.retired-once",
    file: "src/graph/slot_plan.ts",
    from: "    node.reusable = RETIRED;\n",
    to: "",
    tests: [PLAN],
    why: "a row is handed on once",
  },
  {
    id: "slot_plan.pool-merge",
    file: "src/engine/tensors/slot_pool.ts",
    from: "while (i < blocks.length && blocks[i].address === end) {",
    to: "while (i < blocks.length && blocks[i].address >= end) {",
    tests: [POOL],
    why: "only neighbouring free slots are joined",
  },
  {
    id: "slot_plan.pool-top",
    file: "src/engine/tensors/slot_pool.ts",
    from: "      if (end === this.#top) this.#top = address;\n      else this",
    to: "      this",
    tests: [POOL],
    why:
      "free slots at the end go back to the arena, for requests larger than any of them",
  },
  {
    id: "slot_plan.pool-end",
    file: "src/engine/tensors/slot_pool.ts",
    from: "if (this.#top + size <= this.end) {",
    to: "if (this.#top + size <= this.end + size) {",
    tests: [POOL],
    why: "a slot lies within the arena",
  },
  {
    id: "slot_plan.pool-cut",
    file: "src/engine/tensors/slot_pool.ts",
    from: "this.#put(address + size, best - size);",
    to: "this.#put(address, best - size);",
    tests: [POOL],
    why: "what is cut off a slot lies behind it",
  },
  {
    id: "slot_plan.pool-no-merge",
    file: "src/engine/tensors/slot_pool.ts",
    from: "      this.#merge();\n",
    to: "",
    tests: [POOL],
    why: "a flood of short requests leaves room for long ones",
  },
  {
    id: "slot_plan.pool-used",
    file: "src/engine/tensors/slot_pool.ts",
    from: "    this.#used -= block.bytes;\n",
    to: "",
    tests: [POOL],
    why: "slots that are freed are free",
  },
  {
    id: "slot_plan.pool-class",
    file: "src/engine/tensors/slot_pool.ts",
    from: "return Math.ceil(bytes / step) * step;",
    to: "return Math.floor(bytes / step) * step;",
    tests: [POOL],
    why: "a slot's class holds what was asked for",
  },
];
