/** Text in, text out, and the steps of requests that grow. */
import type { MutantList } from "../mutant.ts";

const TELL = "src/engine/core/tell_steps.ts";
const STEP_ROWS = "src/engine/core/step_rows.ts";
const STREAM = "src/engine/wall/step_stream.ts";
const DETOKENIZER = "src/text/detokenizer.ts";
const STOPS = "src/text/stop_strings.ts";
const TOKENIZER = "src/text/tokenizer.ts";
const GENERATION = "src/text/generation.ts";
const INPUTS = "src/text/token_inputs.ts";
const STEP_TESTS = ["test/engine/step_stream_test.ts"];
const ID_TESTS = ["test/text/tokenizer_test.ts"];
const WORD_TESTS = ["test/text/detokenizer_test.ts"];
const EMBED_TESTS = ["test/text/embed_test.ts"];
const ANSWER_TESTS = ["test/text/generate_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "text.held-steps-told-early",
    file: "src/engine/core/engine.ts",
    from: `if (run.launch.release !== "end") this.#tellSteps(run, endNs);`,
    to: "this.#tellSteps(run, endNs);",
    tests: STEP_TESTS,
    why: "a launch that holds its results holds steps, too",
  },
  {
    id: "text.late-steps-told",
    file: TELL,
    from: " && nowNs <= finishNs",
    to: "",
    tests: STEP_TESTS,
    why: "nothing that comes behind finishMs is delivered",
  },
  {
    id: "text.failed-steps-lost",
    file: TELL,
    from: "failed.push([request, error as Error]);",
    to: "",
    tests: STEP_TESTS,
    why: "a step whose rows cannot be copied out ends its request",
  },
  {
    id: "text.steps-from-the-start",
    file: STEP_ROWS,
    from: "this.#told.set(name, to);",
    to: "",
    tests: STEP_TESTS,
    why: "a step has its own rows, not those of the steps before",
  },
  {
    id: "text.steps-ahead",
    file: STEP_ROWS,
    from: "sources[to].node.index <= last.index",
    to: "true",
    tests: STEP_TESTS,
    why: "rows of a step that is not done are not told",
  },
  {
    id: "text.left-stream-goes-on",
    file: STREAM,
    from: "this.#cancel(",
    to: "String(",
    tests: STEP_TESTS,
    why: "who leaves the iteration ends the request",
  },
  {
    id: "text.half-characters",
    file: DETOKENIZER,
    from: ` || text.endsWith(REPLACEMENT)`,
    to: "",
    tests: WORD_TESTS,
    why: "a character of which bytes are missing waits for them",
  },
  {
    id: "text.nothing-in-front",
    file: DETOKENIZER,
    from: "this.#ids = this.#ids.slice(this.#told);",
    to: "this.#ids = [];",
    tests: WORD_TESTS,
    why: "a token's text depends on what is in front of it",
  },
  {
    id: "text.stop-strings-in-one-piece",
    file: STOPS,
    from: "end -= this.#beginning(text)",
    to: "end -= 0",
    tests: WORD_TESTS,
    why: "a stop string is found across pieces",
  },
  {
    id: "text.stop-string-that-begins-first",
    file: STOPS,
    from: "complete > completeAt",
    to: "at > end",
    tests: WORD_TESTS,
    why: "the stop string that is complete first ends a text",
  },
  {
    id: "text.empty-pair-dropped",
    file: TOKENIZER,
    from: "pair === undefined ? this.#single : this.#pair",
    to: "!pair ? this.#single : this.#pair",
    tests: ID_TESTS,
    why: "an empty second text is one",
  },
  {
    id: "text.cut-through-special-tokens",
    file: TOKENIZER,
    from: "Math.max(0, tokensMax - added)",
    to: "tokensMax",
    tests: ID_TESTS,
    why: "special tokens count, and stay",
  },
  {
    id: "text.shorter-text-cut",
    file: "src/text/truncate.ts",
    from: "shorter > room ? shorter : Math.max(shorter, room - shorter)",
    to: "shorter",
    tests: ID_TESTS,
    why: "tokenizers, LongestFirst: no more is cut than needed",
  },
  {
    id: "text.filling-looked-at",
    file: INPUTS,
    from: `return role === "ids" ? padId : 0;`,
    to: `return role === "ids" ? padId : 1;`,
    tests: EMBED_TESTS,
    why: "what fills up a fixed length is masked",
  },
  {
    id: "text.filling-pooled",
    file: INPUTS,
    from: "const rows = ids.length;",
    to: "const rows = this.#fixed ?? ids.length;",
    tests: EMBED_TESTS,
    why: "what fills up a fixed length is no token of the text",
  },
  {
    id: "text.others-go-on",
    file: "src/text/run_texts.ts",
    from: "others.abort(error);",
    to: "",
    tests: EMBED_TESTS,
    why: "one text that fails ends the others",
  },
  {
    id: "text.mean-of-sums",
    file: "src/text/pooling.ts",
    from: "sum / rows",
    to: "sum",
    tests: EMBED_TESTS,
    why: "sentence-transformers, Pooling: the mean",
  },
  {
    id: "text.stopped-request-goes-on",
    file: GENERATION,
    from: "if (!isOver) await steps.return?.();",
    to: "",
    tests: ANSWER_TESTS,
    why: "a stop string ends the request",
  },
  {
    id: "text.eos-said",
    file: GENERATION,
    from: "eosIds.includes(id)",
    to: "false",
    tests: ANSWER_TESTS,
    why: "a token that ends answers is no text",
  },
  {
    id: "text.answers-without-prompt",
    file: GENERATION,
    from: "isEncoderDecoder ? [] : prompt.ids",
    to: "[]",
    tests: ["test/text/generate_test.ts"],
    why: "the first word of an answer is apart from the prompt",
  },
  {
    id: "text.blocks-leave-newlines",
    file: "src/text/chat/template_tokens.ts",
    from: `if (trims === "newline") piece = piece.replace(/^\\n/, "");`,
    to: "",
    tests: ["test/text/chat_test.ts"],
    why: "Jinja, trim_blocks",
  },
  {
    id: "text.names-of-a-block-from-its-beginning",
    file: "src/text/chat/template_names.ts",
    from: "this.conditions === 0",
    to: "false",
    tests: ["test/text/chat_statements_test.ts"],
    why: "Jinja's scopes: what a block sets first is not what is given",
  },
  {
    id: "text.else-of-loops-that-jump",
    file: "src/text/chat/rendering.ts",
    from: "passed ||= jump === undefined;",
    to: "passed = true;",
    tests: ["test/text/chat_statements_test.ts"],
    why: "Jinja runs `else` where no pass comes to its end",
  },
  {
    id: "text.conditions-of-loops-asked-in-turn",
    file: "src/text/chat/rendering.ts",
    from: "new Loop(this.#chosen(of, statement), undefined)",
    to: "new Loop([...this.#chosen(of, statement)], undefined)",
    tests: ["test/text/chat_statements_test.ts"],
    why: "a condition may depend on what the loop does",
  },
  {
    id: "text.values-are-work",
    file: "src/text/chat/rendering.ts",
    from: "work(1 + this.#scopes.length);",
    to: "",
    tests: ["test/text/chat_statements_test.ts"],
    why: "a statement may have any number of values",
  },
];
