/** Cellular batching, section 4.3, Algorithm 1: a golden timeline for each of its lines. */
import assert from "node:assert/strict";
import { TableCost } from "../../src/cost/table_cost.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import {
  cellular,
  type CellularOptions,
} from "../../src/policy/cellular_batching/cellular.ts";
import { staticChain } from "./static_chain.ts";
import { told, type ToldRequest } from "./told.ts";

/** B follows A, and goes before it. */
const AB = staticChain({ cells: ["A", "B"], priorities: { B: 1 } });
/** B follows A, which goes before it. */
const AB_FIRST = staticChain({ cells: ["A", "B"], priorities: { A: 1 } });
/** As many steps of A as the request says, then B, which goes before it. */
const STEPS_B = staticChain({ cells: ["A*", "B"], priorities: { B: 1 } });
const STEPS = staticChain({ cells: ["A*"] });

/** Requests that arrive at these times. */
const at = (...timesNs: number[]) =>
  timesNs.map((arrivalNs) => ({ arrivalNs }));

/** A request of so many steps. */
const steps = (arrivalNs: number, steps: number) => ({
  arrivalNs,
  input: { steps },
});

Deno.test("Algorithm 1, line 5: a cell whose ready nodes fill a batch goes before a cell of higher priority", () => {
  assert.deepEqual(
    told({
      policy: cellular({ batchSizeMax: 2, maxTasksToSubmit: 1 }),
      models: [AB],
      requests: at(0, 1, 1),
    }),
    ["0..1 w0 A:1", "1..2 w0 A:2,3", "2..3 w0 B:1,2", "3..4 w0 B:3"],
  );
});

Deno.test("Algorithm 1, line 7: a cell of which no task runs goes before a cell of higher priority", () => {
  assert.deepEqual(
    told({
      policy: cellular({
        batchSizeMax: { A: 8, B: 2 },
        maxTasksToSubmit: 1,
      }),
      models: [AB_FIRST],
      requests: at(0, 0, 0, 10, 12),
      workers: 2,
      cost: new TableCost({ A: [[1, 10], [8, 10]], B: [[1, 4], [8, 4]] }),
    }),
    [
      "0..10 w0 A:1,2,3",
      // Line 5: three B are more than a batch.
      "10..14 w0 B:1,2",
      // Line 7: B runs.
      "10..20 w1 A:4",
      // Line 7: A runs, although 5 waits for it.
      "14..18 w0 B:3",
      // Line 9: both of A's tasks may run at once.
      "18..28 w0 A:5",
      "20..24 w1 B:4",
      "28..32 w0 B:5",
    ],
  );
});

Deno.test("Algorithm 1, line 10: of cells that are equal otherwise the highest priority goes first", () => {
  const run = (model: typeof AB) =>
    told({
      policy: cellular({ batchSizeMax: 8, maxTasksToSubmit: 1 }),
      models: [model],
      requests: at(0, 1),
    });
  assert.deepEqual(run(AB), [
    "0..1 w0 A:1",
    "1..2 w0 B:1",
    "2..3 w0 A:2",
    "3..4 w0 B:2",
  ]);
  assert.deepEqual(run(AB_FIRST), [
    "0..1 w0 A:1",
    "1..2 w0 A:2",
    "2..3 w0 B:1,2",
  ]);
});

Deno.test("section 4.3: decoder cells go before encoder cells", () => {
  assert.deepEqual(
    told({
      policy: cellular({ batchSizeMax: 8, maxTasksToSubmit: 1 }),
      models: [seq2seq({ hidden: 1, sourceVocabulary: 3 })],
      requests: [
        { arrivalNs: 0, input: { tokens: [0], maxSteps: 2 }, stepsFixed: 2 },
        { arrivalNs: 1, input: { tokens: [0, 0], maxSteps: 1 }, stepsFixed: 1 },
      ],
    }),
    [
      "0..1 w0 encoder:1",
      "1..2 w0 decoder:1",
      "2..3 w0 decoder:1",
      "3..4 w0 encoder:2",
      "4..5 w0 encoder:2",
      "5..6 w0 decoder:2",
    ],
  );
});

