/** DVABatch's worked examples, to the digit; inputs that had to be inferred are marked. */
import assert from "node:assert/strict";
import { mean } from "../../src/base/statistics.ts";
import {
  type Query,
  QueryTable,
} from "../../src/policy/dvabatch/query_table.ts";
import { BufferPairs } from "../../src/policy/dvabatch/buffer_pairs.ts";
import { dvaSchedule } from "../../src/policy/dvabatch/schedule.ts";
import {
  atPreferredSizes,
  durationNs,
  preferredBatchSize,
  timeEven,
} from "../../src/policy/dvabatch/stages.ts";
import {
  dvabatch,
  type DvaBatchOptions,
} from "../../src/policy/dvabatch/dvabatch.ts";
import { profiledCompWait } from "../../src/policy/dvabatch/comp_wait.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import type { Note } from "../../src/policy/launch.ts";
import type { Policy } from "../../src/policy/policy.ts";
import {
  letters,
  runsAt,
  simulateStatic,
  staticChain,
  type StaticRequest,
} from "./static_chain.ts";

/** Units per T: a quarter of it is needed. */
const T = 4;
const four = staticChain({ cells: letters(4) });

function meanLatency(
  requests: readonly StaticRequest[],
  departNs: readonly number[],
): number {
  return mean(
    requests.map(({ arrivalNs }, i) => departNs[i + 1] - arrivalNs),
  ) /
    T;
}

/**
 * Fig. 3, case I: batch size 4, an operator takes 1 T. Stated: 4 T on average become 2.5 T when the three
 * short queries and the long one form batches of their own that run in parallel. Assumption: the long one
 * takes 4 operators, the short ones 2.
 */
Deno.test("DVABatch Fig. 3 case I: splitting by input length takes 4 T to 2.5 T", () => {
  const model = staticChain({ cells: ["A*"] });
  const requests = [2, 2, 2, 4].map((steps) => ({ arrivalNs: 0, steps }));
  const run = (policy: Policy, workers: number) =>
    meanLatency(
      requests,
      simulateStatic(policy, [model], requests, {
        workers,
        cost: { latencyNs: () => T },
      }).departNs,
    );
  assert.equal(run(graph({ batchSizeMax: 4 }), 1), 4);
  const policyI = dvabatch({
    policy: "I",
    stages: 1,
    windowNs: 0,
    batchSizeMax: 4,
  });
  assert.equal(run(policyI, 2), 2.5);
});

/**
 * Fig. 3, case II: A prefers batches of 4, B to D of 1. Stated: 4 T become 2.875 T; the single queries
 * run one after the other, whatever the executors. It takes both halvings, 4 to 2 and 2 to 1, at the one
 * boundary behind A. `parallel`: what it would be if they followed each other through the stages.
 */
for (
  const { workers, pairs, parallel } of [
    { workers: 1, pairs: 2, parallel: 2.875 },
    { workers: 4, pairs: 1, parallel: 2.875 },
    { workers: 4, pairs: 2, parallel: 2.125 },
    { workers: 4, pairs: 3, parallel: 2.125 },
  ]
) {
  Deno.test(`DVABatch Fig. 3 case II: split behind A takes 4 T to 2.875 T (${workers} workers, ${pairs} pairs)`, () => {
    const requests = [0, 0, 0, 0].map((arrivalNs) => ({ arrivalNs }));
    const cost = {
      latencyNs: ({ name }: { name: string }, rows: number) =>
        name === "A" ? T : rows * T / 4,
    };
    const run = (policy: Policy) =>
      meanLatency(
        requests,
        simulateStatic(policy, [four], requests, { workers, cost }).departNs,
      );
    assert.equal(run(graph({ batchSizeMax: 4 })), 4);
    const options = { profile: cost.latencyNs, batchSizeMax: 4, pairs };
    assert.equal(run(dvabatch({ ...options, policy: "II" })), 2.875);
    assert.equal(run(dvabatch({ ...options, policy: "II+III" })), 2.875);
    const splitManner = "parallel";
    const overlapped = dvabatch({ ...options, policy: "II", splitManner });
    assert.equal(run(overlapped), parallel);
  });
}

