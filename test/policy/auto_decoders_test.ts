/** Our own policy on decoders: how many steps it expects of them, and who goes together although that is a guess. */
import assert from "node:assert/strict";
import type { CostModel } from "../../src/cost/cost_model.ts";
import type { Cell } from "../../src/graph/cell.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { constantCost } from "../../src/cost/table_cost.ts";
import { simulatedEngine } from "../../src/engine/virtual/simulated_engine.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import { stepsTaken } from "../../src/policy/common/exec_time.ts";
import { auto } from "../../src/policy/auto/auto.ts";
import { staticChain } from "./static_chain.ts";
import { told, type ToldRequest } from "./told.ts";

const DECODER = seq2seq({ hidden: 1, sourceVocabulary: 3 });
const STEPS = staticChain({ cells: ["S*"] });

const pair = (arrivalNs: number, tokens: number, steps: number) => ({
  arrivalNs,
  input: { tokens: new Array<number>(tokens).fill(0), maxSteps: 64 },
  stepsFixed: steps,
});
const profiled = (latencyNs: (cell: Cell, rows: number) => number) => {
  const cost: CostModel = { latencyNs };
  return { cost, profile: latencyNs };
};

Deno.test("a decoder is expected to take as many steps as those that brought as much", () => {
  const { cost, profile } = profiled(({ phase }, rows) =>
    rows * (phase === "decoder" ? 10 : 1)
  );
  const before: ToldRequest[] = [];
  for (let i = 0; i < 20; i++) {
    const tokens = i % 4 === 3 ? 40 : 2;
    before.push(pair(1000 * i, tokens, tokens));
  }
  const tasks = told({
    policy: auto({ profile, slaNs: 400 }),
    models: [DECODER],
    // The first is late even alone, 40 + 400, though by the mean of 11.5 steps both are in time; the second is not kept.
    requests: [...before, pair(20_000, 40, 40), pair(20_001, 2, 2)],
    cost,
  });
  const last = tasks.findLast((task) => task.endsWith(":22"))!;
  const [, endNs] = /\.\.(\d+)/.exec(last)!;
  assert(Number(endNs) <= 20_030, last);
});

Deno.test("a decoder that is lost rides along where that takes no longer, and does not wait for who came later", () => {
  const { cost, profile } = profiled(() => 10);
  const before = Array.from({ length: 400 }, (_, i) => pair(1000 * i, 1, 4));
  const tasks = told({
    policy: auto({ profile, slaNs: 90 }),
    models: [DECODER],
    // The first takes twice as long as expected, and is late before the second is done.
    requests: [...before, pair(400_000, 1, 12), pair(400_095, 1, 4)],
    cost,
  });
  assert.deepEqual(tasks.slice(-5), [
    "400100..400110 w0 encoder:402",
    "400110..400120 w0 decoder:401,402",
    "400120..400130 w0 decoder:401,402",
    "400130..400140 w0 decoder:401,402",
    "400140..400150 w0 decoder:402",
  ]);
});

/** What `stepsTaken` says of each request when it has ended. */
function taken(
  arrivals: readonly (ToldRequest & { cancelAtNs?: number })[],
  isRemote: boolean,
): number[] {
  const policy = auto();
  const counts: number[] = [];
  const { engine, timeline } = simulatedEngine({
    models: [DECODER],
    policy: {
      ...policy,
      ended(request) {
        counts[request.id] = stepsTaken(request);
        policy.ended!(request);
      },
    },
    ...{ cost: constantCost(100), isRemote, observer: {} },
  });
  const model = DECODER;
  driveVirtual(
    engine,
    timeline,
    arrivals.map(({ input, ...rest }) => ({ model, input, ...rest })),
  );
  return counts;
}

Deno.test("steps that were appended behind a decoder's end are none that it took, nor is one given up", () => {
  const [tokens, far] = [[0, 1], 10_000];
  const limited = { input: { tokens, maxSteps: 4 }, stepsFixed: 9 };
  for (const isRemote of [false, true]) {
    assert.deepEqual(
      taken([
        pair(0, 2, 1),
        pair(far, 2, 3),
        { ...limited, arrivalNs: 2 * far },
        { ...pair(3 * far, 2, 9), cancelAtNs: 3 * far + 450 },
        pair(4 * far, 2, 6),
      ], isRemote),
      [1, 3, 4, 0, 6],
    );
  }
});

