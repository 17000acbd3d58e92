/** Protocols of texts: what ends with its reader, what a name in the path counts, what is refused by name. */
import type { MutantList } from "../mutant.ts";

const EVENTS = "src/server/wire/event_stream.ts";
const EVENTS_TEST = ["test/server/wire/event_stream_test.ts"];
const RESPOND = "src/server/openai/respond.ts";
const FOLDER_DECODERS = ["test/server/repository/built_decoders_test.ts"];
const COMPLETIONS = ["test/server/openai/completions_test.ts"];
const TEI = ["test/server/tei/tei_test.ts"];
const REALTIME = ["test/server/realtime/realtime_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "protocols.built-decoder-draws",
    file: "src/server/models/served_built.ts",
    from: "    ...drawSpecs(model, options),",
    to: "",
    tests: ["test/server/models/decoder_settings_test.ts"],
    why:
      "what a model that is built here may be told of draws is among its inputs",
  },
  {
    id: "protocols.nothing-drawn-nothing-changed",
    file: "src/server/repository/decoder_options.ts",
    from: "penalties: sample !== false",
    to: "penalties: true",
    tests: FOLDER_DECODERS,
    why: "a folder that has nothing drawn has its scores as they are",
  },
  {
    id: "protocols.decoder-of-tensors",
    file: "src/server/repository/decoder_options.ts",
    from: '(kind ?? text.kind ?? "decoder") === "decoder"',
    to: "true",
    tests: FOLDER_DECODERS,
    why: "a model of tensors has the cells that its settings ask for",
  },
  {
    id: "protocols.settings-of-draws-first",
    file: "src/server/repository/load_model.ts",
    from: "...(draws && open), ...options,",
    to: "...options, ...(draws && open),",
    tests: FOLDER_DECODERS,
    why: "what a model's options say goes before its files",
  },
  {
    id: "protocols.nobody-is-told-of-a-reader-that-left",
    file: EVENTS,
    from: "    options.left(behind);",
    to: "",
    tests: EVENTS_TEST,
    why: "what a stream waits for may never come: its end is told at once",
  },
  {
    id: "protocols.made-ahead",
    file: EVENTS,
    from: "highWaterMark: 0",
    to: "highWaterMark: 5",
    tests: EVENTS_TEST,
    why: "nothing is made that nobody reads",
  },
  {
    id: "protocols.stream-outlives-its-reader",
    file: RESPOND,
    from: "        end();\n        if (behind)",
    to: "        if (behind)",
    tests: COMPLETIONS,
    why: "who leaves a stream ends its requests",
  },
  {
    id: "protocols.answer-outlives-its-client",
    file: RESPOND,
    from: "AbortSignal.any([context.signal, ended.signal])",
    to: "ended.signal",
    tests: COMPLETIONS,
    why: "a client that goes away ends its requests",
  },
  {
    id: "protocols.choices-alike",
    file: "src/server/openai/generate.ts",
    from: "{ seed: seed + choice }",
    to: "{ seed }",
    tests: COMPLETIONS,
    why: "answers to one prompt are drawn apart",
  },
  {
    id: "protocols.body-names-the-model",
    file: "src/server/openai/model.ts",
    from: 'params["model"] ?? named',
    to: 'named ?? params["model"]',
    tests: ["test/server/openai/embeddings_test.ts"],
    why: "a name in the path counts more than the body's",
  },
  {
    id: "protocols.null-is-a-value",
    file: "src/server/wire/fields.ts",
    from:
      "    value === undefined || value === null ? otherwise : read(value);",
    to: "    value === undefined ? otherwise : read(value);",
    tests: ["test/server/wire/fields_test.ts"],
    why: "null stands for nothing",
  },
  {
    id: "protocols.always-cut-on-the-right",
    file: "src/server/tei/text_call.ts",
    from: "truncationSide: fields.truncation_direction",
    to: 'truncationSide: "right"',
    tests: TEI,
    why: "the side that is asked for is cut off",
  },
  {
    id: "protocols.silence-goes-on",
    file: "src/server/realtime/turn_detector.ts",
    from:
      "      this.#silentFromMs = undefined;\n      if (this.#isSpeaking) return undefined;",
    to: "      if (this.#isSpeaking) return undefined;",
    tests: ["test/server/realtime/session_test.ts"],
    why: "silence counts from where it began again",
  },
  {
    id: "protocols.session-keeps-its-slot",
    file: "src/server/realtime/realtime.ts",
    from: "    void this.#stream.close();",
    to: "",
    tests: REALTIME,
    why: "a session that ends gives its slot away",
  },
  {
    id: "protocols.end-of-the-server-looks-like-the-clients",
    file: "src/server/runtime/node_sockets.ts",
    from: "for (const socket of this.#open) socket.close(GOING_AWAY,",
    to: "for (const socket of this.#open) socket.close(1000,",
    tests: REALTIME,
    why: "a server that ends says so to its sockets",
  },
  {
    id: "protocols.left-while-asking-deno",
    file: "src/server/runtime/deno_socket.ts",
    from: "    handlers.closed();\n  }, OPENING_MS);",
    to: "  }, OPENING_MS);",
    tests: ["test/server/runtime/deno_socket_test.ts"],
    why: "who leaves before there is a socket holds no stream",
  },
  {
    id: "protocols.left-while-asking-node",
    file: "src/server/runtime/node_sockets.ts",
    from: "if (accepted === undefined || connection.destroyed) {",
    to: "if (accepted === undefined) {",
    tests: ["test/server/runtime/node_sockets_test.ts"],
    why: "who leaves before there is a socket holds no stream",
  },
  {
    id: "protocols.asked-for-a-socket-and-left",
    file: "src/server/runtime/node.ts",
    from: '  connection.once("end", leave).resume();\n',
    to: "",
    tests: [{
      file: "test/server/runtime/adapters_test.ts",
      filter: "asks for a socket where there is none",
    }],
    why: "a stream ends when its reader leaves",
  },
  {
    id: "protocols.kind-of-before-its-body",
    file: "src/server/tei/pipeline.ts",
    from:
      '  const body = anObject(await context.body.json());\n  // Not before all has come: a model may be replaced meanwhile.\n  const { kind } = textOf(context, ["embedding", "classifier", "reranker"]);\n',
    to:
      '  const { kind } = textOf(context, ["embedding", "classifier", "reranker"]);\n  const body = anObject(await context.body.json());\n',
    tests: TEI,
    why: "a model may be replaced while the body comes",
  },
  {
    id: "protocols.no-handshake",
    file: "src/server/runtime/deno_socket.ts",
    from: "if (error instanceof TypeError) return undefined;",
    to: "",
    tests: REALTIME,
    why: "what is no handshake is its sender's mistake",
  },
];
