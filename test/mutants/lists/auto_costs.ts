/** What our own policy learns: times of batches, steps of decoders. */
import type { MutantList } from "../mutant.ts";

const COSTS = "src/policy/common/cost_table.ts";
const COST_TESTS = ["test/policy/cost_table_test.ts"];
const DECODERS = ["test/policy/auto_decoders_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "auto_costs.pessimistic",
    file: COSTS,
    from: "Math.max(1, rows / powerOfTwo(seen.length - 1));",
    to: "1;",
    tests: COST_TESTS,
    why: "what was not seen is taken at its best, so that it is tried",
  },
  {
    id: "auto_costs.own-share-only",
    file: COSTS,
    from: "Math.max(least, known + beside)",
    to: "Math.max(least, known)",
    tests: COST_TESTS,
    why: "all that run beside each other take their shares",
  },
  {
    id: "auto_costs.room-for-all",
    file: COSTS,
    from: "const least = times > SLOWED ? 0 : 1;",
    to: "const least = times > SLOWED ? 0 : Infinity;",
    tests: COST_TESTS,
    why: "who is not slowed down takes what there was room for, not nothing",
  },
  {
    id: "auto_costs.first-length",
    file: COSTS,
    from: "Math.round(mean(nodes.map(({ length }) => length)))",
    to: "nodes[0].length",
    tests: COST_TESTS,
    why: "rows of a batch differ in length",
  },
  {
    id: "auto_costs.steps-appended",
    file: "src/policy/common/exec_time.ts",
    from: "if (cell.stop && state === NODE.done) steps++;",
    to: "if (cell.stop) steps++;",
    tests: DECODERS,
    why: "steps behind a decoder's end are none that it took",
  },
  {
    id: "auto_costs.steps-given-up",
    file: "src/policy/common/exec_time.ts",
    from: "  if (!closed) return 0;\n",
    to: "",
    tests: DECODERS,
    why: "what was given up says nothing of how long answers are",
  },
  {
    id: "auto_costs.void-rows",
    file: COSTS,
    from: "if (left === nodes.length || padsDone && left > 0) return nodes;",
    to: "if (left > 0) return nodes;",
    tests: COST_TESTS,
    why: "rows that workers leave out take no time",
  },
];