/**
 * Fig. 3, case III: window 4 T from the first arrival, queries at 0 and 5 T. Stated: 8 T become 5.25 T:
 * query 1 waits behind A for the other three.
 */
Deno.test("DVABatch Fig. 3 case III: stretching takes 8 T to 5.25 T", () => {
  const requests = [0, 5, 5, 5].map((at) => ({ arrivalNs: at * T }));
  const cost = { latencyNs: () => T };
  const options = { batchSizeMax: 4, windowNs: 4 * T };
  const before = simulateStatic(graph(options), [four], requests, { cost });
  assert.equal(meanLatency(requests, before.departNs), 8);
  const after = simulateStatic(
    dvabatch({ ...options, policy: "III" }),
    [four],
    requests,
    { cost },
  );
  assert.equal(meanLatency(requests, after.departNs), 5.25);
  assert.equal(runsAt(after, 4 * T), "A:1");
  assert.equal(runsAt(after, 5 * T), "A:2,3,4");
  assert.equal(runsAt(after, 6 * T), "B:1,2,3,4");
});

/** Fig. 8's queries, stages numbered from 0. */
const queries = (...ids: number[]): Query[] =>
  ids.map((id) => ({
    request: { id } as Query["request"],
    batched: false,
    ended: false,
  }));

Deno.test("DVABatch Fig. 8: new, stretch and split in the batch table and the batch queues", () => {
  const table = new QueryTable(4);
  const row = ({ start, num }: { start: number; num: number }) => [start, num];
  // (a) new: two queries, an item for the first executor.
  const batch0 = table.new(queries(0, 1), 0);
  assert.deepEqual(table.queues[0].map(row), [[0, 2]]);
  const first = table.queues[0].shift()!;
  first.pair = 0;
  table.push(1, table.complete(0, first)!.out);
  assert.deepEqual(batch0.completed, [2, 0, 0, 0]);
  // (b) stretch while the second executor runs it: no item for the third, one for the first.
  const front = table.queues[1].shift()!;
  table.stretch(batch0, queries(2, 3));
  assert.equal(batch0.queries.length, 4);
  assert.deepEqual(table.queues[0].map(row), [[2, 2]]);
  assert.equal(table.complete(1, front), undefined);
  assert.deepEqual(batch0.completed, [2, 2, 0, 0]);
  assert.deepEqual(table.queues[2], []);
  const rest = table.queues[0].shift()!;
  rest.pair = 1;
  table.push(1, table.complete(0, rest)!.out);
  assert.deepEqual(table.queues[1].map(row), [[2, 2]]);
  const { out, merged } = table.complete(1, table.queues[1].shift()!)!;
  assert.deepEqual(row(out), [0, 4]);
  assert.deepEqual(merged, [front]);
  assert.deepEqual(batch0.completed, [4, 4, 0, 0]);
  // (c) split behind the third stage: two rows instead of one, two items for the fourth.
  table.push(2, out);
  const whole = table.complete(2, table.queues[2].shift()!)!.out;
  const children = table.split(2, whole, [2, 2]);
  assert.deepEqual(children.map(row), [[0, 2], [0, 2]]);
  assert.deepEqual(
    [...table.batches].map(({ queries }) => queries.map((q) => q.request.id)),
    [[0, 1], [2, 3]],
  );
  assert(children.every(({ batch }) => batch.fixed));
});

