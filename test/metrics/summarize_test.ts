import { deepEqual, equal, ok, throws } from "node:assert/strict";
import type {
  Observer,
  RequestRecord,
  TaskRecord,
} from "../../src/policy/records.ts";
import { Collector } from "../../src/metrics/collector.ts";
import { summarize } from "../../src/metrics/summarize.ts";
import { tee } from "../../src/metrics/tee.ts";

function request(id: number, at: Partial<RequestRecord>): RequestRecord {
  return {
    id,
    model: "lstm",
    arrivalNs: 0,
    startNs: NaN,
    endNs: 0,
    deadlineNs: Infinity,
    finishNs: Infinity,
    outcome: "done",
    nodes: 1,
    ...at,
  };
}

function task(id: number, at: Partial<TaskRecord>): TaskRecord {
  return {
    id,
    launchId: id,
    worker: 0,
    cell: "step",
    rows: 1,
    padding: 0,
    speculative: 0,
    startNs: 0,
    endNs: 0,
    requests: [],
    ...at,
  };
}

/** Two workers, six requests, five tasks; every figure below is worked out by hand. */
function handMade(): Collector {
  const collector = new Collector();
  collector.request(
    undefined,
    request(1, { arrivalNs: 200, startNs: 300, endNs: 700, deadlineNs: 650 }),
  );
  collector.request(
    undefined,
    request(0, { arrivalNs: 100, startNs: 100, endNs: 900, deadlineNs: 900 }),
  );
  collector.request(
    undefined,
    request(2, { arrivalNs: 300, startNs: 700, endNs: 1000 }),
  );
  collector.request(
    undefined,
    request(3, {
      arrivalNs: 400,
      endNs: 500,
      deadlineNs: 500,
      outcome: "expired",
    }),
  );
  collector.request(
    undefined,
    request(4, { arrivalNs: 500, startNs: 700, endNs: 800, outcome: "failed" }),
  );
  collector.request(
    undefined,
    request(5, { arrivalNs: 600, endNs: 1100, outcome: "cancelled" }),
  );
  collector.task(undefined, task(0, { rows: 1, startNs: 100, endNs: 300 }));
  collector.task(
    undefined,
    task(1, { rows: 2, padding: 2, startNs: 300, endNs: 700 }),
  );
  collector.task(
    undefined,
    task(2, { rows: 4, startNs: 700, endNs: 900, worker: 1 }),
  );
  collector.task(
    undefined,
    task(3, { rows: 1, speculative: 1, startNs: 900, endNs: 1000, worker: 1 }),
  );
  collector.task(
    undefined,
    task(4, {
      cell: "head",
      rows: 4,
      padding: 1,
      startNs: 1000,
      endNs: 1100,
      worker: 1,
    }),
  );
  return collector;
}

Deno.test("summarize() works out a hand-made run to the digit", () => {
  deepEqual(summarize(handMade()), {
    requests: { done: 3, failed: 1, cancelled: 1, expired: 1 },
    latency: {
      meanNs: 2000 / 3,
      p50Ns: 700,
      p90Ns: 800,
      p99Ns: 800,
      maxNs: 800,
    },
    queueing: {
      meanNs: 500 / 3,
      p50Ns: 100,
      p90Ns: 400,
      p99Ns: 400,
      maxNs: 400,
    },
    compute: {
      meanNs: 1500 / 3,
      p50Ns: 400,
      p90Ns: 800,
      p99Ns: 800,
      maxNs: 800,
    },
    latencyQuantilesNs: [500, 700, 800],
    p90OfFifthsNs: [],
    durationNs: 1000,
    throughputPerS: 3_000_000,
    batch: {
      tasks: 5,
      rows: 12,
      meanRows: 12 / 5,
      meanRowsByRow: (1 + 4 + 16 + 1 + 16) / 12,
      histogram: [[1, 2], [2, 1], [4, 2]],
    },
    paddingShare: 3 / 16,
    speculativeShare: 1 / 16,
    workers: 2,
    utilisation: 0.5,
    deadlines: { requests: 3, violated: 2 },
    cells: [
      {
        cell: "step",
        tasks: 4,
        rows: 8,
        padding: 2,
        speculative: 1,
        tokens: 8,
        paddingTokens: 2,
        busyNs: 900,
      },
      {
        cell: "head",
        tasks: 1,
        rows: 4,
        padding: 1,
        speculative: 0,
        tokens: 4,
        paddingTokens: 1,
        busyNs: 100,
      },
    ],
  });
});

