/** Today's schedulers beside the papers': what each goes by, on small timelines. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { constantCost, TableCost } from "../../src/cost/table_cost.ts";
import type { CostModel } from "../../src/cost/cost_model.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { merged } from "../../src/policy/baselines/merged.ts";
import { aimd } from "../../src/policy/rivals/aimd.ts";
import { deferred } from "../../src/policy/rivals/deferred.ts";
import { earliestDeadline } from "../../src/policy/rivals/earliest_deadline.ts";
import { iteration } from "../../src/policy/rivals/iteration.ts";
import { lengthSorted } from "../../src/policy/rivals/length_sorted.ts";
import { shortestFirst } from "../../src/policy/rivals/shortest_first.ts";
import { tokenBudget } from "../../src/policy/rivals/token_budget.ts";
import { propertyRuns } from "../property_runs.ts";
import { staticChain } from "./static_chain.ts";
import { runSimulated } from "../engine/harness.ts";
import { told, type ToldRequest } from "./told.ts";

const A = staticChain({ cells: ["A"] });
const B = staticChain({ cells: ["B"] });
const STEPS = staticChain({ cells: ["S*"] });

const one = (arrivalNs: number, model = A) => ({ arrivalNs, model });
const steps = (arrivalNs: number, steps: number) => ({
  arrivalNs,
  model: STEPS,
  input: { steps },
});
/** A batch of rows takes 10 and 2 for every row beyond the first. */
const CURVE = { "*": [[1, 10], [2, 12], [3, 14], [4, 16], [8, 24]] } as const;

function run(
  policy: Policy,
  requests: Parameters<typeof told>[0]["requests"],
  cost: CostModel = new TableCost({
    A: CURVE["*"],
    B: CURVE["*"],
    S: CURVE["*"],
  }),
): string[] {
  return told({ policy, models: [A, B, STEPS], requests, cost });
}

Deno.test("a budget of tokens takes the oldest as long as they fit, unpadded", () => {
  const requests = [steps(0, 2), steps(0, 3), steps(0, 1), steps(0, 9)];
  assert.deepEqual(
    run(tokenBudget({ tokensMax: 5 }), requests, constantCost(1)),
    [
      "0..1 w0 S:1,2",
      "1..2 w0 S:1,2",
      "2..3 w0 S:2",
      "3..4 w0 S:3",
      // Longer than the budget: alone.
      ...Array.from({ length: 9 }, (_, t) => `${4 + t}..${5 + t} w0 S:4`),
    ],
  );
  assert.deepEqual(
    run(tokenBudget({ batchSizeMax: 2 }), [one(0), one(0), one(0)]),
    ["0..12 w0 A:1,2", "12..22 w0 A:3"],
  );
});

Deno.test("length-sorted batches are cut where their padded times are least", () => {
  const profile = { "*": [[1, 10], [2, 11], [4, 13]] } as const;
  const cost = new TableCost({ S: profile["*"] });
  const order = (requests: Parameters<typeof run>[1], options = {}) =>
    run(lengthSorted({ profile, ...options }), requests, cost)
      .map((task) => task.split(":")[1])
      .filter((requests, i, all) => requests !== all[i - 1]);
  // 1 with 3 and 2 with 4: (11 + 9 x 11) beside 9 x 13 for all four.
  const mixed = [steps(0, 1), steps(0, 9), steps(0, 1), steps(0, 9)];
  assert.deepEqual(order(mixed), ["1,3", "2,4"]);
  // Nearly of one length: padding costs less than another batch.
  const alike = [steps(0, 8), steps(0, 9), steps(0, 8), steps(0, 9)];
  assert.deepEqual(order(alike), ["1,2,3,4", "2,4"]);
  assert.deepEqual(order(alike, { batchSizeMax: 2 }), ["1,3", "2,4"]);
  assert.deepEqual(order(alike, { planMax: 1 }), ["1", "2", "3", "4"]);
});

