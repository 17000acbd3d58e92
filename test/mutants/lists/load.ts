/** Loads over HTTP: what latency counts from, what proves a percentile, what makes a run not valid. */
import type { MutantList } from "../mutant.ts";

const SUMMARY = "src/load/summarize.ts";
const RUN = "src/load/run.ts";
const RUN_TEST = ["test/load/run_test.ts"];
const STATISTICS = ["test/load/statistics_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "load.latency-from-sending",
    file: SUMMARY,
    from: "const latencies = completed.map((i) => endNs[i] - dueNs[i]);",
    to: "const latencies = completed.map((i) => endNs[i] - sentNs[i]);",
    tests: RUN_TEST,
    why: "coordinated omission: latency counts from when a request was due",
  },
  {
    id: "load.closed-loop",
    file: RUN,
    from: "    waiting.push(i);\n    pump();",
    to:
      "    if (onWire >= connections) await clock.turn();\n    await send(i);",
    tests: RUN_TEST,
    why: "the loop is open: no request waits for the answer of another",
  },
  {
    id: "load.sends-for-nobody",
    file: RUN,
    from: "if (clock.nowNs() < untilNs) void send(next);",
    to: "if (untilNs > 0) void send(next);",
    tests: RUN_TEST,
    why: "a client that has given up sends nothing",
  },
  {
    id: "load.refused-in-time",
    file: SUMMARY,
    from: "const over = requests - inTime;",
    to: "const over = 0 * requests - inTime + inTime;",
    tests: RUN_TEST,
    why: "the verdict counts what was late, refused or failed",
  },
  {
    id: "load.doubt",
    file: "src/load/early_stopping.ts",
    from: "export const CONFIDENCE = 0.99;",
    to: "export const CONFIDENCE = 0.95;",
    tests: STATISTICS,
    why: "MLPerf's early stopping: confidence 0.99",
  },
  {
    id: "load.single-draws",
    file: "src/load/confidence.ts",
    from: "const block = Math.floor(i * BLOCKS / count);",
    to: "const block = i % BLOCKS;",
    tests: STATISTICS,
    why: "requests that are near in time depend on each other",
  },
  {
    id: "load.drift",
    file: "src/load/checks.ts",
    from: "const drifts = third > 0 &&",
    to: "const drifts = third < 0 &&",
    tests: RUN_TEST,
    why: "a queue that only grows has no percentile",
  },
  {
    id: "load.cut-line-ends",
    file: "src/load/sse.ts",
    from: "split(/\\r\\n|\\n|\\r(?!$)/)",
    to: "split(/\\r\\n|\\n|\\r/)",
    tests: ["test/load/requests_test.ts"],
    why: "a carriage return may be half of a line's end",
  },
  {
    id: "load.beyond-the-trace",
    file: "src/load/plan.ts",
    from: "isAll: !isEnough",
    to: "isAll: false",
    tests: RUN_TEST,
    why: "rates of a trace are of the time that it takes",
  },
];
