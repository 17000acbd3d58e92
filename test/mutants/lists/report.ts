/** What a run is told as: tables, reports, traces, why a request waited. */
import type { MutantList } from "../mutant.ts";

const LOG = ["test/report/decision_log_test.ts"];
const EXPLAINED = ["test/report/explained_time_test.ts"];
const TABLE = ["test/report/table_test.ts"];
const PARTS = ["test/report/html_parts_test.ts"];
const CHARTS = ["test/report/charts_test.ts"];
const TRACE = ["test/report/perfetto_test.ts"];
const CONCLUSION = ["test/report/conclusion_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "report.last-task",
    file: "src/report/decision_log.ts",
    from: "    launch.endNs = endNs;",
    to: "    launch.endNs ||= endNs;",
    tests: LOG,
    why:
      "a launch runs until its last task has ended, so that no wait is told while it runs",
  },
  {
    id: "report.tail",
    file: "src/report/decision_log.ts",
    from: "new Set<number>(tail?.requests.map(({ id }) => id))",
    to: "new Set<number>()",
    tests: LOG,
    why: "who follows in a tail is in the launch",
  },
  {
    id: "report.oldest",
    file: "src/report/decision_log.ts",
    from: "for (const [oldest, entry] of entries) {",
    to: "for (const [oldest, entry] of [...entries].reverse()) {",
    tests: LOG,
    why: "a log with limits keeps the newest",
  },
  {
    id: "report.others",
    file: "src/report/decision_log.ts",
    from: "request.arrivalNs <= atNs && request.endNs > atNs &&",
    to: "request.endNs > atNs &&",
    tests: LOG,
    why: "who had not come yet is not told as waiting",
  },
  {
    id: "report.no-figure",
    file: "src/report/bench_table.ts",
    from: "Number.isFinite(a) && Number.isFinite(b) ? a / b : NaN",
    to: "a / b",
    tests: TABLE,
    why: "what was not measured has no ratio",
  },
  {
    id: "report.escaped",
    file: "src/report/html_parts.ts",
    from: "? escapeHtml(text)",
    to: "? text",
    tests: PARTS,
    why: "names of others' files are text in a report",
  },
  {
    id: "report.fifths",
    file: "src/report/conclusion.ts",
    from: "a.every((ns, k) => ns < b[k])",
    to: "a.some((ns, k) => ns < b[k])",
    tests: CONCLUSION,
    why: "beyond noise is lower in every part",
  },
  {
    id: "report.begun",
    file: "src/report/perfetto.ts",
    from: "a.startNs - b.startNs || a.id - b.id",
    to: "a.id - b.id",
    tests: TRACE,
    why: "slices of a track are in order of time, as viewers need them",
  },
  {
    id: "report.distribution",
    file: "src/report/charts.ts",
    from: "100 * (k + 1) / quantiles.length",
    to: "100 * k / quantiles.length",
    tests: CHARTS,
    why: "the slowest request is at 100 %",
  },
  {
    id: "report.rows",
    file: "src/report/decision_log.ts",
    from: "rows = Math.max(rows, nodes.length);",
    to: "",
    tests: LOG,
    why: "a tree has many rows in a launch",
  },
  {
    id: "report.forgotten",
    file: "src/report/decision_log.ts",
    from: "if (this.#forgottenNs >= arrivalNs) {",
    to: "if (false) {",
    tests: LOG,
    why: "no wait is told where launches are forgotten",
  },
  {
    id: "report.held-for-nothing",
    file: "src/report/decision_log.ts",
    from: 'if (outcome === "done") {',
    to: "if (true) {",
    tests: LOG,
    why: "who was given up was not held by a run",
  },
  {
    id: "report.own-end",
    file: "src/report/decision_log.ts",
    from: "partsNs[at + 1] = endNs;",
    to: "",
    tests: EXPLAINED,
    why: "what is held until the end of its run is told as held",
  },
  {
    id: "report.queued",
    file: "src/report/decision_log.ts",
    from: "other.worker === worker && other.startNs < untilNs &&",
    to: "other.startNs > untilNs &&",
    tests: LOG,
    why: "who is behind others on a worker is told so",
  },
];
