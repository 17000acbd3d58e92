/** Late Batching: ahead-of-time scheduling and the order of blocks. */
import type { MutantList } from "../mutant.ts";

const FILE = "src/policy/late_batching/late.ts";
const TESTS = ["test/policy/late_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "late.not-ahead",
    file: FILE,
    from: "queued >= pushAhead",
    to: "queued >= 1",
    tests: TESTS,
    why:
      "section 2, ahead-of-time scheduling: decided at the push, not at the completion",
  },
  {
    id: "late.one-further-ahead",
    file: FILE,
    from: "queued >= pushAhead",
    to: "queued > pushAhead",
    tests: TESTS,
    why: "section 2: so many blocks on the device, the running one included",
  },
  {
    id: "late.not-ahead-by-default",
    file: FILE,
    from: "options.pushAhead ?? 2",
    to: "options.pushAhead ?? 1",
    tests: TESTS,
    why: "section 2: ahead of time by default",
  },
  {
    id: "late.newest-first",
    file: FILE,
    from: "of readyOf.get(cell)!) {",
    to: "of [...readyOf.get(cell)!].reverse()) {",
    tests: ["test/policy/naive/naive_test.ts"],
    why: "section 2: in order of arrival",
  },
  {
    id: "late.mixes-blocks",
    file: FILE,
    from: "if (node.cell !== cell) continue;",
    to: "",
    tests: ["test/policy/naive/naive_test.ts"],
    why: "section 2: blocks of one function and one set of parameters batch",
  },
  {
    id: "late.out-of-order",
    file: FILE,
    from: "list.splice(placeOf(owner, list), 0, owner);",
    to: "list.push(owner);",
    tests: ["test/policy/naive/naive_test.ts"],
    why: "section 2: in order of arrival, whenever a block becomes ready",
  },
  {
    id: "late.any-device",
    file: FILE,
    from: "if (view.workers[DEVICE].queued >= pushAhead) return IDLE;",
    to:
      "if (view.workers.every(({ queued }) => queued >= pushAhead)) return IDLE;",
    tests: TESTS,
    why: "section 2: one device",
  },
  {
    id: "late.host-in-parallel",
    file: "src/engine/virtual/submission.ts",
    from: "Math.max(this.#freeNs[worker], nowNs)",
    to: "nowNs",
    tests: ["test/engine/submission_test.ts"],
    why: "section 2: the driver schedules one block after the other",
  },
  {
    id: "late.host-never-hidden",
    file: "src/engine/virtual/virtual_devices.ts",
    from:
      "submitNs ? new SubmissionDelay(devices, timeline, submitNs) : devices",
    to: "devices",
    tests: ["test/policy/late_test.ts"],
    why: "section 2: a device that has no next block waits for the driver",
  },
];