Deno.test("the shortest job goes first, until the long one has aged", () => {
  const requests = [
    steps(0, 1),
    steps(0, 4),
    ...[5, 15, 25, 35, 45, 55].map((ns) => steps(ns, 1)),
  ];
  const place = (aging: number) =>
    run(
      shortestFirst({ batchSizeMax: 1, aging, profile: CURVE }),
      requests,
      constantCost(10),
    ).findIndex((task) => task.endsWith(":2"));
  assert.equal(place(0), 7);
  // 30 more of time are 30 of waiting at full aging: whoever comes at 35 or later is behind it.
  assert.equal(place(1), 4);
  assert.equal(place(Infinity), 1);
  const together = [steps(0, 3), steps(0, 1), steps(0, 2)];
  assert.equal(
    run(shortestFirst({ batchSizeMax: 2, profile: CURVE }), together)[0],
    "0..12 w0 S:2,3",
  );
});

Deno.test("a batch within the objective lets the next be larger, one beyond it makes it smaller", () => {
  const sizes = (options: Parameters<typeof aimd>[0], ns: number) =>
    run(
      aimd(options),
      Array.from({ length: 24 }, () => one(0)),
      new TableCost({
        A: [[1, 10], [100, 10 + 99 * ns]],
      }),
    ).map((task) => task.split(",").length);
  assert.deepEqual(sizes({ slaNs: 1000 }, 0), [1, 2, 3, 4, 5, 6, 3]);
  assert.deepEqual(sizes({ slaNs: 1000, increase: 4 }, 0), [1, 5, 9, 9]);
  assert.deepEqual(sizes({ slaNs: 1000, batchSizeMax: 3 }, 0).slice(0, 5), [
    1,
    2,
    3,
    3,
    3,
  ]);
  // Four rows take 40, five 50.
  assert.deepEqual(
    sizes({ slaNs: 40, backoff: 0.5 }, 10),
    [1, 2, 3, 4, 5, 2, 3, 4],
  );
});

Deno.test("AIMD: a deadline for starting says nothing of what a batch may take, one for finishing does", () => {
  const told = (first: { deadlineNs: number } | { finishNs: number }) =>
    run(
      aimd({ slaNs: 1000 }),
      [{ ...one(0), ...first }, one(20), one(20)],
      constantCost(10),
    ).slice(1);
  assert.deepEqual(told({ deadlineNs: 5 }), ["20..30 w0 A:2,3"]);
  assert.deepEqual(told({ finishNs: 5 }), ["20..30 w0 A:2", "30..40 w0 A:3"]);
});

Deno.test("AIMD: a batch may be as large as its options say", () => {
  const rows = 150_000;
  const batches = run(
    aimd({ slaNs: 1000, increase: rows, batchSizeMax: rows }),
    Array.from({ length: rows + 1 }, () => one(0)),
    constantCost(1),
  ).map((task) => task.split(",").length);
  assert.deepEqual(batches, [1, rows]);
});

Deno.test("AIMD: a window waits for company, a batch that was not full says nothing", () => {
  assert.deepEqual(
    run(
      aimd({ windowNs: 30 }),
      [0, 12, 20, 60, 90, 110, 110, 110, 110].map((ns) => one(ns)),
    ),
    [
      // Full: the size is 1.
      "0..10 w0 A:1",
      "20..32 w0 A:2,3",
      // Of three at most, one and one more until its window is over.
      "90..102 w0 A:4,5",
      // Still three.
      "110..124 w0 A:6,7,8",
      "140..150 w0 A:9",
    ],
  );
});

Deno.test("the earliest deadline goes first, a request's own before the model's", () => {
  const requests = [
    one(0),
    one(1),
    one(2, B),
    { ...one(3), deadlineNs: 60 },
    one(4, B),
  ];
  assert.deepEqual(
    run(
      earliestDeadline({ slaNs: { A: 100, B: 80 }, batchSizeMax: 1 }),
      requests,
    ),
    [
      "0..10 w0 A:1",
      "10..20 w0 A:4",
      "20..30 w0 B:3",
      "30..40 w0 B:5",
      "40..50 w0 A:2",
    ],
  );
});

Deno.test("a deadline for finishing is a deadline, too, where it is nearer than the target", () => {
  const order = (slaNs: number) =>
    run(earliestDeadline({ slaNs, batchSizeMax: 1 }), [
      one(0),
      { ...one(1), finishNs: 900 },
      { ...one(2), finishNs: 70 },
      { ...one(3), finishNs: 60 },
    ]).map((task) => task.split(":")[1]);
  assert.deepEqual(order(Infinity), ["1", "4", "3", "2"]);
  // A time-out far behind the target changes nothing.
  assert.deepEqual(order(100), ["1", "4", "3", "2"]);
  assert.deepEqual(order(10), ["1", "2", "3", "4"]);
});