Deno.test("DVABatch Fig. 8 on the engine, by a Schedule of one's own", () => {
  const notes: Note[] = [];
  const requests = [0, 0, 1.5, 1.5].map((arrivalNs) => ({ arrivalNs }));
  const timeline = simulateStatic(
    dvabatch({
      schedule: () => ({
        admit: (view) => ({
          op: view.stretchable ? "stretch" : "new",
          queries: [...view.waiting],
          groups: [[...view.waiting]],
          why: "Fig. 8",
        }),
        split: (size, stage) => size === 4 && stage === 2 ? [2, 2] : [size],
      }),
    }),
    [four],
    requests,
    {
      workers: 4,
      observer: { decided: (_at, launch) => notes.push(...launch.notes!) },
    },
  );
  assert.deepEqual(notes.map(({ op }) => op), ["new", "stretch", "split"]);
  assert.deepEqual(
    timeline.tasks.map(({ startNs, cell, requests }) =>
      `${startNs} ${cell}:${requests}`
    ),
    [
      "0 A:1,2",
      "1 B:1,2",
      "1.5 A:3,4",
      "2.5 B:3,4",
      "3.5 C:1,2,3,4",
      "4.5 D:1,2",
      "5.5 D:3,4",
    ],
  );
});

/** Section 6.1 and Fig. 9(a), of three executors: the first is on pair 0, the second on pair 1. */
Deno.test("a buffer pair is legitimate when its input is available and its output is not in use", () => {
  const pairs = new BufferPairs(3, 3);
  pairs.start(0, 1);
  pairs.finish(0, 1);
  pairs.start(0, 0);
  pairs.start(1, 1);
  const states = (stage: number) =>
    [0, 1, 2].map((pair) => pairs.state(stage, pair));
  assert.deepEqual(states(0), ["in-reading", "invalid", "available"]);
  assert.deepEqual(states(1), ["in-writing", "in-reading", "available"]);
  assert.deepEqual(states(2), ["available", "in-writing", "available"]);
  assert.equal(pairs.legitimate(0), 2);
  assert.equal(pairs.legitimate(0, [2]), -1);
  pairs.finish(1, 1);
  // The output is invalid: what is in it has been read, so it may be written.
  pairs.makeAvailable(0, 1);
  assert.deepEqual(states(1), ["in-writing", "invalid", "available"]);
  assert(pairs.isLegitimate(0, 1));
  assert(!pairs.isLegitimate(1, 1), "an invalid buffer is no input");
  // The output is in use.
  pairs.finish(0, 0);
  pairs.makeAvailable(0, 0);
  pairs.start(1, 0);
  assert.equal(pairs.state(0, 0), "available");
  assert(!pairs.isLegitimate(0, 0));
});

Deno.test("dvabatch() with one buffer pair runs all stages serially, with two they overlap", () => {
  const requests = [0, 0, 0].map((arrivalNs) => ({ arrivalNs }));
  const run = (pairs: number) =>
    simulateStatic(
      dvabatch({ policy: "none", batchSizeMax: 1, pairs }),
      [four],
      requests,
      { workers: 4 },
    );
  assert.deepEqual(run(1).departNs.slice(1), [4, 8, 12]);
  assert.deepEqual(run(2).departNs.slice(1), [4, 5, 6]);
});

Deno.test("dvabatch() does not stretch a batch that began T_comp_wait ago", () => {
  const requests = [0, 2.5].map((arrivalNs) => ({ arrivalNs }));
  const sizes = (compWaitNs: number) =>
    simulateStatic(dvabatch({ compWaitNs }), [four], requests).tasks.map((
      { requests },
    ) => requests.length);
  assert.equal(Math.max(...sizes(2.5)), 2);
  assert.equal(Math.max(...sizes(2.4)), 1);
});

/** A and B take 10 whatever the batch, C and D 10 a row. */
const halfFull = ({ name }: { name: string }, rows: number) =>
  name < "C" ? 10 : 10 * rows;