Deno.test("section 4.3: internal cells go before leaf cells, when all of a tree's leaves are done", () => {
  assert.deepEqual(
    told({
      policy: cellular({ batchSizeMax: { tree_leaf: 2, tree_node: 8 } }),
      models: [treeLstm({ hidden: 1, vocabulary: 1 })],
      requests: [
        { arrivalNs: 0, input: { tree: [[0, 0], 0] } },
        { arrivalNs: 1, input: { tree: [0, 0] } },
      ],
      workers: 2,
    }),
    [
      // The node over the first two leaves could follow them on this worker; its subgraph waits for the third.
      "0..1 w0 tree_leaf:1x2",
      "1..2 w0 tree_leaf:1",
      "1..2 w1 tree_leaf:2x2",
      "2..3 w0 tree_node:1,2",
      "3..4 w0 tree_node:1",
    ],
  );
});

Deno.test("Algorithm 1, line 14: a worker gets at most MaxTasksToSubmit tasks at once", () => {
  assert.deepEqual(
    told({
      policy: cellular({ batchSizeMax: 8, maxTasksToSubmit: 2 }),
      models: [STEPS],
      requests: [steps(0, 5), steps(1, 2)],
      cost: new TableCost({ A: [[1, 2], [8, 2]] }),
    }),
    [
      "0..2 w0 A:1",
      "2..4 w0 A:1",
      "4..6 w0 A:1,2",
      "6..8 w0 A:1,2",
      "8..10 w0 A:1",
    ],
  );
});

Deno.test("Algorithm 1, line 14: five tasks by default", () => {
  const tasks = told({
    policy: cellular({ batchSizeMax: 8 }),
    models: [STEPS],
    requests: [steps(0, 9), steps(1, 1)],
    cost: new TableCost({ A: [[1, 2], [8, 2]] }),
  });
  assert.equal(tasks[4], "8..10 w0 A:1");
  assert.equal(tasks[5], "10..12 w0 A:1,2");
});

Deno.test("Algorithm 1, line 16: after a first task, others need Bsizes.Min rows", () => {
  const run = (batchSizeMin: number) =>
    told({
      policy: cellular({ batchSizeMax: 8, batchSizeMin }),
      models: [STEPS],
      requests: [steps(0, 1), steps(0, 3), steps(3, 1)],
      cost: new TableCost({ A: [[1, 2], [8, 2]] }),
    });
  assert.deepEqual(run(1), [
    "0..2 w0 A:1,2",
    "2..4 w0 A:2",
    "4..6 w0 A:2",
    "6..8 w0 A:3",
  ]);
  assert.deepEqual(run(2), [
    "0..2 w0 A:1,2",
    // One row is enough for the first task of a burst, not for a second.
    "2..4 w0 A:2",
    "4..6 w0 A:2,3",
  ]);
});

Deno.test("Algorithm 1, lines 20-21: a subgraph stays with its worker while tasks of it are under way", () => {
  assert.deepEqual(
    told({
      policy: cellular({ batchSizeMax: 8, maxTasksToSubmit: 2 }),
      models: [STEPS],
      requests: [steps(0, 4), steps(1, 1)],
      workers: 2,
    }),
    [
      "0..1 w0 A:1",
      // Its third step has to wait: the second is queued on worker 0.
      "1..2 w0 A:1",
      "1..2 w1 A:2",
      "2..3 w0 A:1",
      "3..4 w0 A:1",
    ],
  );
});

Deno.test("section 4.3: a subgraph without tasks under way may go to another worker", () => {
  assert.deepEqual(
    told({
      policy: cellular({ batchSizeMax: 8, maxTasksToSubmit: 1 }),
      models: [STEPS_B],
      requests: [steps(0, 1), steps(0, 3)],
      workers: 2,
    }),
    [
      "0..1 w0 A:1,2",
      "1..2 w0 B:1",
      // Request 2 has been on worker 0.
      "1..2 w1 A:2",
      "2..3 w0 A:2",
      "3..4 w0 B:2",
    ],
  );
});

