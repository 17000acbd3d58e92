/** Our own policy: whom, how many, who is set aside, what goes together. */
import type { MutantList } from "../mutant.ts";

const STATE = "src/policy/auto/model_state.ts";
const TESTS = ["test/policy/auto_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "auto.everybody",
    file: STATE,
    from: "sorted.slice(0, rows), slowdown, why",
    to: "sorted.slice(0, this.#most), slowdown, why",
    tests: TESTS,
    why: "on a steep curve few go together",
  },
  {
    id: "auto.not-the-shortest",
    file: STATE,
    from: "return a.tag.leftNs - b.tag.leftNs + agedNs || a.id - b.id;",
    to: "return a.id - b.id;",
    tests: TESTS,
    why: "without a deadline the shortest goes first",
  },
  {
    id: "auto.no-aging",
    file: STATE,
    from: "const AGING = 0.05;",
    to: "const AGING = 0;",
    tests: TESTS,
    why: "a long one is not passed for ever",
  },
  {
    id: "auto.no-deadlines",
    file: STATE,
    from: "if (a.tag.dueNs !== b.tag.dueNs) return a.tag.dueNs - b.tag.dueNs;",
    to: "",
    tests: TESTS,
    why: "the most urgent go first",
  },
  {
    id: "auto.lost-first",
    file: STATE,
    from: "nowNs + tag.leftNs > tag.dueNs;",
    to: "nowNs + tag.leftNs > Infinity;",
    tests: TESTS,
    why: "who is lost delays nobody who can be saved",
  },
  {
    id: "auto.pessimistic",
    file: "src/policy/auto/cost_table.ts",
    from: "(this.#isProfiled ? 1 : 2 ** (last - at))",
    to: "1",
    tests: TESTS,
    why: "what was not seen is taken at its best, so that it is tried",
  },
  {
    id: "auto.sparse",
    file: STATE,
    from: "const net = Math.max(size - comePerNs * ns, NONE * size);",
    to: "const net = Math.max(size - comePerNs * ns, NONE);",
    tests: TESTS,
    why: "where nothing keeps up, batches are as dense as can be",
  },
  {
    id: "auto.no-size",
    file: STATE,
    from: "if (figure <= least) [least, rows] = [figure, size];",
    to: "rows = 1;",
    tests: TESTS,
    why:
      "after ten times the load it recovers within 50 of the model's own times",
  },
  {
    id: "auto.no-riders",
    file: STATE,
    from: "const FREE = 1.01;",
    to: "const FREE = 0;",
    tests: TESTS,
    why: "who is lost rides along where that takes no longer",
  },
  {
    id: "auto.riders-always",
    file: STATE,
    from: "const FREE = 1.01;",
    to: "const FREE = 100;",
    tests: TESTS,
    why: "who is lost delays nobody who can be saved",
  },
  {
    id: "auto.nothing-ahead",
    file: "src/policy/auto/auto.ts",
    from: "isRemote ? 1 + Math.floor(size / AHEAD) : 0",
    to: "isRemote ? 1 : 0",
    tests: TESTS,
    why: "threads have more tasks ahead the more requests wait",
  },
  {
    id: "auto.starves",
    file: STATE,
    from: "const isOwed = this.#owedNs > OTHERS * takesNs;",
    to: "const isOwed = takesNs < 0;",
    tests: TESTS,
    why: "a model with few requests gets its share",
  },
  {
    id: "auto.side-by-side",
    file: STATE,
    from: "return this.#goesTogether(batch, situation) ? undefined : batch;",
    to: "return batch;",
    tests: TESTS,
    why: "where workers slow each other down requests go together",
  },
];
