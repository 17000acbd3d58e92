/** Row tables and slot headers: which rows are computed, from where to where, and what becomes of them. */
import type { MutantList } from "../mutant.ts";

const VOIDED = "test/engine/voided_rows_test.ts";
const STEPS = "test/engine/step_limits_test.ts";
const RUNNER = "test/engine/cell_runner_test.ts";
const RAGGED = "test/engine/ragged_test.ts";
const RAGGED_ROWS = "test/engine/ragged_rows_test.ts";
const PAIRED = {
  file: "test/engine/equivalence_test.ts",
  filter: "/^(graph|cellular): .*paired/",
};
const GROWTH = "test/engine/growth_test.ts";

export const MUTANTS: MutantList = [
  {
    id: "rows.step-limit",
    file: "src/engine/tensors/slot_header.ts",
    from: "step < limit) return;",
    to: "step <= limit) return;",
    tests: [STEPS],
    why: "a request of fixed length takes as many steps as were asked for",
  },
  {
    id: "rows.void-abandoned",
    file: "src/engine/tensors/slot_header.ts",
    from: "Atomics.load(words, header + SLOT.abandoned) !== 0 ||",
    to: "",
    tests: [VOIDED],
    why: "rows of a request that nobody waits for are left out",
  },
  {
    id: "rows.void-failed",
    file: "src/engine/tensors/slot_header.ts",
    from:
      "    Atomics.load(words, header + SLOT.failure) !== 0 ||\n    Atomics.load(words, header + SLOT.lastStep) !== 0;",
    to: "    Atomics.load(words, header + SLOT.lastStep) !== 0;",
    tests: [VOIDED],
    why: "rows of a request that has failed are left out",
  },
  {
    id: "rows.void-last",
    file: "src/engine/tensors/slot_header.ts",
    from:
      "    Atomics.load(words, header + SLOT.failure) !== 0 ||\n    Atomics.load(words, header + SLOT.lastStep) !== 0;",
    to: "    Atomics.load(words, header + SLOT.failure) !== 0;",
    tests: [VOIDED],
    why: "rows behind a request's last step are left out",
  },
  {
    id: "rows.outcome-void",
    file: "src/engine/tensors/slot_header.ts",
    from: 'return step === last ? "last" : "void";',
    to: 'return step === last ? "last" : "done";',
    tests: [VOIDED],
    why:
      "a step behind the last one is void, whatever the engine knows already",
  },
  {
    id: "rows.outcome-last",
    file: "src/engine/tensors/slot_header.ts",
    from: 'return step === last ? "last" : "void";',
    to: 'return "last";',
    tests: [VOIDED],
    why: "there is one last step",
  },
  {
    id: "rows.step-once",
    file: "src/engine/tensors/slot_header.ts",
    from: "Atomics.compareExchange(words, header + SLOT.lastStep, 0, step);",
    to: "Atomics.store(words, header + SLOT.lastStep, step);",
    tests: [VOIDED],
    why:
      "a step that is executed again leaves the header as it was (docs/shared_memory.md)",
  },
  {
    id: "rows.step-failed",
    file: "src/engine/tensors/slot_header.ts",
    from:
      "if (limit === 0 || Atomics.load(words, header + SLOT.failure) !== 0) return;",
    to: "if (limit === 0) return;",
    tests: [VOIDED],
    why: "a request that has failed takes no further step",
  },
  {
    id: "rows.step-static",
    file: "src/engine/tensors/slot_header.ts",
    from:
      "if (limit === 0 || Atomics.load(words, header + SLOT.failure) !== 0) return;",
    to: "if (Atomics.load(words, header + SLOT.failure) !== 0) return;",
    tests: [VOIDED, GROWTH],
    why: "a static graph does not stop at a stop rule",
  },
  {
    id: "rows.first-failure",
    file: "src/engine/tensors/slot_header.ts",
    from:
      "Atomics.compareExchange(words, (slot >>> 2) + SLOT.failure, 0, word);",
    to: "Atomics.store(words, (slot >>> 2) + SLOT.failure, word);",
    tests: [VOIDED],
    why:
      "of several workers that report a failure the first is heard (docs/shared_memory.md)",
  },
  {
    id: "rows.leave-out",
    file: "src/engine/tensors/task_rows.ts",
    from: "      if (over && !padsDone) continue;\n",
    to: "",
    tests: [VOIDED],
    why: "rows of requests that are over are left out",
  },
  {
    id: "rows.pad-done",
    file: "src/engine/tensors/task_rows.ts",
    from: "if (over && !padsDone) continue;",
    to: "if (over) continue;",
    tests: [VOIDED],
    why: "a padded task keeps its shape when a request of it is over",
  },
  {
    id: "rows.to-sink",
    file: "src/engine/tensors/task_rows.ts",
    from: "      if (over) this.#makePadding(tables, stride, kept);\n",
    to: "",
    tests: [VOIDED],
    why: "rows of requests that are over are computed into the sink",
  },
  {
    id: "rows.nobody-left",
    file: "src/engine/tensors/task_rows.ts",
    from: "return voided > 0 && alive === 0 ? 0 : kept;",
    to: "return kept;",
    tests: [VOIDED],
    why: "padding fills up a batch that serves somebody",
  },
  {
    id: "rows.move-up",
    file: "src/engine/tensors/task_rows.ts",
    from: "      if (kept !== i) this.swap(tables, stride, i, kept);\n",
    to: "",
    tests: [VOIDED],
    why: "rows to be computed stand in front of the tables",
  },
  {
    id: "rows.swap-all",
    file: "src/engine/tensors/task_rows.ts",
    from: "for (let t = 0; t < count; t++) {\n      const table = (tables + t",
    to:
      "for (let t = 0; t < count - 1; t++) {\n      const table = (tables + t",
    tests: [RUNNER, STEPS, RAGGED],
    why: "a row moves in all tables of its task, the last one too",
  },
  {
    id: "rows.cache-sink",
    file: "src/engine/tensors/task_rows.ts",
    from:
      "      this.#addresses[at(table + CACHE_TABLES.values)] = cacheSink;\n",
    to: "",
    tests: [VOIDED],
    why:
      "rows of requests that are over append to the sink's cache, not to their own",
  },
  {
    id: "rows.failed-aside",
    file: "src/engine/tensors/cell_runner.ts",
    from: "      left--;\n      rows.swap(tables, stride, row, left);",
    to: "      left--;",
    tests: [RUNNER],
    why: "the batch-mates of a row that fails are run again without it",
  },
  {
    id: "rows.trap-each",
    file: "src/engine/tensors/cell_runner.ts",
    from: "if (failed.row < 0 && left > 1) {",
    to: "if (failed.row < 0 && left > 64) {",
    tests: [RUNNER],
    why:
      "when a kernel traps, the row it did so on is found by running each alone",
  },
  {
    id: "rows.pieces",
    file: "src/engine/tensors/cell_runner.ts",
    from:
      "this.#runRows(loaded, tables + 4 * from, stride, count);\n      from += count;\n    }\n  }\n\n  /** Rows of whole",
    to:
      "this.#runRows(loaded, tables, stride, count);\n      from += count;\n    }\n  }\n\n  /** Rows of whole",
    tests: [RUNNER],
    why:
      "a task larger than the scratch rows is computed in pieces, each from its own rows on",
  },
  {
    id: "rows.padding-tokens",
    file: "src/engine/tensors/cell_runner.ts",
    from: "padding += Math.max(0, paddedLength - length);",
    to: "padding += 0;",
    tests: [RAGGED],
    why:
      "the extra tokens of padded rows are computed (ARCHITECTURE, Padding is data)",
  },
  {
    id: "rows.real-first",
    file: "src/engine/tensors/cell_runner.ts",
    from: "      if (i > real) rows.swap(tables, stride, i, real);\n",
    to: "",
    tests: [RAGGED_ROWS],
    why: "rows of somebody stand before those of nobody",
  },
  {
    id: "rows.panels-fit",
    file: "src/engine/tensors/token_tables.ts",
    from: "positions += wholePanels(this.words[(lengths >>> 2) + i]);",
    to: "positions += this.words[(lengths >>> 2) + i];",
    tests: [RAGGED],
    why: "local caches of a piece have room in whole panels",
  },
  {
    id: "rows.panels-apart",
    file: "src/engine/tensors/token_tables.ts",
    from: "positions += wholePanels(length);",
    to: "positions += length;",
    tests: [RAGGED],
    why: "local caches of two requests never share a panel",
  },
  {
    id: "rows.positions",
    file: "src/engine/tensors/token_tables.ts",
    from: "this.words[position + t] = row.position + t;",
    to: "this.words[position + t] = row.position;",
    tests: [RAGGED],
    why: "a request's tokens take positions one after the other",
  },
  {
    id: "rows.seen",
    file: "src/engine/tensors/token_tables.ts",
    from: "        position: 0,\n        seen: length,",
    to: "        position: 0,\n        seen: 1,",
    tests: [RAGGED],
    why: "a token attends to all tokens of its request",
  },
  {
    id: "rows.step-number",
    file: "src/engine/tensors/task_tables.ts",
    from: "addresses[last + i] = node.step + 1;",
    to: "addresses[last + i] = node.step;",
    tests: [STEPS],
    why: "growing steps bring their number, from 1 on (task_layout.ts)",
  },
  {
    id: "rows.pads-nobody",
    file: "src/engine/tensors/task_tables.ts",
    from: "      addresses[headers + i] = 0;\n      let table",
    to: "      let table",
    tests: [RUNNER, VOIDED, PAIRED],
    why: "rows of nobody have no slot",
  },
  {
    id: "rows.token-of",
    file: "src/engine/tensors/task_tables.ts",
    from: "token * rowBytes(node.cell.outputs[port])",
    to: "0 * token",
    tests: [RAGGED],
    why: "a node that reads one token of a ragged row reads that one",
  },
  {
    id: "rows.pads-longest",
    file: "src/engine/tensors/task_tables.ts",
    from:
      "const length = nodes.reduce((most, node) => Math.max(most, node.length), 1);",
    to: "const length = 1;",
    tests: [RAGGED_ROWS],
    why: "rows of nobody are as long as the longest of the task",
  },
  {
    id: "rows.results-done",
    file: "src/engine/tensors/result_of.ts",
    from: "sources.filter(({ node }) => node.state === NODE.done)",
    to: "sources.filter(() => true)",
    tests: [STEPS],
    why: "steps behind the end are no results",
  },
  {
    id: "rows.reason-claim",
    file: "src/engine/tensors/slot_header.ts",
    from: "if (claimed !== 0 && claimed !== node + 1) return;",
    to: "",
    tests: ["test/engine/interleaving/conformance_test.ts"],
    why: "why a row was refused is written by one worker alone",
  },
  {
    id: "rows.reason-node",
    file: "src/engine/tensors/slot_header.ts",
    from: "  if (reason !== undefined) claimReason(words, slot, node, reason);",
    to: "",
    tests: ["test/engine/plain_test.ts"],
    why: "a request hears why an operator refused it",
  },
  {
    id: "rows.reason-room",
    file: "src/graph/slot_plan.ts",
    from: "(graph.model.cells.some(hasPlain) ? SLOT_REASON_BYTES : 0)",
    to: "0",
    tests: ["test/engine/plain_test.ts"],
    why: "where a refusal is written nothing else lies",
  },
];