Deno.test("Algorithm 1, line 26: the oldest subgraphs go first and keep their place", () => {
  assert.deepEqual(
    told({
      policy: cellular({ batchSizeMax: 2, maxTasksToSubmit: 1 }),
      models: [STEPS],
      requests: [steps(0, 2), steps(0, 1), steps(0, 2), steps(0, 1)],
    }),
    ["0..1 w0 A:1,2", "1..2 w0 A:1,3", "2..3 w0 A:3,4"],
  );
});

Deno.test("of several models the one that was not served for longest goes first", () => {
  const models = ["one", "two"].map((name) =>
    staticChain({ name, cells: ["A"] })
  );
  const [one, two] = models;
  assert.deepEqual(
    told({
      policy: cellular({ batchSizeMax: 1, maxTasksToSubmit: 1 }),
      models,
      requests: [one, one, two, two].map((model) => ({ arrivalNs: 0, model })),
    }),
    ["0..1 w0 A:1", "1..2 w0 A:3", "2..3 w0 A:2", "3..4 w0 A:4"],
  );
});

Deno.test("Algorithm 1, line 5: full batches of one model keep others out, unless one row of theirs is a batch", () => {
  const long = staticChain({
    name: "long",
    cells: ["A*"],
    priorities: { A: 1 },
  });
  const small = staticChain({ name: "small", cells: ["B"] });
  const input = { steps: 3 };
  const requests = [
    { arrivalNs: 0, model: long, input },
    { arrivalNs: 0, model: long, input },
    { arrivalNs: 0, model: small },
  ];
  const models = [long, small];
  const tasks = (B: number) =>
    told({
      policy: cellular({ batchSizeMax: { A: 2, B }, maxTasksToSubmit: 1 }),
      models,
      requests,
    });
  const batches = (from: number, to: number) =>
    Array.from(
      { length: to - from },
      (_, i) => `${from + i}..${from + i + 1} w0 A:1,2`,
    );
  assert.deepEqual(tasks(2), [...batches(0, 3), "3..4 w0 B:3"]);
  assert.deepEqual(tasks(1), [
    ...batches(0, 1),
    "1..2 w0 B:3",
    ...batches(2, 4),
  ]);
});

Deno.test("nonRecurrent serialize: with a cell that cannot follow itself, newcomers wait for the running batch", () => {
  const run = (nonRecurrent: "batch" | "serialize") =>
    told({
      policy: cellular({ nonRecurrent, maxTasksToSubmit: 1 }),
      models: [STEPS_B],
      requests: [steps(0, 3), steps(1, 1), steps(1, 1)],
    });
  assert.deepEqual(run("batch").slice(0, 2), [
    "0..1 w0 A:1",
    "1..2 w0 A:1,2,3",
  ]);
  assert.deepEqual(run("serialize"), [
    "0..1 w0 A:1",
    "1..2 w0 A:1",
    "2..3 w0 A:1",
    "3..4 w0 B:1",
    "4..5 w0 A:2,3",
    "5..6 w0 B:2,3",
  ]);
});

/** Numbers of requests, from..to as one. */
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i).join();

/** One cell that does not follow itself, ten units a batch. */
const A = staticChain({ cells: ["A"] });
const tenUnits = new TableCost({ A: [[1, 10], [64, 10]] });

Deno.test("tasks ahead: a worker is given half of the rows, and the next ones while it computes", () => {
  const arrivals = [
    ...Array<number>(40).fill(0),
    ...Array<number>(11).fill(3),
    ...Array<number>(5).fill(12),
  ];
  assert.deepEqual(
    told({
      policy: cellular({ tasksAhead: 1 }),
      models: [A],
      requests: at(...arrivals),
      cost: tenUnits,
    }),
    [
      `0..10 w0 A:${numbers(1, 20)}`,
      `10..20 w0 A:${numbers(21, 40)}`,
      // Given at 10, so that those of 12 do not join them.
      `20..30 w0 A:${numbers(41, 51)}`,
      `30..40 w0 A:${numbers(52, 56)}`,
    ],
  );
});