Deno.test("an answer that is in time by the steps that others took is not taken for lost", () => {
  const { cost, profile } = profiled(({ phase }) =>
    phase === "decoder" ? 10 : 1
  );
  const whys: string[] = [];
  const { engine, timeline } = simulatedEngine({
    models: [DECODER],
    // Two of input and one step take 12; of one that takes two more nobody would be in time.
    policy: auto({ profile, slaNs: 25 }),
    cost,
    observer: { decided: (_atNs, { why }) => whys.push(why) },
  });
  driveVirtual(
    engine,
    timeline,
    Array.from({ length: 40 }, (_, i) => ({
      model: DECODER,
      ...pair(1000 * i, 2, 1),
    })),
  );
  assert.match(whys[0], /leave the least waiting/);
  assert.match(whys.at(-1)!, /in time/);
});

/** What runs at a time, ids by cell, where a task takes 100 whatever its rows. */
const flat = (requests: readonly ToldRequest[]) => {
  const { cost, profile } = profiled(() => 100);
  const policy = auto({ profile, slaNs: 1e6 });
  return told({ policy, models: [DECODER], requests, cost })
    .map((task) => task.split(" ").at(-1)!);
};

Deno.test("on a flat curve who has its input read waits until the others have", () => {
  assert.deepEqual(flat([pair(0, 2, 2), pair(0, 5, 2)]), [
    ...["encoder:1,2", "encoder:2", "encoder:2", "encoder:2", "encoder:1,2"],
    ...["decoder:1,2", "decoder:1,2"],
  ]);
});

Deno.test("on a flat curve those of one part go, where most get through it for its time", () => {
  // As far as is known a decoder takes 32 steps; 50 are longer than that, 3 are not.
  const two = [pair(0, 1, 4), pair(0, 1, 4)];
  assert.deepEqual(flat([...two, pair(150, 50, 1)]).slice(0, 6), [
    ...["encoder:1,2", "decoder:1,2", "decoder:1,2", "decoder:1,2"],
    ...["decoder:1,2", "encoder:3"],
  ]);
  assert.deepEqual(flat([...two, pair(150, 3, 1)]).slice(0, 6), [
    ...["encoder:1,2", "decoder:1,2", "encoder:3", "encoder:3", "encoder:3"],
    "decoder:1,2,3",
  ]);
});

Deno.test("on a flat curve enough of one part for a batch go, the first by what they have left", () => {
  const { cost, profile } = profiled(() => 100);
  // Two write, of whom 32 steps are expected; three come, and would sooner be through with what they have to read.
  const begun = (tokens: number) =>
    told({
      policy: auto({ profile, batchSizeMax: 2 }),
      models: [DECODER],
      requests: [
        ...[pair(0, 1, 4), pair(0, 1, 4)],
        ...[pair(150, tokens, 4), pair(150, tokens, 4), pair(150, tokens, 4)],
      ],
      cost,
    }).map((task) => task.split(" ").at(-1)!).slice(1, 7);
  assert.deepEqual(begun(2), [
    ...["decoder:1,2", "decoder:1,2", "decoder:1,2", "decoder:1,2"],
    ...["encoder:3,4", "encoder:3,4"],
  ]);
});

Deno.test("where batches do not pay the parts of the way go side by side", () => {
  const { cost, profile } = profiled((_cell, rows) => 100 * rows ** 0.9);
  const policy = auto({ profile, slaNs: 1e6 });
  const requests = [pair(0, 2, 2), pair(0, 5, 2), pair(0, 5, 2)];
  const tasks = told({ policy, models: [DECODER], requests, cost });
  const decoded = tasks.findIndex((task) => task.endsWith("decoder:1"));
  const read = tasks.findLastIndex((task) => task.includes("encoder:2"));
  assert(decoded >= 0 && decoded < read, tasks.join("\n"));
});

