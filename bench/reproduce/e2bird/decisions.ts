import { IdleWorkers } from "../../../src/policy/e2bird/idle_workers.ts";
import type { Experiment, Outcome } from "../experiment.ts";

/** Counts how often a configuration's counts are read: what the queue of idle workers looks at. */
function counted(counts: readonly number[]): {
  readonly counts: readonly number[];
  reads(): number;
} {
  let reads = 0;
  return {
    counts: new Proxy(counts, {
      get(target, property, receiver) {
        if (/^\d+$/.test(String(property))) reads++;
        return Reflect.get(target, property, receiver);
      },
    }),
    reads() {
      const read = reads;
      reads = 0;
      return read;
    },
  };
}

interface Reads {
  readonly workers: number;
  /** Of a decision: the largest idle worker that fits is found, starts, and is idle again. */
  readonly decision: number;
  /** Of a change of the configuration. */
  readonly change: number;
}

function readsOf(counts: readonly number[]): Reads {
  const watched = counted(counts);
  const queue = new IdleWorkers(watched.counts);
  const change = watched.reads();
  let decision = 0;
  // Every worker but those of size 1 is busy, so that none of the large ones fits.
  for (let n = counts.length - 1; n >= 0; n--) {
    for (let i = 0; i < counts[n]; i++) {
      const size = queue.largestIdle(2 ** counts.length);
      queue.remove(size);
      decision = Math.max(decision, watched.reads());
    }
  }
  queue.add(1);
  queue.largestIdle(1);
  decision += watched.reads();
  return {
    workers: counts.reduce((sum, count) => sum + count),
    decision,
    change,
  };
}

/** N-Ebird's engines (1, 1, 2, 4, ...), and engines of the paper's six sizes with more and more of each. */
function engines(): (readonly number[])[] {
  return [
    ...[2, 4, 6, 8, 12, 16, 20].map((sizes) =>
      Array.from({ length: sizes }, (_, n) => n === 0 ? 2 : 1)
    ),
    ...[2, 8, 32, 128, 512].map((each) => new Array<number>(6).fill(each)),
  ];
}

function run(): Promise<Outcome> {
  const measured = engines().map(readsOf)
    .sort((a, b) => a.workers - b.workers);
  const logs = measured.map(({ workers }) => Math.log2(workers));
  const line = (name: string, ys: readonly number[]) => ({
    name,
    points: measured.map(({ workers }, i) => ({ x: workers, y: ys[i] })),
  });
  const most = (of: "decision" | "change") =>
    Math.max(...measured.map((reads) => reads[of]));
  return Promise.resolve({
    findings: [{
      claim: "EB-11",
      compared: [
        {
          name: "N-Ebird, per decision",
          as: "holds",
          published: "O(log M)",
          ours: measured.every(({ decision }, i) => decision <= 2 * logs[i]),
          seen: `at most ${most("decision")} counts looked at, M from ${
            measured[0].workers
          } to ${measured[measured.length - 1].workers}`,
        },
        {
          name: "E-Ebird, when its configuration changes",
          as: "holds",
          published: "O(M log M)",
          ours: measured.every(({ workers, change }, i) =>
            change <= workers * logs[i]
          ),
          seen: `at most ${most("change")} counts looked at, one for each size`,
        },
      ],
      note:
        "The paper keeps workers in a red-black tree; sizes being powers of two, a count and a bit per size do, in O(1) " +
        "and O(sizes).",
    }],
    charts: [{
      kind: "lines",
      title: "What a decision looks at, by live workers",
      x: "M",
      y: "counts read",
      logX: true,
      logY: true,
      series: [
        line("decision", measured.map(({ decision }) => decision)),
        line("change of configuration", measured.map(({ change }) => change)),
        line("log2 M", logs),
        line("M log2 M", measured.map(({ workers }, i) => workers * logs[i])),
      ],
    }],
    tables: [],
  });
}

/** Sections 7.2.2 and 7.3.3: what scheduling costs. */
export const DECISIONS: Experiment = {
  id: "e2bird.decisions",
  title: "What a scheduling decision costs",
  claims: ["EB-11"],
  conditions:
    "Operations are counted, not timed: reads of the configuration's worker counts by the queue of idle workers, while " +
    "all its workers start.",
  run,
};
