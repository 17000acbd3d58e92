/** Virtual time: what devices share, what a run comes to, and the load it is given. */
import type { MutantList } from "../mutant.ts";

const CAPACITY = "test/cost/shared_capacity_test.ts";
const SHARED = "test/engine/shared_workers_test.ts";
const STEPS = "test/engine/step_limits_test.ts";
const METRICS = "test/metrics/summarize_test.ts";
const ARRIVALS = "test/workload/arrivals_test.ts";
const GPU = "test/cost/gpu_cost_test.ts";

export const MUTANTS: MutantList = [
  {
    id: "virtual.slowdown",
    file: "src/cost/shared_capacity.ts",
    from: "return Math.max(1, this.#demand) *",
    to: "return 1 *",
    tests: [CAPACITY],
    why:
      "while all that runs asks for more than the device has, everything is slowed down (E2bird, Eq. 3)",
  },
  {
    id: "virtual.no-speedup",
    file: "src/cost/shared_capacity.ts",
    from: "return Math.max(1, this.#demand) *",
    to: "return this.#demand *",
    tests: [CAPACITY],
    why: "what does not fill the device takes its time alone (E2bird, Eq. 3)",
  },
  {
    id: "virtual.interference",
    file: "src/cost/shared_capacity.ts",
    from: "* this.#interference(this.#jobs.size)",
    to: "",
    tests: [CAPACITY],
    why: "batches that run beside each other cost each other time",
  },
  {
    id: "virtual.start-advances",
    file: "src/cost/shared_capacity.ts",
    from: "    this.#advance(nowNs);\n    this.#jobs.set(",
    to: "    this.#jobs.set(",
    tests: [CAPACITY],
    why: "work before a start was done at the rates before it",
  },
  {
    id: "virtual.finish-demand",
    file: "src/cost/shared_capacity.ts",
    from: "    this.#demand -= this.#jobs.get(job)!.demand;\n",
    to: "",
    tests: [CAPACITY],
    why: "a batch that is done asks for nothing",
  },
  {
    id: "virtual.copy-queue",
    file: "src/engine/virtual/shared_workers.ts",
    from: "this.#freeNs = Math.max(this.#freeNs, nowNs) + ns;",
    to: "this.#freeNs = nowNs + ns;",
    tests: [SHARED],
    why: "one engine copies one batch after the other (E2bird, section 5)",
  },
  {
    id: "virtual.copy-in",
    file: "src/engine/virtual/shared_workers.ts",
    from: 'this.#in.copy(copyNs("htodNs"), ',
    to: "this.#in.copy(0, ",
    tests: [SHARED],
    why: "inputs are copied in before the computation (E2bird, section 3.2)",
  },
  {
    id: "virtual.replanned",
    file: "src/engine/virtual/shared_workers.ts",
    from: "      if (version !== this.#version) return;\n",
    to: "",
    tests: [SHARED, CAPACITY],
    why:
      "every start and end changes the rates: completions planned before are out of date",
  },
  {
    id: "virtual.in-stream",
    file: "src/engine/virtual/virtual_driver.ts",
    from: "freeNs = Math.max(freeNs, arrival.arrivalNs) + copyNs;",
    to: "freeNs = arrival.arrivalNs + copyNs;",
    tests: [SHARED],
    why: "inputs are copied in one by one as they come (E2bird, section 5.1)",
  },
  {
    id: "virtual.sim-limit",
    file: "src/engine/virtual/sim_executor.ts",
    from: "slot.done = slot.steps >= request.stepsLimit;",
    to: "slot.done = slot.steps > request.stepsLimit;",
    tests: [STEPS],
    why: "a simulated request takes as many steps as were asked for",
  },
  {
    id: "virtual.void-time",
    file: "src/engine/virtual/virtual_workers.ts",
    from: "rows === 0 ? 0 : cost.latencyNs(cell, rows, extents, worker)",
    to: "cost.latencyNs(cell, Math.max(1, rows), extents, worker)",
    tests: ["test/engine/padding_test.ts"],
    why: "a task of which nothing is computed takes no time",
  },
  {
    id: "virtual.waves",
    file: "src/cost/gpu_cost.ts",
    from: "const waves = Math.ceil(tiles / gpu.sms);",
    to: "const waves = tiles / gpu.sms;",
    tests: [GPU],
    why:
      "tiles run in waves, the last one in part (NVIDIA, Matrix Multiplication Background)",
  },
  {
    id: "virtual.curve-full",
    file: "src/base/curve.ts",
    from: "if (size >= last[0]) return last[1] * size / last[0];",
    to: "if (size >= last[0]) return last[1];",
    tests: ["test/base/curve_test.ts"],
    why:
      "beyond the last size a device is full: time in proportion to the rows",
  },
  {
    id: "virtual.percentile",
    file: "src/base/statistics.ts",
    from: "Math.ceil(p * sorted.length) - 1",
    to: "Math.floor(p * sorted.length) - 1",
    tests: ["test/base/statistics_test.ts"],
    why: "nearest rank: the smallest value that a share of all is at most",
  },
  {
    id: "virtual.late-done",
    file: "src/metrics/summarize.ts",
    from: "outcome === EXPIRED || (outcome === DONE && ends[i] > deadlines[i])",
    to: "outcome === EXPIRED",
    tests: [METRICS],
    why: "what is done too late has missed its deadline",
  },
  {
    id: "virtual.latency-from",
    file: "src/metrics/summarize.ts",
    from: "latencies.push(ends[i] - arrivals[i]);",
    to: "latencies.push(ends[i] - starts[i]);",
    tests: [METRICS],
    why: "latency counts from the arrival",
  },
  {
    id: "virtual.squares",
    file: "src/metrics/summarize.ts",
    from: "squares += size * size * count;",
    to: "squares += size * count;",
    tests: [METRICS],
    why: "what a row saw is the mean over rows of the rows in their task",
  },
  {
    id: "virtual.void-tasks",
    file: "src/metrics/collector.ts",
    from: "if (rows + record.padding > 0) {",
    to: "if (rows >= 0) {",
    tests: [METRICS],
    why: "tasks in which nothing ran are left out",
  },
  {
    id: "virtual.both-deadlines",
    file: "src/metrics/collector.ts",
    from: "Math.min(record.deadlineNs, record.finishNs)",
    to: "record.deadlineNs",
    tests: [METRICS],
    why: "of two deadlines the earlier one counts",
  },
  {
    id: "virtual.stepping",
    file: "src/workload/arrivals.ts",
    from: "rateOf(Math.floor(i / every))",
    to: "rateOf(Math.ceil(i / every))",
    tests: [ARRIVALS],
    why:
      "a step of the load has as many requests as it says (DVABatch, section 8.3)",
  },
  {
    id: "virtual.rate-scale",
    file: "src/workload/arrivals.ts",
    from: "secondsToNs(at / rateScale)",
    to: "secondsToNs(at * rateScale)",
    tests: [ARRIVALS],
    why: "a trace replayed at twice its rate takes half the time",
  },
  {
    id: "virtual.no-time",
    file: "src/engine/virtual/checked_ns.ts",
    from: "ns >= 0 && ns < Infinity",
    to: "true",
    tests: ["test/engine/checked_ns_test.ts"],
    why: "nothing happens at what is no time",
  },
  {
    id: "virtual.handed-on-in-order",
    file: "src/engine/virtual/submission.ts",
    from: "ns === 0 && this.#waiting[worker] === 0",
    to: "ns === 0 && this.#freeNs[worker] <= nowNs",
    tests: ["test/engine/submission_test.ts"],
    why: "a worker's tasks are first in, first out, at one time, too",
  },
  {
    id: "virtual.heard-in-order",
    file: "src/engine/virtual/simulated_engine.ts",
    from: "atNs <= timeline.nowNs && unheard === 0",
    to: "atNs <= timeline.nowNs",
    tests: ["test/engine/submission_test.ts"],
    why: "a worker's tasks are heard of in order, at one time, too",
  },
];
