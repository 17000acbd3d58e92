/** What models take, and what their cells are joined to. */
import type { MutantList } from "../mutant.ts";

const LIMITS = ["test/models/bounds_test.ts"];
const INPUTS = ["test/models/models_test.ts"];
const GPT = ["test/models/gpt_test.ts"];
const DRAWS = ["test/models/gpt_draws_test.ts"];
const BERT = ["test/models/bert_test.ts"];
const GNMT = ["test/models/gnmt_test.ts"];
const LAS = ["test/models/las_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "models.vocabulary",
    file: "src/models/checks.ts",
    from: "(id as number) < vocabulary;",
    to: "(id as number) <= vocabulary;",
    tests: INPUTS,
    why: "no id is read behind the table of embeddings",
  },
  {
    id: "models.finite",
    file: "src/models/checks.ts",
    from: "if (!Number.isFinite(number)) {",
    to: 'if (typeof number !== "number") {',
    tests: LAS,
    why: "a frame of NaN is refused where it comes in",
  },
  {
    id: "models.tree-twice",
    file: "src/models/tree_input.ts",
    from: "if (seen.has(node)) {",
    to: "if (false) {",
    tests: INPUTS,
    why: "a small object does not unfold into an endless tree",
  },
  {
    id: "models.steps-most",
    file: "src/models/seq2seq_input.ts",
    from: " || given > stepsMax",
    to: "",
    tests: LIMITS,
    why: "no request is longer than its model's limit of steps",
  },
  {
    id: "models.banned",
    file: "src/models/token_draws.ts",
    from: "for (const id of banned) bias[id] = BANNED;",
    to: "",
    tests: GPT,
    why: "banned ids are never chosen",
  },
  {
    id: "models.draws-of-seeds",
    file: "src/models/token_draws.ts",
    from: 'new Prng(seed).fork("draws")',
    to: "new Prng(seed)",
    tests: ["test/onnx/sampled_decoders_test.ts"],
    why: "seeds in a row draw first tokens apart",
  },
  {
    id: "models.draw-of-step",
    file: "src/models/token_draws.ts",
    from: "position - ids.data.length + 1",
    to: "0",
    tests: DRAWS,
    why: "every step has a draw of its own",
  },
  {
    id: "models.history-of-answer",
    file: "src/models/token_draws.ts",
    from: '? graph.output(before, "history")',
    to: "? graph.row(prompt, 0, positionsMax)",
    tests: DRAWS,
    why: "what was drawn is among the tokens that lose",
  },
  {
    id: "models.draws-with-options",
    file: "src/models/token_draws.ts",
    from: "...(this.isPenalised ? PENALTY_FIELDS : []),",
    to: "...PENALTY_FIELDS,",
    tests: DRAWS,
    why: "a request has no field that nothing comes of",
  },
  {
    id: "models.any-end",
    file: "src/models/token_draws.ts",
    from: "for (const id of ends) table[2 * id + 1] = 1;",
    to: "table[2 * ends[0] + 1] = 1;",
    tests: DRAWS,
    why: "each of several ids ends an answer",
  },
  {
    id: "models.all-banned",
    file: "src/models/token_draws.ts",
    from: "new Set(banned).size === vocabulary",
    to: "false",
    tests: DRAWS,
    why: "a decoder has a token to choose",
  },
  {
    id: "models.step-before",
    file: "src/models/gpt.ts",
    from: 'step(graph, graph.output(node, "next"), node)',
    to: 'step(graph, graph.output(node, "next"))',
    tests: DRAWS,
    why: "tokens so far are handed on from step to step",
  },
  {
    id: "models.greedy-cell",
    file: "src/models/token_draws.ts",
    from: "taken: NextToken = this.isUsed",
    to: "taken: NextToken = this.isPenalised",
    tests: DRAWS,
    why: "a decoder of which nothing but draws is asked draws",
  },
  {
    id: "models.epsilon",
    file: "src/models/gpt.ts",
    from: "inner, activation, epsilon, preNorm: true",
    to: "inner, activation, epsilon: 1e-5, preNorm: true",
    tests: GPT,
    why: "an option that is taken counts",
  },
  {
    id: "models.segments",
    file: "src/models/bert.ts",
    from: "if (of.length !== ids.length) {",
    to: "if (of.length < ids.length) {",
    tests: BERT,
    why: "a token has one segment",
  },
  {
    id: "models.nodes",
    file: "src/models/gnmt.ts",
    from: "nodesMaxFor((layers + 1) * (tokensMax + stepsMax))",
    to: "nodesMaxFor(layers * (tokensMax + stepsMax))",
    tests: LIMITS,
    why: "what the options allow is within the limit of nodes",
  },
  {
    id: "models.backward",
    file: "src/models/gnmt.ts",
    from: "const inputs = state(graph, backwards[t + 1]);",
    to: "const inputs = state(graph, forwards[t]);",
    tests: GNMT,
    why: "a layer that reads backwards has its own state",
  },
];
