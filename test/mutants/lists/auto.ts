/** Our own policy: whom, how many, who is set aside, whether to wait. */
import type { MutantList } from "../mutant.ts";

const STATE = "src/policy/auto/model_state.ts";
const TESTS = ["test/policy/auto_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "auto.everybody",
    file: STATE,
    from: "return this.#made(sorted.slice(0, rows), slowdown, why);",
    to: "return this.#made(sorted.slice(0, this.#most), slowdown, why);",
    tests: TESTS,
    why: "on a steep curve few go together",
  },
  {
    id: "auto.not-the-shortest",
    file: STATE,
    from: "return leftNs(a) - leftNs(b) + agedNs || a.id - b.id;",
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
    from: "(isLate ? late : saved).push(request);",
    to: "saved.push(request);",
    tests: TESTS,
    why: "who is lost delays nobody who can be saved",
  },
  {
    id: "auto.never-waits",
    file: STATE,
    from: "return waits ? { ...best, untilNs } : best;",
    to: "return best;",
    tests: TESTS,
    why: "where the rate needs larger batches it waits",
  },
  {
    id: "auto.always-waits",
    file: STATE,
    from: "perNs(best) * workers * this.#gapNs < 1;",
    to: "true;",
    tests: TESTS,
    why: "where the rate does not need larger batches it does not wait",
  },
  {
    id: "auto.pessimistic",
    file: "src/policy/common/cost_table.ts",
    from: "above[1] * 2 ** (at - above[0])",
    to: "above[1]",
    tests: TESTS,
    why: "what was not seen is taken at its best, so that it is tried",
  },
  {
    id: "auto.waits-for-nobody",
    file: STATE,
    from: "Math.min(more.latestNs, this.#lastNs + PATIENCE * this.#gapNs)",
    to: "more.latestNs",
    tests: TESTS,
    why: "nobody waits for long when nobody comes any more",
  },
  {
    id: "auto.sparse",
    file: STATE,
    from: "if (rows === 0) rows = densest;",
    to: "if (rows === 0) rows = 1;",
    tests: TESTS,
    why: "where nothing keeps up, batches are as dense as can be",
  },
  {
    id: "auto.no-size",
    file: STATE,
    from: "if (figure < least) [least, rows] = [figure, size];",
    to: "rows = 1;",
    tests: TESTS,
    why:
      "after ten times the load it recovers within 50 of the model's own times",
  },
  {
    id: "auto.starves",
    file: STATE,
    from: "return this.#owedNs > OTHERS * takesNs;",
    to: "return takesNs < 0;",
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