Deno.test("a deferred batch starts when one more would make it late", () => {
  const policy = () => deferred({ slaNs: 100, profile: CURVE });
  assert.deepEqual(run(policy(), [one(0)]), ["88..98 w0 A:1"]);
  assert.deepEqual(run(policy(), [one(0), one(50)]), ["86..98 w0 A:1,2"]);
  // Whoever comes when the window is open is not waited for any longer.
  assert.deepEqual(run(policy(), [one(0), one(87)]), ["87..99 w0 A:1,2"]);
  assert.deepEqual(
    run(deferred({ slaNs: 100, profile: CURVE, batchSizeMax: 2 }), [
      one(0),
      one(7),
    ]),
    ["7..19 w0 A:1,2"],
  );
});

Deno.test("deferred: the window that closes first goes first, what is lost goes when nothing else can", () => {
  const options = { profile: CURVE, slaNs: { A: 100, B: 40, S: 5 } };
  assert.deepEqual(run(deferred(options), [one(0), one(59, B)]), [
    // B's window is [87, 89], A's [88, 90].
    "87..97 w0 B:2",
    "97..107 w0 A:1",
  ]);
  assert.deepEqual(run(deferred(options), [one(0), one(70, B), steps(80, 1)]), [
    "80..90 w0 S:3",
    "90..100 w0 A:1",
    "100..110 w0 B:2",
  ]);
  // Both windows are open at 187, B's closes at 188.
  const both = { profile: CURVE, slaNs: { A: 199, B: 190, S: 5 } };
  assert.deepEqual(
    run(deferred(both), [one(0), one(8, B), steps(177, 1)]).slice(0, 2),
    ["177..187 w0 S:3", "187..197 w0 B:2"],
  );
  const soon = { ...one(0), deadlineNs: 70 };
  assert.deepEqual(run(deferred(options), [soon]), ["58..68 w0 A:1"]);
});

Deno.test("deferred: who is waited for is not lost by rounded times or late timers", () => {
  const flat = { "*": [[1, 10], [4, 10]] } as const;
  // The window is the instant 90.5.
  assert.deepEqual(
    run(
      deferred({ slaNs: 100.5, profile: flat }),
      [one(0), one(20)],
      constantCost(10),
    ),
    ["91..101 w0 A:1,2"],
  );
  const lateTimers = (policy: Policy): Policy => ({
    ...policy,
    schedule(view) {
      const decision = policy.schedule(view);
      return decision.kind === "wait"
        ? { ...decision, untilNs: decision.untilNs + 5 }
        : decision;
    },
  });
  const stream = Array.from({ length: 9 }, (_, i) => one(70 * i));
  assert.deepEqual(
    run(lateTimers(deferred({ slaNs: 100, profile: CURVE })), stream),
    [
      "91..103 w0 A:1,2",
      "231..243 w0 A:3,4",
      "371..383 w0 A:5,6",
      "511..523 w0 A:7,8",
      "653..663 w0 A:9",
    ],
  );
});

Deno.test("what is said of a launch is so: a full batch, no target, a size that was never within the objective", () => {
  const whys = (policy: Policy, requests: readonly ToldRequest[]) => {
    const said: string[] = [];
    runSimulated({
      policy,
      models: [A],
      cost: new TableCost(CURVE),
      arrivals: requests.map(({ arrivalNs }) => ({
        model: A,
        input: {},
        arrivalNs,
      })),
      observer: { decided: (_atNs, { why }) => said.push(why) },
    });
    return said;
  };
  const three = [one(0), one(0), one(0)];
  const deferring = { profile: CURVE, slaNs: 100, batchSizeMax: 2 };
  assert.deepEqual(whys(deferred(deferring), three), [
    "the batch is full",
    "one more would make it miss its earliest deadline",
  ]);
  assert.deepEqual(whys(deferred({ profile: CURVE }), three), [
    "nobody is waited for without a target",
  ]);
  assert.deepEqual(whys(aimd({ slaNs: 5 }), three.slice(1)), [
    "1 of the 1 that are tried now",
    "1 of the 1 that are tried now",
  ]);
});

