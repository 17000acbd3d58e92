/** Serving over HTTP: hosts, the Open Inference Protocol, folders of models. */
import type { MutantList } from "../mutant.ts";

const HOST_TESTS = ["test/server/host/engine_host_test.ts"];
const BAD_INPUT = ["test/server/oip/bad_input_test.ts"];
const TENSORS = ["test/server/oip/tensors_test.ts"];
const SEQUENCES = ["test/server/oip/sequences_test.ts"];
const REPOSITORY = ["test/server/repository/repository_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "http.generation",
    file: "src/server/host/generation.ts",
    from: "if (this.#users > 0) {",
    to: "if (this.#users > 1000) {",
    tests: HOST_TESTS,
    why: "an engine that somebody needs is not closed",
  },
  {
    id: "http.moved",
    file: "src/server/host/host_session.ts",
    from: "if (!next?.models.has(this.served) || this.closed) return;",
    to: "if (next) return;",
    tests: HOST_TESTS,
    why: "a stream goes on in the engine that follows",
  },
  {
    id: "http.json-exact",
    file: "src/server/http/json.ts",
    from: "return { depth: deepest, isPlain };",
    to: "return { depth: deepest, isPlain: true };",
    tests: TENSORS,
    why: "integers beyond 2^53 keep their digits",
  },
  {
    id: "http.json-depth",
    file: "src/server/http/json.ts",
    from: "return { depth: deepest, isPlain };",
    to: "return { depth: 0, isPlain };",
    tests: BAD_INPUT,
    why: "JSON is nested so deep and no deeper",
  },
  {
    id: "http.negative-zero",
    file: "src/server/oip/tensor_json.ts",
    from: 'Object.is(value, -0) ? "-0" : `${value}`',
    to: "`${value}`",
    tests: TENSORS,
    why: "a zero keeps its sign",
  },
  {
    id: "http.shapes",
    file: "src/server/host/fit_inputs.ts",
    from: "if (!fits) {",
    to: "if (!fits && shape.length > 9) {",
    tests: BAD_INPUT,
    why: "tensors have the model's shape",
  },
  {
    id: "http.bytes-left",
    file: "src/server/oip/request.ts",
    from: "if (at !== binary.length) {",
    to: "if (at > binary.length) {",
    tests: BAD_INPUT,
    why: "all bytes of a body are a tensor's",
  },
  {
    id: "http.sequence-started",
    file: "src/server/oip/sequences.ts",
    from: "if (isStart) return served;",
    to: 'if (isStart || id !== "") return served;',
    tests: SEQUENCES,
    why: "a sequence begins with its first request",
  },
  {
    id: "http.names",
    file: "src/server/repository/repository.ts",
    from: "folders.filter((name) => NAME.test(name))",
    to: "folders.filter((name) => NAME.test(name) || true)",
    tests: REPOSITORY,
    why: "what is no name is no model",
  },
  {
    id: "http.unchanged",
    file: "src/server/repository/repository.ts",
    from: "if (this.#stamps.get(name) === stamp) continue;",
    to: 'if (this.#stamps.get(name) === "") continue;',
    tests: REPOSITORY,
    why: "what has not changed is not loaded again",
  },
];
