/** The engine's core: what is queued, launched, settled, grown and ended, and when. */
import type { MutantList } from "../mutant.ts";

const VOIDED = "test/engine/voided_rows_test.ts";
const QUIET = "test/engine/quiet_tasks_test.ts";
const STEPS = "test/engine/step_limits_test.ts";
const GROWTH = "test/engine/growth_test.ts";
const FINISH = "test/engine/finish_test.ts";
const ADMISSION = "test/engine/admission_test.ts";
const EXTENTS = "test/cost/extents_test.ts";
const RUNNER = "test/engine/cell_runner_test.ts";
const PADDING = "test/engine/padding_test.ts";
const USED = "src/engine/core/used_graphs.ts";
const BROUGHT = "src/engine/core/brought_data.ts";
const USED_TESTS = ["test/engine/used_graphs_test.ts"];
const DEADLINES = "test/engine/deadlines_test.ts";
const PAIRED = {
  file: "test/engine/equivalence_test.ts",
  filter: "/^(graph|cellular): .*paired/",
};
const BOUNDARY = {
  file: "test/engine/boundary_test.ts",
  filter: "refused requests take no number",
};
const QUEUE_FULL = {
  file: "test/engine/serving_test.ts",
  filter: "its queue has no room",
};

export const MUTANTS: MutantList = [
  {
    id: "engine.queue-max",
    file: "src/engine/core/engine.ts",
    from: "this.#active.size >= this.#queueMax",
    to: "this.#active.size > this.#queueMax",
    tests: [QUEUE_FULL],
    why:
      "queueMax is the most requests that are in the system (README, A request is refused)",
  },
  {
    id: "engine.numbers",
    file: "src/engine/core/engine.ts",
    from:
      "    // A refused one has no number: those of requests that are taken follow each other.\n    this.#requests++;",
    to: "    this.#requests += 2;",
    tests: [BOUNDARY],
    why: "numbers of requests that are taken follow each other",
  },
  {
    id: "engine.release-in-flight",
    file: "src/engine/core/engine.ts",
    from:
      "if (request.departed && request.inFlight === 0) this.#release(request);",
    to: "if (request.departed) this.#release(request);",
    tests: [VOIDED, PAIRED],
    why: "a slot is freed when nothing in flight refers to it (design, 5)",
  },
  {
    id: "engine.release-at-departure",
    file: "src/engine/core/engine.ts",
    from: "if (!waiting && request.inFlight === 0) this.#release(request);",
    to: "if (!waiting) this.#release(request);",
    tests: [VOIDED, PAIRED],
    why: "a slot is freed when nothing in flight refers to it (design, 5)",
  },
  {
    id: "engine.void-over",
    file: "src/engine/core/engine.ts",
    from: 'const settlement = request.over\n      ? "void"\n      : this',
    to: "const settlement = this",
    tests: [VOIDED],
    why:
      "rows behind the end of a request are void, whatever the executor says",
  },
  {
    id: "engine.finish-at",
    file: "src/engine/core/engine.ts",
    from: "    if (nowNs > request.finishNs) {",
    to: "    if (nowNs >= request.finishNs) {",
    tests: [FINISH],
    why: "what ends at its deadline has finished in time",
  },
  {
    id: "engine.release-end",
    file: "src/engine/core/engine.ts",
    from: 'if (run.launch.release === "end") {',
    to: "if (request === undefined) {",
    tests: [FINISH],
    why:
      'release: "end" holds all results until the run has ended (ARCHITECTURE, Decisions as Data)',
  },
  {
    id: "engine.held-late",
    file: "src/engine/core/engine.ts",
    from: "const isLate = nowNs > request.finishNs;",
    to: "const isLate = false;",
    tests: [FINISH],
    why: "a result that is held comes too late when its run does",
  },
  {
    id: "engine.padding",
    file: "src/engine/core/dispatch.ts",
    from: "const padding = Math.max(0, paddedRows - nodes.length);",
    to: "const padding = 0;",
    tests: [PADDING],
    why: "paddedRows fills every step with rows that are computed and timed",
  },
  {
    id: "engine.pads-done",
    file: "src/engine/core/dispatch.ts",
    from: "padsDone: paddedRows > 0,",
    to: "padsDone: false,",
    tests: [PADDING],
    why:
      "rows of a padded task that are over are computed into scratch: the shape stays",
  },
  {
    id: "engine.padded-length",
    file: "src/engine/core/dispatch.ts",
    from: "paddedLength: looksAtInput(cell) ? paddedLength : 0,",
    to: "paddedLength: 0,",
    tests: [EXTENTS],
    why: "a launch says the length that rows are padded to",
  },
  {
    id: "engine.tail-over",
    file: "src/engine/core/dispatch.ts",
    from: "(request) => request.over || this.#growth.isStunted(request),",
    to: "(request) => this.#growth.isStunted(request),",
    tests: [FINISH, PAIRED],
    why: "steps of a request that has ended are not launched any more",
  },
  {
    id: "engine.tail-stunted",
    file: "src/engine/core/dispatch.ts",
    from: "(request) => request.over || this.#growth.isStunted(request),",
    to: "(request) => request.over,",
    tests: [GROWTH],
    why: "nothing is executed that a failed growth has appended",
  },
  {
    id: "engine.wait-deadline",
    file: "src/engine/core/engine.ts",
    from: "return Math.min(decision.untilNs, this.#deadlines.nextNs());",
    to: "return decision.untilNs;",
    tests: [FINISH, {
      file: "test/engine/equivalence_test.ts",
      filter: "/^graph: .*paired/",
    }],
    why: "a deadline is kept while a policy waits for its window",
  },
  {
    id: "engine.idle-deadline",
    file: "src/engine/core/engine.ts",
    from: '        case "idle":\n          return this.#deadlines.nextNs();',
    to: '        case "idle":\n          return Infinity;',
    tests: [FINISH],
    why: "a deadline is kept while a policy has nothing to launch",
  },
  {
    id: "engine.growth-limit",
    file: "src/engine/core/growth.ts",
    from: "request.stepsSubmitted >= graph.stepsMax",
    to: "request.stepsSubmitted > graph.stepsMax",
    tests: [STEPS, GROWTH],
    why: "no step is appended behind the limit that the graph declared",
  },
  {
    id: "engine.growth-nothing",
    file: "src/engine/core/growth.ts",
    from: "    if (graph.nodes.length === before) graph.closed = true;\n",
    to: "",
    tests: [GROWTH],
    why: "growth that appends nothing ends the request",
  },
  {
    id: "engine.start-earliest",
    file: "src/engine/core/settle_row.ts",
    from: "if (!(request.startNs <= startNs)) request.startNs = startNs;",
    to: "request.startNs = startNs;",
    tests: ["test/engine/settle_row_test.ts"],
    why: "a request starts with its earliest batch",
  },
  {
    id: "engine.failed-over",
    file: "src/engine/core/settle_row.ts",
    from: "    node.state = NODE.void;\n    request.over = true;\n",
    to: "    node.state = NODE.void;\n",
    tests: [RUNNER],
    why: "a row that fails ends its request",
  },
  {
    id: "engine.last-over",
    file: "src/engine/core/settle_row.ts",
    from:
      'if (settlement === "last" || (graph.closed && graph.remaining === 0)) {',
    to: "if (graph.closed && graph.remaining === 0) {",
    tests: [VOIDED, GROWTH],
    why:
      "a request that grows is over with its last step, whatever was submitted behind it",
  },
  {
    id: "engine.admission-most",
    file: "src/engine/core/admission.ts",
    from: "return unbegun < most;",
    to: "return unbegun <= most;",
    tests: [ADMISSION],
    why:
      "as many requests are unfolded as a policy could start (Policy.lookahead)",
  },
  {
    id: "engine.admission-began",
    file: "src/engine/core/admission.ts",
    from: "if (!session) this.#door(model).unbegun--;",
    to: "this.#door(model);",
    tests: [ADMISSION],
    why: "a request that has begun makes room for the next",
  },
  {
    id: "engine.admission-time",
    file: "src/engine/core/admission.ts",
    from: "this.#isHeld = !this.#hasTime();",
    to: "this.#isHeld = false;",
    tests: [ADMISSION],
    why:
      "unfolding has half a millisecond of every turn (ARCHITECTURE, More arrives than can be served)",
  },
  {
    id: "engine.lifo",
    file: "src/engine/core/waiting_list.ts",
    from: "return late ? this.#newest : oldest;",
    to: "return oldest;",
    tests: [ADMISSION],
    why:
      "the newest is next once the oldest has used half of its time (Maurer, Fail at Scale)",
  },
  {
    id: "engine.patience",
    file: "src/engine/core/waiting_list.ts",
    from: "const PATIENCE = 1 / 2;",
    to: "const PATIENCE = 1;",
    tests: [ADMISSION, FINISH],
    why: "the newest is next once the oldest has used half of its time",
  },
  {
    id: "engine.waiting-newest",
    file: "src/engine/core/waiting_list.ts",
    from: "else this.#newest = before;",
    to: "",
    tests: [ADMISSION],
    why: "a request that leaves the waiting list is not found in it again",
  },
  {
    id: "engine.deadline-in-flight",
    file: "src/engine/core/deadlines.ts",
    from: "isMissed: ({ inFlight }) => inFlight === 0,",
    to: "isMissed: () => true,",
    tests: [DEADLINES],
    why: "a deadline for starting is kept by rows in flight",
  },
  {
    id: "engine.deadline-at",
    file: "src/engine/core/deadlines.ts",
    from: "next.atNs > nowNs) return undefined;",
    to: "next.atNs >= nowNs) return undefined;",
    tests: [{
      file: "test/engine/deadlines_test.ts",
      filter: "not a nanosecond before",
    }],
    why: "a request is ended at its deadline, not behind it",
  },
  {
    id: "engine.deadline-which",
    file: "src/engine/core/deadlines.ts",
    from: 'const missed = finishNs < deadlineNs ? "finish" : "start";',
    to: 'const missed = "start";',
    tests: [FINISH],
    why:
      "of two deadlines that have passed unnoticed, the earlier one is named",
  },
  {
    id: "engine.deadline-drop",
    file: "src/engine/core/deadlines.ts",
    from: "if (!next.request.departed) this.#heap.push(next);",
    to: "if (next.request.departed) this.#heap.push(next);",
    tests: [DEADLINES],
    why: "deadlines of requests that are there outlive those that have ended",
  },
  {
    id: "engine.token-writer",
    file: "src/engine/core/token_check.ts",
    from: 'access === "read" || holders === 0,',
    to: "true,",
    tests: ["test/engine/token_check_test.ts"],
    why:
      "a buffer has many readers or one writer, never both (DVABatch, section 5)",
  },
  {
    id: "engine.token-reader",
    file: "src/engine/core/token_check.ts",
    from: "      holders >= 0,\n",
    to: "      true,\n",
    tests: ["test/engine/token_check_test.ts"],
    why: "nobody reads a buffer that is being written",
  },
  {
    id: "engine.token-release",
    file: "src/engine/core/token_check.ts",
    from: "if (Math.abs(holders) === 1) this.#holders.delete(id);",
    to: "if (holders === 1) this.#holders.delete(id);",
    tests: ["test/engine/token_check_test.ts"],
    why: "a writer's buffer is free once its run has ended",
  },
  {
    id: "engine.growth-results",
    file: "src/engine/core/check_growth.ts",
    from: "if (collected && behind.has(node)) continue;",
    to: "if (behind.has(node)) continue;",
    tests: ["test/engine/growing_results_test.ts"],
    why: "a single result of a step behind the first may lie behind the end",
  },
  {
    id: "engine.void-costs-nothing",
    file: "src/engine/core/task_extents.ts",
    from: "if (nodes.length > 0 && alive === 0) return { rows: 0 };",
    to: "",
    tests: [PADDING],
    why:
      "a task whose requests are all over is not computed, its padding neither",
  },
  {
    id: "engine.padded-costs",
    file: "src/engine/core/task_extents.ts",
    from: "const rows = padding + (padsDone ? nodes.length : alive);",
    to: "const rows = padding + alive;",
    tests: [PADDING],
    why: "a padded task costs its shape, finished requests included",
  },
  {
    id: "engine.tail-order",
    file: "src/engine/core/run.ts",
    from: "run.tailAt = (run.tailAt + 1) % tail.cells.length;",
    to: "run.tailAt = 0;",
    tests: [STEPS],
    why: "a tail repeats the cells of a step in order",
  },
  {
    id: "engine.quiet-release",
    file: "src/engine/core/run.ts",
    from: 'const isQuiet = isRemote && launch.release === "end";',
    to: "const isQuiet = isRemote;",
    tests: [QUIET],
    why: "who departs at a step is heard of at the step",
  },
  {
    id: "engine.quiet-last",
    file: "src/engine/core/run.ts",
    from: "    : tailAt > 0;",
    to: "    : true;",
    tests: [QUIET],
    why: "the end of a step is heard of: more may follow",
  },
  {
    id: "engine.whole-step",
    file: "src/engine/core/run.ts",
    from: "(tailAt < TAIL_AHEAD ? cells.length : 0)",
    to: "cells.length",
    tests: [QUIET],
    why: "of a step that may not be, two tasks are submitted",
  },
  {
    id: "engine.steps-fixed",
    file: "src/engine/core/active_request.ts",
    from: "return Math.min(this.graph.stepsMax, this.stepsFixed ?? Infinity);",
    to: "return this.graph.stepsMax;",
    tests: [STEPS],
    why: "the workload ends growth after the steps it fixed",
  },
  {
    id: "engine.sealed",
    file: "src/engine/core/unfold.ts",
    from: "  graph.seal();\n",
    to: "",
    tests: ["test/engine/sealed_graph_test.ts"],
    why: "a request's graph is sealed once it is unfolded",
  },
  {
    id: "engine.fifo-ranks",
    file: "src/base/event_heap.ts",
    from:
      "if (a.event.rank !== b.event.rank) return a.event.rank < b.event.rank;",
    to: "",
    tests: ["test/base/event_heap_test.ts"],
    why:
      "at one instant: completions, arrivals, scheduling (ARCHITECTURE, One Clock)",
  },
  {
    id: "engine.used-graphs-after-launch",
    file: "src/engine/core/engine.ts",
    from: "if (request.longRuns === 0) this.#partFrom(request);",
    to: "this.#partFrom(request);",
    tests: USED_TESTS,
    why: "a policy finds the nodes of a launch as they were until it is over",
  },
  {
    id: "engine.used-graphs-brought",
    file: "src/engine/tensors/tensor_store.ts",
    from: "brought?.[i] ?? data",
    to: "data",
    tests: USED_TESTS,
    why: "a request computes with what it brings itself",
  },
  {
    id: "engine.used-graphs-fit",
    file: BROUGHT,
    from: "lengthOf(given) === length",
    to: "true",
    tests: USED_TESTS,
    why: "what does not fit the plan would be written over others' data",
  },
  {
    id: "engine.used-graphs-missing",
    file: BROUGHT,
    from: "if (kinds[i].isBrought) checkKind",
    to: "if (given !== undefined && kinds[i].isBrought) checkKind",
    tests: USED_TESTS,
    why: "what a request does not bring would be another's",
  },
  {
    id: "engine.used-graphs-order",
    file: BROUGHT,
    from: "      if (!isSame(data, given)) {\n",
    to: "      if (false) {\n",
    tests: USED_TESTS,
    why: "data in a wrong order are found out before any load",
  },
  {
    id: "engine.used-graphs-alike",
    file: BROUGHT,
    from: "    this.of(model, input);\n",
    to: "",
    tests: USED_TESTS,
    why: "who is refused does not hang on who else is there",
  },
  {
    id: "engine.used-graphs-forget",
    file: BROUGHT,
    from: "inputs[i].forget();",
    to: "continue;",
    tests: USED_TESTS,
    why: "graphs of many requests would keep all that those brought",
  },
  {
    id: "engine.used-graphs-taken",
    file: USED,
    from: "known.graphs.pop()",
    to: "known.graphs.at(-1)",
    tests: USED_TESTS,
    why: "requests at once have a graph each",
  },
  {
    id: "engine.used-graphs-apart",
    file: USED,
    from: "    else emptyGraph(graph);\n",
    to: "",
    tests: USED_TESTS,
    why: "a list of a graph that V8 made in its old space would keep all of it",
  },
  {
    id: "engine.used-graphs-settled",
    file: "src/engine/core/engine.ts",
    from: "    this.#letGo(run);\n",
    to: "",
    tests: USED_TESTS,
    why: "graphs of requests that were over before their launch are used again",
  },
  {
    id: "engine.used-graphs-refused",
    file: USED,
    from: "      this.withdraw(request);\n",
    to: "",
    tests: USED_TESTS,
    why: "a full engine would make a graph for everybody it refuses",
  },
  {
    id: "engine.given-up-at-once",
    file: "src/engine/core/engine.ts",
    from: "for (const request of all) request.over = request.departed = true;",
    to: "",
    tests: [{
      file: "test/engine/finish_test.ts",
      filter: "engine that is given up",
    }],
    why: "who hears of one end may cancel what is to end next",
  },
];
