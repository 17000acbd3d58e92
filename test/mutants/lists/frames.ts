/** Frames of streams beside what callers, and launches of several steps, may do. */
import type { MutantList } from "../mutant.ts";

const BOUNDARY = ["test/engine/frame_boundary_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "frames.ahead-of-its-launch",
    file: "src/engine/core/engine.ts",
    from: "if (request.longRuns === 0) this.#partFrom(request);",
    to:
      "if (request.session || request.longRuns === 0) this.#partFrom(request);",
    tests: [{
      file: "test/engine/stream_arrivals_test.ts",
      filter: "come by a cell twice",
    }],
    why: "policies hear of a launch with the nodes of those who were in it",
  },
  {
    id: "frames.into-after-the-frame",
    file: "src/engine/core/sessions.ts",
    from:
      "    const arrays = into && session.frame.readInto(into);\n    const values = session.frame.read(input);\n",
    to:
      "    const values = session.frame.read(input);\n    const arrays = into && session.frame.readInto(into);\n",
    tests: BOUNDARY,
    why: "what was checked may be another after a caller's code has run",
  },
  {
    id: "frames.length-as-told",
    file: "src/graph/frame_graph.ts",
    from: "isOfType && lengthOf(value as TensorData) === width",
    to: "isOfType && (value as TensorData).length === width",
    tests: BOUNDARY,
    why: "an array may lie about its length",
  },
  {
    id: "frames.refused-for-ever",
    file: "src/engine/wall/ordered_results.ts",
    from: "        await new Promise<void>(nextTurn);\n",
    to: "",
    tests: BOUNDARY,
    why: "who is refused at once keeps nobody from making room",
  },
  {
    id: "frames.own-set",
    file: "src/tensor/typed_array.ts",
    from: "SET.call(data as Uint8Array, from as Uint8Array);",
    to: "(data as Uint8Array).set(from as Uint8Array);",
    tests: BOUNDARY,
    why: "a set of the caller's would be given the engine's memory",
  },
  {
    id: "frames.number-that-does-not-fit",
    file: "src/graph/stream_model.ts",
    from: "if (isOfType && fits) continue;",
    to: "if (isOfType) continue;",
    tests: ["test/graph/frame_graph_test.ts"],
    why: "an integer that does not fit would be another one",
  },
  {
    id: "frames.keep-requests-out",
    file: "src/engine/core/admission.ts",
    from: "    if (session) return;\n",
    to: "",
    tests: ["test/engine/admission_test.ts"],
    why: "frames take no place of requests that wait to be unfolded",
  },
];