Deno.test("T_comp_wait from the profile lasts while running the rest together saves a twentieth", () => {
  const { cells } = four;
  const remainingNs =
    (profile: typeof halfFull) => (stage: number, size: number) =>
      durationNs(cells.slice(stage + 1), size, profile);
  const full = profiledCompWait(4, remainingNs((_, rows) => 10 * rows));
  assert.equal(full(1, 1), 0);
  const empty = profiledCompWait(4, remainingNs(() => 10));
  assert.equal(empty(1, 1), Infinity);
  const half = profiledCompWait(4, remainingNs(halfFull));
  // B saves 10 of 40 + 40; of 120 + 120 that is less than a twentieth, of 100 + 100 just that.
  assert.equal(half(1, 1), 10);
  assert.equal(half(4, 4), 10);
  assert.equal(half(5, 5), 0);
  assert.equal(half(3, 5), 10);
  // As good as none where nothing is known.
  assert.equal(profiledCompWait(4, () => 0)(2, 3), Infinity);
});

Deno.test("dvabatch() stretches for as long as its profile says by default, and as an option", () => {
  const sizes = (arrivalNs: number, options: DvaBatchOptions) =>
    simulateStatic(
      dvabatch({ profile: halfFull, ...options }),
      [four],
      [{ arrivalNs: 0 }, { arrivalNs }],
      { workers: 4, cost: { latencyNs: halfFull } },
    ).tasks.map(({ requests }) => requests.length);
  const most = (arrivalNs: number, options: DvaBatchOptions = {}) =>
    Math.max(...sizes(arrivalNs, options));
  assert.equal(most(10), 2);
  assert.equal(most(11), 1);
  assert.equal(most(11, { compWaitNs: "profile" }), 1);
  assert.equal(most(11, { compWaitNs: 11 }), 2);
  assert.equal(most(11, { profile: undefined }), 2);
  assert.throws(
    () => dvabatch({ compWaitNs: "measure" as never }),
    /"compWaitNs" of policy "dvabatch" is .*, got "measure"/,
  );
});

Deno.test("dvabatch() does not stretch a batch once a split is foreseen, nor its children", () => {
  const requests = [0, 0, 2.5].map((arrivalNs) => ({ arrivalNs }));
  const sizes = (splitSize: number, splitStage: number) => {
    const schedule = dvaSchedule("III", {
      batchSizeMax: 8,
      windowNs: 0,
      compWaitNs: () => 100,
      splitTolerance: 0,
      lengthRatio: 2,
      remainingNs: () => 0,
    });
    const split = (size: number, stage: number) =>
      size === splitSize && stage === splitStage ? [1, size - 1] : [size];
    return simulateStatic(
      dvabatch({ schedule: () => ({ ...schedule, split }) }),
      [four],
      requests,
      { workers: 4 },
    ).tasks.filter(({ requests }) => requests.includes(3)).map((
      { cell, requests },
    ) => `${cell}:${requests}`);
  };
  assert.deepEqual(sizes(9, 0), ["A:3", "B:3", "C:3", "D:1,2,3"]);
  assert.deepEqual(sizes(2, 2), ["A:3", "B:3", "C:3", "D:3"]);
  assert.deepEqual(sizes(2, 0), ["A:3", "B:3", "C:3", "D:3"]);
});

Deno.test("Policy II halves while T_remain(b) >= 2 T_remain(b / 2), odd batches too", () => {
  const schedule = (remainingNs: (stage: number, size: number) => number) =>
    dvaSchedule("II", {
      batchSizeMax: 64,
      windowNs: 0,
      compWaitNs: () => 0,
      splitTolerance: 0,
      lengthRatio: 2,
      remainingNs,
    });
  // Fig. 13: full from 32 rows on.
  const full = schedule((_, size) => Math.max(32, size));
  assert.deepEqual(full.split(64, 0), [32, 32]);
  assert.deepEqual(full.split(63, 0), [63]);
  const linear = schedule((_, size) => size);
  assert.deepEqual(linear.split(5, 0), [1, 1, 1, 1, 1]);
  assert.deepEqual(schedule(() => 0).split(8, 0), [8]);
});