Deno.test("of models that are equal the one with the older request goes first", () => {
  // More of A comes all the time than is executed.
  const requests = [
    one(0),
    one(1, B),
    ...Array.from({ length: 20 }, (_, i) => one(2 + i)),
  ];
  for (
    const policy of [
      deferred({ profile: CURVE, batchSizeMax: 1 }),
      deferred({ profile: CURVE, batchSizeMax: 1, slaNs: Infinity }),
      earliestDeadline({ slaNs: Infinity, batchSizeMax: 1 }),
      shortestFirst({ profile: CURVE, batchSizeMax: 1, aging: 0 }),
    ]
  ) assert.equal(run(policy, requests)[1], "10..20 w0 B:2", policy.name);
});

Deno.test("without targets earliest-deadline launches what merged does, deferred what graph does, of several models too", () => {
  const models = [A, B, STEPS];
  const drawn = fc.record({
    gap: fc.nat(15),
    model: fc.constantFrom(...models),
    steps: fc.integer({ min: 1, max: 4 }),
  });
  const property = fc.property(
    fc.array(drawn, { minLength: 1, maxLength: 30 }),
    fc.integer({ min: 1, max: 6 }),
    fc.integer({ min: 1, max: 3 }),
    (requests, batchSizeMax, workers) => {
      let arrivalNs = 0;
      const due = requests.map(({ gap, model, steps }) => ({
        arrivalNs: arrivalNs += gap,
        model,
        input: { steps },
      }));
      const cost = new TableCost(CURVE);
      const timeline = (policy: Policy) =>
        told({ policy, models, workers, cost, requests: due });
      for (
        const [policy, simpler] of [
          [
            earliestDeadline({ slaNs: Infinity, batchSizeMax }),
            merged({ batchSizeMax }),
          ],
          [deferred({ batchSizeMax }), graph({ batchSizeMax })],
        ]
      ) assert.deepEqual(timeline(policy), timeline(simpler));
    },
  );
  fc.assert(property, { numRuns: propertyRuns(50) });
});

Deno.test("without a profile what batches take is found out", () => {
  const two = (arrivalNs: number) => [steps(arrivalNs, 3), steps(arrivalNs, 1)];
  const order = run(
    shortestFirst({ batchSizeMax: 1, aging: 0 }),
    [...two(0), ...two(100)],
  ).map((task) => task.split(":")[1]);
  // Of the first nobody knows who is shorter.
  assert.deepEqual(order, ["1", "1", "1", "2", "4", "3", "3", "3"]);
  const starts = run(deferred({ slaNs: 100 }), [one(0), one(200)]);
  assert.deepEqual(starts, ["100..110 w0 A:1", "290..300 w0 A:2"]);
  const mixed = (arrivalNs: number) =>
    [1, 9, 1, 9].map((count) => steps(arrivalNs, count));
  const cost = new TableCost({ S: [[1, 10], [2, 11], [4, 13]] });
  const cuts = run(lengthSorted({ planMax: 4 }), [
    // Batches of one, two and four.
    ...[0, 100, 100, 200, 200, 200, 200].map((ns) => steps(ns, 1)),
    ...mixed(1000),
  ], cost).map((task) => task.split(":")[1]);
  assert.deepEqual([...new Set(cuts.slice(-10))], ["8,10", "9,11"]);
});

Deno.test("an iteration is one pass over the cells: requests join and leave between", () => {
  const model = staticChain({ cells: ["S*", "T"] });
  const requests = [[0, 3], [1, 1], [1, 2]].map(([arrivalNs, steps]) => ({
    arrivalNs,
    model,
    input: { steps },
  }));
  assert.deepEqual(
    told({
      policy: iteration({ batchSizeMax: 2 }),
      models: [model],
      requests,
      cost: constantCost(10),
    }),
    [
      "0..10 w0 S:1",
      "10..20 w0 S:1,2",
      // The second's last step and what follows it are in one pass.
      "20..30 w0 T:2",
      "30..40 w0 S:1,3",
      "40..50 w0 T:1",
      "50..60 w0 S:3",
      "60..70 w0 T:3",
    ],
  );
});
