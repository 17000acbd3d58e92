/** Serving over HTTP: hosts, the Open Inference Protocol, folders of models. */
import type { MutantList } from "../mutant.ts";

const HOST_TESTS = ["test/server/host/engine_host_test.ts"];
const FRAME_ORDER = ["test/server/host/frame_order_test.ts"];
const BAD_INPUT = ["test/server/oip/bad_input_test.ts"];
const TENSORS = ["test/server/oip/tensors_test.ts"];
const SEQUENCES = ["test/server/oip/sequences_test.ts"];
const REPOSITORY = ["test/server/repository/repository_test.ts"];
const CORS = ["test/server/http/cors_test.ts"];
const cors = "src/server/http/cors.ts";

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
    id: "http.frame-order",
    file: "src/server/host/host_session.ts",
    from: "const turn = this.#turns.join();",
    to: "const turn = new FrameTurns(1).join();",
    tests: FRAME_ORDER,
    why: "frames of a session are computed in the order of the calls",
  },
  {
    id: "http.frame-leaves",
    file: "src/server/host/frame_turns.ts",
    from: "else this.#line.delete(turn);",
    to: "",
    tests: FRAME_ORDER,
    why: "a frame that gives up while it waits keeps nobody waiting",
  },
  {
    id: "http.frames-pending",
    file: "src/server/host/frame_turns.ts",
    from: "if (this.#taken < this.takenMax) this.#line",
    to: "this.#line",
    tests: FRAME_ORDER,
    why: "frames beyond what a stream has room for wait, none is refused",
  },
  {
    id: "http.close-frames",
    file: "src/server/host/host_session.ts",
    from: "if (!this.#turns.isIdle) await",
    to: "if (this.frames < 0) await",
    tests: FRAME_ORDER,
    why: "frames that wait when their session is closed are computed",
  },
  {
    id: "http.json-exact",
    file: "src/server/http/json.ts",
    from: "return { depth: deepest, parts, isPlain };",
    to: "return { depth: deepest, parts, isPlain: true };",
    tests: TENSORS,
    why: "integers beyond 2^53 keep their digits",
  },
  {
    id: "http.json-depth",
    file: "src/server/http/json.ts",
    from: "return { depth: deepest, parts, isPlain };",
    to: "return { depth: 0, parts, isPlain };",
    tests: BAD_INPUT,
    why: "JSON is nested so deep and no deeper",
  },
  {
    id: "http.negative-zero",
    file: "src/base/json_numbers.ts",
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
    id: "http.model-of-before-its-body",
    file: "src/server/oip/infer.ts",
    from:
      "host.find(model, version);\n  const bytes = await body.bytes();\n  // What the name means now that it has come, and until the engine has the request: nothing is waited for in between.\n  const named = host.find(model, version);",
    to:
      "const named = host.find(model, version);\n  const bytes = await body.bytes();",
    tests: ["test/server/repository/replaced_test.ts"],
    why: "a model may be replaced while the body comes",
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
  {
    id: "http.cors-anybody",
    file: cors,
    from:
      "  return origin !== null && this.#origins.has(origin) ? origin : undefined;",
    to: "  return origin ?? undefined;",
    tests: CORS,
    why: "pages of other origins may not read",
  },
  {
    id: "http.cors-no-vary",
    file: cors,
    from: 'if (!this.#origins.has(ANY)) headers.append("vary", "Origin");',
    to: "",
    tests: CORS,
    why: "what is kept for one origin is not given to another",
  },
  {
    id: "http.cors-hidden",
    file: cors,
    from: 'headers.set("access-control-expose-headers", "*");',
    to: "",
    tests: CORS,
    why: "a page reads headers",
  },
  {
    id: "http.cors-admin",
    file: cors,
    from: "if (!SCOPES.includes(scope)) return;",
    to: "",
    tests: CORS,
    why: "the server's page is for no other page",
  },
  {
    id: "http.cors-admin-asked",
    file: cors,
    from: "routes().filter(({ scope }) => SCOPES.includes(scope))",
    to: "routes()",
    tests: CORS,
    why: "calls of administrators are for no page",
  },
  {
    id: "http.cors-names",
    file: cors,
    from: "names.length <= NAMES_MAX && NAMES.test(names)",
    to: "names",
    tests: CORS,
    why: "names of headers are repeated within limits",
  },
  {
    id: "http.cors-pattern",
    file: cors,
    from: "host && !host.includes(ANY)",
    to: "host",
    tests: CORS,
    why: "what no origin matches is refused",
  },
  {
    id: "http.cors-form",
    file: cors,
    from: "if (sent !== undefined && sent === value) return undefined;",
    to: "if (sent !== undefined) return undefined;",
    tests: CORS,
    why: "an origin has one form",
  },
  {
    id: "http.cors-key",
    file: "src/server/server.ts",
    from: "      if (preflight) return told(preflight);\n",
    to: "      if (preflight && !options.keys) return told(preflight);\n",
    tests: CORS,
    why: "a preflight brings no key",
  },
  {
    id: "http.cors-errors",
    file: "src/server/server.ts",
    from: "cors?.share(request, response, match?.route.scope);",
    to:
      "if (error === undefined) cors?.share(request, response, match?.route.scope);",
    tests: CORS,
    why: "a page reads errors, or cannot tell them",
  },
];