Deno.test("Policy II with a tolerance halves when that costs little more", () => {
  const split = (splitTolerance: number) =>
    dvaSchedule("II", {
      batchSizeMax: 64,
      windowNs: 0,
      compWaitNs: () => 0,
      splitTolerance,
      lengthRatio: 2,
      // Halves of 8 take 4 % more than 8 together, halves of 4 take 8 % more than 4 together.
      remainingNs: (_, size) => size === 8 ? 96 : size === 4 ? 50 : 27,
    }).split(8, 0);
  assert.deepEqual(split(0), [8]);
  assert.deepEqual(split(0.05), [4, 4]);
  assert.throws(() => dvabatch({ splitTolerance: 1 }), /splitTolerance.*got 1/);
});

Deno.test("models are sliced into stages of equal time, or where the preferred batch size changes", () => {
  const model = staticChain({ cells: letters(6) });
  const names = (stages: readonly (readonly { name: string }[])[]) =>
    stages.map((cells) => cells.map(({ name }) => name).join(""));
  assert.deepEqual(names(timeEven(model, 3, () => 0, 64)), ["AB", "CD", "EF"]);
  assert.deepEqual(names(timeEven(model, 9, () => 1, 64)), letters(6));
  const heavyA = ({ name }: { name: string }) => name === "A" ? 5 : 1;
  assert.deepEqual(names(timeEven(model, 2, heavyA, 64)), ["A", "BCDEF"]);
  const profile = ({ name }: { name: string }, rows: number) =>
    name < "C" ? Math.max(8, rows) : rows;
  const [a] = model.cells;
  assert.equal(preferredBatchSize([a], profile), 8);
  assert.deepEqual(names(atPreferredSizes(model, profile)), ["AB", "CDEF"]);
});

Deno.test("Policy I keeps at most bs_max queries in flight", () => {
  const model = staticChain({ cells: ["A*", "B"] });
  const requests = Array.from({ length: 30 }, (_, i) => ({
    arrivalNs: i >> 2,
    steps: 1 + i % 7,
  }));
  const batchSizeMax = 6;
  const inFlight = new Set<number>();
  let most = 0;
  simulateStatic(
    dvabatch({ policy: "I", stages: 2, windowNs: 0, batchSizeMax }),
    [model],
    requests,
    {
      workers: 2,
      observer: {
        decided: (_at, { notes = [] }) => {
          for (const { requests } of notes) {
            for (const id of requests) inFlight.add(id);
          }
          most = Math.max(most, inFlight.size);
        },
        request: (_request, { id }) => void inFlight.delete(id),
      },
    },
  );
  assert.equal(most, batchSizeMax);
});

Deno.test("Policy I waits for as long as the first stage takes at bs_max", () => {
  const profile = ({ name }: { name: string }, rows: number) =>
    name === "A" ? 10 + rows : 100;
  const { tasks } = simulateStatic(
    dvabatch({ policy: "I", stages: 2, profile, batchSizeMax: 8 }),
    [staticChain({ cells: letters(2) })],
    [{ arrivalNs: 3 }],
  );
  assert.equal(tasks[0].startNs, 3 + 18);
});

Deno.test("dvabatch()'s window ends when as many queries wait as a batch takes", () => {
  for (const policy of ["none", "I", "II", "III", "II+III"] as const) {
    const starts = (count: number) =>
      simulateStatic(
        dvabatch({ policy, windowNs: 100, batchSizeMax: 3 }),
        [four],
        Array.from({ length: count }, () => ({ arrivalNs: 5 })),
      ).tasks[0].startNs;
    assert.equal(starts(2), 105, policy);
    assert.equal(starts(3), 5, policy);
  }
});

Deno.test("Policy I batches queries of similar length and pads them to the longest", () => {
  const model = staticChain({ cells: ["A*"] });
  const lengths = [3, 9, 4, 16, 3];
  const { tasks } = simulateStatic(
    dvabatch({ policy: "I", stages: 1, windowNs: 0 }),
    [model],
    lengths.map((steps) => ({ arrivalNs: 0, steps })),
  );
  const batches = new Set(tasks.map(({ requests }) => requests.join()));
  assert.deepEqual(tasks.length, 4 + 16);
  assert(batches.has("1,3,5") && batches.has("2,4"));
});
