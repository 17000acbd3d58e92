/** The Open Inference Protocol over gRPC: what its calls have besides messages. */
import type { MutantList } from "../mutant.ts";

const CALLS = ["test/server/grpc/calls_test.ts"];
const STREAM = ["test/server/grpc/stream_test.ts"];
const CODEC = ["test/server/grpc/codec_test.ts"];
const listener = "src/server/grpc/listen_grpc.ts";
const stream = "src/server/grpc/stream_infer.ts";

export const MUTANTS: MutantList = [
  {
    id: "grpc.leaver-stays",
    file: listener,
    from: "    () => gone.abort(GONE),\n",
    to: "    () => {},\n",
    tests: CALLS,
    why: "a client that leaves ends its request",
  },
  {
    id: "grpc.no-deadline",
    file: listener,
    from: "if (deadlineMs < Infinity) {",
    to: "if (deadlineMs < 0) {",
    tests: CALLS,
    why: "a call's deadline is its request's",
  },
  {
    id: "grpc.no-pushback",
    file: listener,
    from: '"grpc-retry-pushback-ms": pushback',
    to: '"grpc-retry-pushback": pushback',
    tests: CALLS,
    why: "who is refused for load is told when to come again",
  },
  {
    id: "grpc.other-status",
    file: "src/server/grpc/status.ts",
    from: "503: 14,",
    to: "503: 13,",
    tests: CALLS,
    why: "what is worth trying again is said to be",
  },
  {
    id: "grpc.any-number-under-way",
    file: stream,
    from: "if (this.#underWay.size >= UNDER_WAY_MAX) {",
    to: "if (this.#underWay.size >= 1e9) {",
    tests: STREAM,
    why: "a stream has so many requests under way and no more",
  },
  {
    id: "grpc.no-empty-final",
    file: stream,
    from: "if (!withFinal) return;",
    to: "return;",
    tests: STREAM,
    why: "who asks for an empty last answer gets one",
  },
  {
    id: "grpc.first-of-several",
    file: "src/server/grpc/decode.ts",
    from: "const last = found.at(-1);",
    to: "const last = found.at(0);",
    tests: CODEC,
    why: "of several values of one field the last one counts",
  },
  {
    id: "grpc.answers-cut-by-the-end",
    file: stream,
    from: "      await Promise.all(this.#underWay);\n",
    to: "",
    tests: STREAM,
    why: "a server that ends answers what is under way",
  },
  {
    id: "grpc.message-behind-the-end",
    file: listener,
    from: "        if (isOver) return;\n",
    to: "",
    tests: STREAM,
    why: "what is on its way when a call ends is dropped",
  },
];
