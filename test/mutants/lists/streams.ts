/** Streams: what stays from frame to frame, and in which order things are done to a session. */
import type { MutantList } from "../mutant.ts";

const AT_RANDOM = {
  file: "test/engine/sessions_test.ts",
  filter: "cellular: streams among others",
};

export const MUTANTS: MutantList = [
  {
    id: "streams.turn-when-done",
    file: "src/engine/core/engine.ts",
    from: '    if (ending.outcome === "done") request.session?.advance();\n',
    to: "    request.session?.advance();\n",
    tests: [{
      file: "test/engine/streams_test.ts",
      filter: "fails half-way",
    }, AT_RANDOM],
    why: "a frame that is not done leaves the state as it was",
  },
  {
    id: "streams.one-buffer",
    file: "src/graph/frame_graph.ts",
    from: "      data.offset = written;\n",
    to: "",
    tests: [{
      file: "test/engine/streams_test.ts",
      filter: "bring the state",
    }, AT_RANDOM],
    why: "a frame reads what the one before has written",
  },
  {
    id: "streams.in-order",
    file: "src/engine/core/sessions.ts",
    from: "    if (isFree(session)) action.run();\n    else session",
    to: "    if (session.model) action.run();\n    else session",
    tests: [{
      file: "test/engine/streams_test.ts",
      filter: "in the order of the calls",
    }, AT_RANDOM],
    why: "what is asked of a stream is done between frames, in order",
  },
  {
    id: "streams.one-frame",
    file: "src/engine/core/sessions.ts",
    from: "      while (session.current === undefined && line.size > 0) {\n",
    to: "      while (line.size > 0) {\n",
    tests: [AT_RANDOM],
    why: "a session has one frame under way",
  },
  {
    id: "streams.header",
    file: "src/engine/tensors/session_slots.ts",
    from: "    openHeader(this.#words, slot!.address, 0);\n",
    to: "",
    tests: [{
      file: "test/engine/streams_test.ts",
      filter: "fails half-way",
    }, AT_RANDOM],
    why: "a frame's failure is not the next one's",
  },
  {
    id: "streams.copies",
    file: "src/engine/core/sessions.ts",
    from: "values: session.copyOf(values)",
    to: "values",
    tests: [{
      file: "test/engine/streams_test.ts",
      filter: "the caller's no more",
    }],
    why: "a frame that waits is a copy",
  },
  {
    id: "streams.into-alone",
    file: "src/engine/core/result_of.ts",
    from: '    return { outcome: "failed", error: error as Error };',
    to: "    throw error;",
    tests: [{
      file: "test/engine/stream_hosts_test.ts",
      filter: "fails its frame alone",
    }],
    why: "an array that is gone is its frame's failure",
  },
];