Deno.test("a model's turn is a matter of all its requests, whatever part of their way they are in", () => {
  const { cost, profile } = profiled(() => 100);
  const requests = [
    ...[pair(0, 1, 40), pair(0, 1, 40), pair(0, 1, 40), pair(0, 1, 40)],
    ...[pair(150, 20, 3), pair(150, 20, 3), pair(150, 20, 3)],
    ...[0, 0].map(() => ({
      ...{ arrivalNs: 150, model: STEPS, input: { steps: 13 } },
    })),
  ];
  const tasks = told({
    policy: auto({ profile }),
    models: [DECODER, STEPS],
    requests,
    cost,
  });
  // Seven in 4000 on average, two in 1300; the three by themselves would be done in 5200.
  assert.equal(tasks[2], "200..300 w0 encoder:5,6,7");
});

/** How many tasks of the first request were run: who misses `finishNs` is cut off. */
const ofFirst = (tasks: readonly string[]) =>
  tasks.filter((task) => / [a-z]+:1(,|$)/.test(task)).length;

Deno.test("the part of the most urgent goes when it is time, though others would get through faster", () => {
  const { cost, profile } = profiled(() => 100);
  const urgent = { ...pair(0, 20, 32), finishNs: 8000 };
  const others = [0, 0, 0, 0].map(() => ({
    ...{ ...pair(0, 1, 32), finishNs: 1e6 },
  }));
  const tasks = told({
    policy: auto({ profile }),
    models: [DECODER],
    requests: [urgent, ...others],
    cost,
  });
  assert.equal(ofFirst(tasks), 20 + 32, tasks.join("\n"));
});

Deno.test("more requests than go into a batch make no curve flat", () => {
  const { cost, profile } = profiled((_cell, rows) => 100 * rows);
  const urgent = { ...pair(0, 20, 32), finishNs: 20_000 };
  const others = [0, 0, 0, 0].map(() => ({
    ...{ ...pair(0, 1, 20), finishNs: 1e6 },
  }));
  const tasks = told({
    policy: auto({ profile, batchSizeMax: 1 }),
    models: [DECODER],
    requests: [urgent, ...others],
    cost,
  });
  // One by one, the most urgent first, though most are in another part.
  assert.equal(tasks[0], "0..100 w0 encoder:1");
});

Deno.test("a decoder that came before costs were known, and goes on for long, does not hold back newcomers", () => {
  const { cost } = profiled(() => 100);
  const newcomers = Array.from(
    { length: 10 },
    (_, i) => pair(1000 + 50 * i, 6, 2),
  );
  const tasks = told({
    policy: auto(),
    models: [DECODER],
    requests: [pair(0, 2, 60), ...newcomers],
    cost,
  });
  const last = tasks.findLast((task) => / [a-z]+:.*11/.test(task))!;
  const [, endNs] = /\.\.(\d+)/.exec(last)!;
  assert(Number(endNs) < 5000, last);
});

Deno.test("who reads a long input is not passed for ever by those whose input is short", () => {
  const { cost, profile } = profiled(() => 100);
  const short = Array.from({ length: 900 }, (_, i) => pair(290 * i, 1, 2));
  const [before, after] = [short.slice(0, 100), short.slice(100)];
  const tasks = told({
    policy: auto({ profile }),
    models: [DECODER],
    requests: [...before, pair(28_900, 30, 2), ...after],
    cost,
  });
  const begins = tasks.find((task) => /encoder:(\d+,)*101(,|$)/.test(task))!;
  // A fiftieth of what it waits is as much as the 30 steps that it has to read.
  assert(Number.parseInt(begins) < 28_900 + 50 * 3000 + 1000, begins);
});

Deno.test("on a steep curve two who are in the same part go, and not one of each; beside other models whoever is next", () => {
  const { cost, profile } = profiled((_cell, rows) =>
    rows > 1 ? 70 * rows : 100
  );
  const begun = (others: readonly ToldRequest[]) =>
    told({
      policy: auto({ profile }),
      models: [DECODER, STEPS],
      requests: [pair(0, 1, 6), pair(150, 4, 6), pair(150, 4, 6), ...others],
      cost,
    });
  assert.deepEqual(begun([]).slice(0, 5), [
    "0..100 w0 encoder:1",
    "100..200 w0 decoder:1",
    "200..340 w0 encoder:2,3",
    "340..480 w0 encoder:2,3",
    "480..620 w0 encoder:2,3",
  ]);
  const long = { arrivalNs: 150, model: STEPS, input: { steps: 100 } };
  assert.deepEqual(begun([long]).slice(2, 4), [
    "200..300 w0 encoder:2",
    "300..400 w0 decoder:1",
  ]);
});