Deno.test("summarize() counts idle workers into the utilisation", () => {
  equal(summarize(handMade(), { workers: 4 }).utilisation, 0.25);
});

Deno.test("summarize() counts the time of a task that outlasts all requests into the utilisation", () => {
  const collector = new Collector();
  const given = { arrivalNs: 100, endNs: 150, outcome: "expired" } as const;
  collector.request(undefined, request(0, given));
  collector.task(undefined, task(0, { startNs: 100, endNs: 300 }));
  equal(summarize(collector).utilisation, 1);
  equal(summarize(collector).durationNs, 50);
});

Deno.test("summarize() counts a task of padding alone, but none in which every row was void", () => {
  const collector = handMade();
  collector.task(undefined, task(5, { rows: 0, speculative: 2 }));
  equal(summarize(collector).batch.tasks, 5);
  equal(summarize(collector).speculativeShare, 3 / 18);
  collector.task(undefined, task(6, { rows: 0, padding: 2 }));
  equal(summarize(collector).batch.tasks, 6);
  equal(summarize(collector).batch.meanRows, 2);
});

Deno.test("summarize() of an empty run has no figures, and no zeros that look like some", () => {
  const metrics = summarize(new Collector());
  equal(metrics.requests.done, 0);
  for (
    const value of [
      metrics.latency.p90Ns,
      metrics.batch.meanRows,
      metrics.paddingShare,
      metrics.throughputPerS,
    ]
  ) {
    ok(Number.isNaN(value));
  }
  deepEqual(metrics.latencyQuantilesNs, []);
});

Deno.test("summarize() takes fifths in order of arrival, whatever the order of departure", () => {
  const collector = new Collector();
  const order = [7, 2, 9, 0, 4, 1, 8, 3, 6, 5];
  for (const id of order) {
    const arrivalNs = 1000 * id;
    collector.request(
      undefined,
      request(id, {
        arrivalNs,
        startNs: arrivalNs,
        endNs: arrivalNs + 10 + id,
      }),
    );
  }
  // Two requests per fifth: the p90 is the later one's latency.
  deepEqual(summarize(collector).p90OfFifthsNs, [11, 13, 15, 17, 19]);
});

Deno.test("summarize() thins the CDF to 200 exact quantiles that end in the maximum", () => {
  const collector = new Collector();
  for (let id = 0; id < 5000; id++) {
    collector.request(undefined, request(id, { startNs: 0, endNs: id + 1 }));
  }
  const { latencyQuantilesNs, latency } = summarize(collector);
  deepEqual(
    latencyQuantilesNs,
    Array.from({ length: 200 }, (_, k) => 25 * (k + 1)),
  );
  equal(latency.p90Ns, 4500);
});

Deno.test("tee() tells every observer, in order", () => {
  const told: string[] = [];
  const spy = (name: string): Observer => ({
    waited: (atNs) => void told.push(`${name} waited ${atNs}`),
    request: (_request, record) =>
      void told.push(`${name} request ${record.id}`),
  });
  const both = tee(spy("a"), new Collector(), spy("b"));
  both.waited?.(5, 6);
  both.request?.(undefined as never, request(3, {}));
  deepEqual(told, ["a waited 5", "b waited 5", "a request 3", "b request 3"]);
});

Deno.test("of two deadlines of a request the earlier one counts", () => {
  const collector = new Collector();
  for (const [id, at] of [{ deadlineNs: 5 }, { finishNs: 5 }].entries()) {
    const late = { endNs: 7, deadlineNs: 10, finishNs: 10, ...at };
    collector.request(undefined, request(id, { startNs: 1, ...late }));
  }
  deepEqual(summarize(collector).deadlines, { requests: 2, violated: 2 });
});

Deno.test("summarize() refuses what are no books, and fewer workers than had tasks", () => {
  throws(
    () => summarize({ cells: [] } as never),
    /^TypeError: "collector" is a Collector, got/,
  );
  const summarized = summarize as (...args: unknown[]) => unknown;
  throws(
    () => summarized(handMade(), { worker: 2 }),
    /summarize\(\) has no option "worker"; it takes workers/,
  );
  throws(
    () => summarized(handMade(), { workers: 0 }),
    /"workers" is a positive integer, got 0/,
  );
  throws(
    () => summarize(handMade(), { workers: 1 }),
    /^RangeError: "workers" is at least 2, as so many had tasks, got 1$/,
  );
});

Deno.test("tee() refuses what is no observer", () => {
  throws(
    () => tee(new Collector(), undefined as never),
    /^TypeError: "observers\[1\]" is an object, got undefined$/,
  );
});
