/** Requests that wait for slots. */
import type { MutantList } from "../mutant.ts";

const ADMISSION = "src/engine/core/admission.ts";
const USED = "src/engine/core/used_graphs.ts";
const ROOM = "test/engine/room_test.ts";

export const MUTANTS: MutantList = [
  {
    id: "room.nobody-waits",
    file: ADMISSION,
    from: "if (this.#inside === 0) return false;",
    to: "if (this.#inside >= 0) return false;",
    tests: [ROOM],
    why: "who finds no room waits while others will give theirs back",
  },
  {
    id: "room.nobody-leaves",
    file: ADMISSION,
    from: "    this.#inside--;\n",
    to: "",
    tests: [ROOM],
    why: "nobody waits for room that only streams have",
  },
  {
    id: "room.whoever-fits",
    file: ADMISSION,
    from: "this.#roomless === undefined && isOpen(",
    to: "isOpen(",
    tests: [{ file: ROOM, filter: "what is large" }],
    why: "small requests keep no large one out",
  },
  {
    id: "room.newest-first",
    file: ADMISSION,
    from: "this.#roomless ??= request;",
    to: "this.#roomless = request;",
    tests: [{ file: ROOM, filter: "cannot be copied" }],
    why: "who found no room first is the next to come in",
  },
  {
    id: "room.half-a-graph",
    file: USED,
    from: "    unfold(model, input, graph);\n",
    to: "    request.graph = graph;\n    unfold(model, input, graph);\n",
    tests: [{ file: ROOM, filter: "its model threw" }],
    why: "what was unfolded in part is no graph for others",
  },
  {
    id: "room.whoever-hurries",
    file: "src/engine/core/engine.ts",
    from:
      '    if (request.whenFull === "refuse") this.#admission.checkRoom();\n',
    to: "",
    tests: [{ file: ROOM, filter: "does not go ahead" }],
    why: "who asks not to wait goes ahead of nobody",
  },
  {
    id: "room.unfolded-twice",
    file: USED,
    from: "const isNew = !this.#hasGraph(request);",
    to: "const isNew = true;",
    tests: [{ file: ROOM, filter: "unfolded once" }],
    why: "trying again costs little",
  },
  {
    id: "room.callers-arrays",
    file: USED,
    from: "request.brought?.map((x) => x && copyOf(x));",
    to: "request.brought;",
    tests: [{
      file: "test/engine/used_graphs_test.ts",
      filter: "waits for room",
    }],
    why: "callers may use their arrays again while their request waits",
  },
  {
    id: "room.graph-lost",
    file: "src/engine/core/engine.ts",
    from: "        if (!request.session) this.#graphs.withdraw(request);\n",
    to: "",
    tests: [{ file: ROOM, filter: "may leave" }],
    why: "a graph outlives no request that leaves while it waits",
  },
  {
    id: "room.servers-order",
    file: "src/server/host/engine_host.ts",
    from: 'whenFull: this.#admission.again ? "refuse" : "wait",',
    to: 'whenFull: "wait",',
    tests: ["test/server/admission/full_engine_test.ts"],
    why: "who waits for room in a server does so by its admission's order",
  },
];
