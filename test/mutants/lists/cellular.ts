/** Cellular batching: its Algorithm 1, line by line, and what a subgraph is. */
import type { MutantList } from "../mutant.ts";

const FILE = "src/policy/cellular_batching/cellular.ts";
const SUBGRAPH = "src/policy/cellular_batching/subgraph.ts";
const TESTS = ["test/policy/cellular_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "cellular.line-5-left-out",
    file: FILE,
    from: "if (full.length > 0) {",
    to: "if (full.length > 1e9) {",
    tests: TESTS,
    why: "Algorithm 1, line 5: a full batch goes before priority",
  },
  {
    id: "cellular.line-5-more-than-full",
    file: FILE,
    from: "numReadyNodes(type, worker) >= type.sizeMax",
    to: "numReadyNodes(type, worker) > type.sizeMax",
    tests: TESTS,
    why: "Algorithm 1, line 5: at least Bsizes.Max()",
  },
  {
    id: "cellular.line-7-left-out",
    file: FILE,
    from: "if (starving.length > 0) {",
    to: "if (starving.length > 1e9) {",
    tests: TESTS,
    why: "Algorithm 1, line 7: a cell of which no task runs",
  },
  {
    id: "cellular.line-7-turned-around",
    file: FILE,
    from: "type.tasks === 0",
    to: "type.tasks > 0",
    tests: TESTS,
    why: "Algorithm 1, line 7: NumRunningTasks() = 0",
  },
  {
    id: "cellular.line-9-left-out",
    file: FILE,
    from: "if (ready.length > 0) {",
    to: "if (ready.length > 1e9) {",
    tests: TESTS,
    why: "Algorithm 1, line 9: ready nodes, although tasks of the cell run",
  },
  {
    id: "cellular.line-10-lowest",
    file: FILE,
    from: "type.cell.priority > best.cell.priority",
    to: "type.cell.priority < best.cell.priority",
    tests: TESTS,
    why: "Algorithm 1, line 10: the highest priority",
  },
  {
    id: "cellular.line-10-first",
    file: FILE,
    from: "type.cell.priority > best.cell.priority",
    to: "false",
    tests: TESTS,
    why: "Algorithm 1, line 10: priority, not the order of cells",
  },
  {
    id: "cellular.models-turn",
    file: FILE,
    from: "choice.type.turn.last = ++bursts;",
    to: "++bursts;",
    tests: TESTS,
    why: "of several models the one not served for longest goes first",
  },
  {
    id: "cellular.line-14-one-more",
    file: FILE,
    from: "current.tasks >= maxTasksToSubmit",
    to: "current.tasks > maxTasksToSubmit",
    tests: TESTS,
    why: "Algorithm 1, line 14: num_tasks < MaxTasksToSubmit",
  },
  {
    id: "cellular.line-3-default",
    file: FILE,
    from: "options.maxTasksToSubmit ?? 5",
    to: "options.maxTasksToSubmit ?? 4",
    tests: TESTS,
    why: "section 4.3: the default is 5",
  },
  {
    id: "cellular.line-16-min-left-out",
    file: FILE,
    from: "(current.tasks > 0 && nodes.length < type.sizeMin)",
    to: "false",
    tests: TESTS,
    why: "Algorithm 1, line 16: batch.Size() at least Bsizes.Min()",
  },
  {
    id: "cellular.line-16-first-too",
    file: FILE,
    from: "(current.tasks > 0 && nodes.length < type.sizeMin)",
    to: "nodes.length < type.sizeMin",
    tests: TESTS,
    why: "Algorithm 1, line 16: or num_tasks = 0",
  },
  {
    id: "cellular.line-18-left-out",
    file: FILE,
    from: "        advance(node, makeReady);\n",
    to: "",
    tests: TESTS,
    why: "Algorithm 1, line 18: dependencies are updated at submission",
  },
  {
    id: "cellular.line-21-left-out",
    file: FILE,
    from: "          subgraph.pin(launch.worker);\n",
    to: "",
    tests: TESTS,
    why: "Algorithm 1, line 21: a subgraph is pinned to its tasks' worker",
  },
  {
    id: "cellular.never-unpinned",
    file: FILE,
    from: "if (--subgraph.tasks === 0 && !subgraph.dead) subgraph.pin(-1);",
    to: "--subgraph.tasks;",
    tests: TESTS,
    why: "section 4.3: unpinned when its counter of tasks is zero",
  },
  {
    id: "cellular.unpinned-at-once",
    file: FILE,
    from: "if (--subgraph.tasks === 0 && !subgraph.dead) subgraph.pin(-1);",
    to: "--subgraph.tasks; if (!subgraph.dead) subgraph.pin(-1);",
    tests: TESTS,
    why: "section 4.3: pinned while tasks of it are under way",
  },
  {
    id: "cellular.line-27-left-out",
    file: FILE,
    from: "if (subgraph.pinned >= 0 && subgraph.pinned !== worker) continue;",
    to: "",
    tests: TESTS,
    why: "Algorithm 1, line 27: pinned to nobody or to this worker",
  },
  {
    id: "cellular.line-30-left-out",
    file: FILE,
    from: "if (batch.length === sizeMax) return batch;",
    to: "",
    tests: TESTS,
    why: "Algorithm 1, line 30: at most Bsizes.Max() rows",
  },
  {
    id: "cellular.externals-left-out",
    file: FILE,
    from: "      if (subgraph.externals === 0) subgraph.release();",
    to: "      subgraph.release();",
    tests: TESTS,
    why: "section 4.4: a subgraph waits until everything outside is done",
  },
  {
    id: "cellular.queue-newest-first",
    file: SUBGRAPH,
    from: `    this.before = queue.last;
    if (queue.last) queue.last.after = this;
    else queue.first = this;
    queue.last = this;
`,
    to: `    this.after = queue.first;
    if (queue.first) queue.first.before = this;
    else queue.last = this;
    queue.first = this;
`,
    tests: TESTS,
    why: "Algorithm 1, line 26: subgraphs in the order of their queue",
  },
  {
    id: "cellular.subgraph-per-node",
    file: SUBGRAPH,
    from: "  node.tag = own ?? new Subgraph(node.cell, segment);",
    to: "  node.tag = new Subgraph(node.cell, segment);",
    tests: ["test/policy/golden_test.ts"],
    why: "section 4.3: connected nodes of one cell are one subgraph",
  },
  {
    id: "cellular.nonrecurrent-joins",
    file: FILE,
    from: "if (cohort.running > 0) continue;",
    to: "",
    tests: TESTS,
    why:
      "LazyBatching, Fig. 7's reading: who arrives waits for the running batch",
  },
];