Deno.test("tasks ahead: idle workers are served first", () => {
  assert.deepEqual(
    told({
      policy: cellular({ tasksAhead: 1 }),
      models: [A],
      requests: at(
        0,
        ...Array<number>(8).fill(1),
        ...Array<number>(16).fill(2),
      ),
      workers: 2,
      cost: tenUnits,
    }),
    [
      "0..10 w0 A:1",
      `1..11 w1 A:${numbers(2, 9)}`,
      // Half of them and of what worker 0 has; the rest is too little to be given ahead.
      `10..20 w0 A:${numbers(10, 18)}`,
      `11..21 w1 A:${numbers(19, 25)}`,
    ],
  );
});

Deno.test("tasks ahead: rows of tasks that are done do not count", () => {
  assert.deepEqual(
    told({
      policy: cellular({ tasksAhead: 1 }),
      models: [A],
      requests: at(
        ...Array<number>(40).fill(0),
        ...Array<number>(40).fill(100),
      ),
      cost: tenUnits,
    }),
    [
      `0..10 w0 A:${numbers(1, 20)}`,
      `10..20 w0 A:${numbers(21, 40)}`,
      `100..110 w0 A:${numbers(41, 60)}`,
      `110..120 w0 A:${numbers(61, 80)}`,
    ],
  );
});

Deno.test("tasks ahead: a second task has rows enough, or waits until the worker is idle", () => {
  assert.deepEqual(
    told({
      policy: cellular({ tasksAhead: 1, batchSizeMax: 12 }),
      models: [A],
      requests: at(
        ...Array<number>(26).fill(0),
        ...Array<number>(4).fill(3),
      ),
      cost: tenUnits,
    }),
    [
      `0..10 w0 A:${numbers(1, 12)}`,
      `10..20 w0 A:${numbers(13, 24)}`,
      `20..30 w0 A:${numbers(25, 30)}`,
    ],
  );
});

Deno.test("tasks ahead: an idle worker is given all of the rows, where half of them were too few for a task ahead", () => {
  const run = (rows: number) =>
    told({
      policy: cellular({ tasksAhead: 1 }),
      models: [A],
      requests: at(...Array<number>(rows).fill(0)),
      cost: tenUnits,
    });
  assert.deepEqual(run(15), [`0..10 w0 A:${numbers(1, 15)}`]);
  assert.deepEqual(run(16), [
    `0..10 w0 A:${numbers(1, 8)}`,
    `10..20 w0 A:${numbers(9, 16)}`,
  ]);
});

Deno.test("tasks ahead: a worker that has one is given 8 rows, though they are more than half", () => {
  assert.deepEqual(
    told({
      policy: cellular({ tasksAhead: 1 }),
      models: [A],
      requests: at(0, ...Array<number>(9).fill(1)),
      cost: tenUnits,
    }),
    [
      "0..10 w0 A:1",
      `10..20 w0 A:${numbers(2, 9)}`,
      "20..30 w0 A:10",
    ],
  );
});

Deno.test("tasks ahead: cells that follow themselves fill their batches, and several steps are submitted at once", () => {
  const run = (requests: readonly ToldRequest[]) =>
    told({
      policy: cellular({ tasksAhead: 1 }),
      models: [STEPS],
      requests,
      cost: tenUnits,
    });
  assert.deepEqual(run(Array<number>(40).fill(0).map((ns) => steps(ns, 1))), [
    `0..10 w0 A:${numbers(1, 40)}`,
  ]);
  assert.deepEqual(run([steps(0, 3), steps(0, 3), steps(5, 1)]), [
    "0..10 w0 A:1,2",
    "10..20 w0 A:1,2",
    "20..30 w0 A:1,2",
    "30..40 w0 A:3",
  ]);
});

Deno.test("tasks ahead: one where the engine hears of ends later, none elsewhere", () => {
  const run = (options: CellularOptions, isRemote = false) => {
    const policy = cellular(options);
    return told({
      policy: {
        ...policy,
        schedule: (view) => policy.schedule({ ...view, isRemote }),
      },
      models: [A],
      requests: at(...Array<number>(40).fill(0)),
      cost: tenUnits,
    });
  };
  assert.deepEqual(run({}), [`0..10 w0 A:${numbers(1, 40)}`]);
  assert.deepEqual(run({ tasksAhead: 0 }, true), run({}));
  assert.deepEqual(run({}, true), run({ tasksAhead: 1 }));
  assert.notDeepEqual(run({}, true), run({}));
});
