/** Loads of frames: when sources make them, and when they arrive. */
import type { MutantList } from "../mutant.ts";

const FILE = "src/workload/stream_load.ts";
const TESTS = ["test/workload/stream_load_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "stream_load.order",
    file: FILE,
    from:
      "this.atNs = Math.max(this.atNs, this.source.arrivalNs(this.madeNs));",
    to: "this.atNs = this.source.arrivalNs(this.madeNs);",
    tests: TESTS,
    why: "frames of a stream arrive in their order",
  },
  {
    id: "stream_load.period",
    file: FILE,
    from: "this.madeNs = this.source.madeNs(++this.frame);",
    to: "this.madeNs = this.source.madeNs(this.frame += 2);",
    tests: TESTS,
    why: "a source makes a frame in every period",
  },
  {
    id: "stream_load.phase",
    file: FILE,
    from: "this.#phaseNs = prng.float() * periodNs;",
    to: "this.#phaseNs = 0 * periodNs;",
    tests: TESTS,
    why: "sources have a phase of their own",
  },
  {
    id: "stream_load.jitter",
    file: FILE,
    from: "this.#prng.float() * this.#options.jitterNs",
    to: "this.#options.jitterNs",
    tests: TESTS,
    why: "jitter is uniform",
  },
  {
    id: "stream_load.stalled",
    file: FILE,
    from: "madeNs < this.#stallFromNs ? madeNs : this.#stallToNs",
    to: "madeNs",
    tests: TESTS,
    why: "a stall holds frames back until it ends",
  },
  {
    id: "stream_load.next-stall",
    file: FILE,
    from: "this.#stallToNs + this.#prng.exponential(stallEveryNs)",
    to: "this.#stallToNs + 2 * this.#prng.exponential(stallEveryNs)",
    tests: TESTS,
    why: "stallEveryNs is the mean time between stalls",
  },
  {
    id: "stream_load.stall-length",
    file: FILE,
    from: "stallNs ?? 10 * periodNs,",
    to: "stallNs ?? periodNs,",
    tests: TESTS,
    why: "stalls are ten periods long by default",
  },
  {
    id: "stream_load.end",
    file: FILE,
    from: "    if (next.madeNs < durationNs) heap.push(next);\n",
    to: "    if (next.atNs < durationNs) heap.push(next);\n",
    tests: TESTS,
    why: "frames that are made before the end arrive, and no others",
  },
  {
    id: "stream_load.own-numbers",
    file: FILE,
    from: "new Source(checked, new Prng(prng.int(SEEDS)))",
    to: "new Source(checked, prng)",
    tests: TESTS,
    why: "a source's times do not depend on others",
  },
  {
    id: "stream_load.phases-apart",
    file: FILE,
    from: "new Prng(prng.int(SEEDS))",
    to: "prng.fork(`stream ${stream}`)",
    tests: TESTS,
    why: "sources that are numbered one after the other do not tick together",
  },
];
