import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { msToNs } from "../../src/base/units.ts";
import { tuned } from "../../src/cli/tune.ts";
import { policyOf } from "../../src/cli/serve/served_policy.ts";
import { SERVER_SETTINGS } from "../../src/cli/serve/serve_settings.ts";
import { lstm } from "../../src/models/lstm.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { bert } from "../../src/models/bert.ts";
import { carriedBy, makePlan, type PlanOptions } from "../../src/plan/plan.ts";
import { OutsideProfile, ProfiledCost } from "../../src/plan/profiled_cost.ts";
import {
  arrivalsAt,
  partsOf,
  type RecordedPart,
} from "../../src/plan/recorded_part.ts";
import { RecordedTime } from "../../src/plan/recorded_time.ts";
import {
  type Machine,
  simulatedTrial,
} from "../../src/plan/simulated_trial.ts";
import type { Stretch } from "../../src/plan/stretch.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { ProfileTable } from "../../src/policy/profile.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";
import { inputGenerator } from "../../src/workload/inputs.ts";

const model = lstm({ hidden: 4, vocabulary: 10, weights: shapesOnly() });

/** One request every 1/perS seconds. */
const evenly = (requests: number, perS: number): number[] =>
  Array.from({ length: requests }, (_, i) => i / perS);

function parts(
  seconds: readonly number[],
  requests = 400,
): { made: RecordedPart; heldBack: RecordedPart } {
  const inputs = inputGenerator({
    kind: "tokens",
    vocabulary: 10,
    lengths: { fixed: 10 },
  });
  return partsOf(seconds, requests, inputs, new Prng(1));
}

function machineOf(tablesNs: ProfileTable, workers = 1): Machine {
  return { cost: new ProfiledCost({ tablesNs }), workers, submitNs: () => 0 };
}

function optionsFor(
  table: ProfileTable["*"],
  more: Partial<PlanOptions> = {},
): PlanOptions {
  const profile = { "*": table };
  return {
    ...{ model, machine: machineOf(profile), profile },
    ...parts(evenly(800, 5)),
    target: { sloNs: msToNs(5), share: 0.99 },
    policies: ["serial"],
    precision: 0.02,
    ...more,
  };
}

/** A row takes as long as every other: nothing is gained by batches. */
const STEEP: ProfileTable["*"] = [[1, 100_000], [64, 6_400_000]];
/** Batches take as long as one row. */
const FLAT: ProfileTable["*"] = [[1, 100_000], [64, 100_000]];

const near = (actual: number | undefined, expected: number, share: number) =>
  assert(
    actual !== undefined && Math.abs(actual / expected - 1) <= share,
    `${actual} is not within ${share} of ${expected}`,
  );

Deno.test("serial carries as many requests as fit into a second, to the precision", async () => {
  // Ten steps of 0.1 ms, one request after the other: 1,000 in a second, and none more for long.
  const plan = await makePlan(optionsFor(STEEP));
  near(plan.perS, 1000, 0.03);
  assert.equal(plan.aloneNs, 1e6);
  assert.equal(plan.choice.policy, "serial");
  near(plan.heldBack.perS, 1000, 0.03);
  assert(plan.heldBack.inTime >= 0.99);
});

Deno.test("two workers carry twice as much, and host time between tasks less", async () => {
  const profile = { "*": STEEP };
  const two = await makePlan(
    optionsFor(STEEP, { machine: machineOf(profile, 2) }),
  );
  near(two.perS, 2000, 0.03);
  const cost = new ProfiledCost({ tablesNs: profile, taskNs: [[1, 100_000]] });
  const slow = await makePlan(
    optionsFor(STEEP, { machine: { cost, workers: 1, submitNs: () => 0 } }),
  );
  near(slow.perS, 500, 0.03);
  const turning = { ...machineOf(profile), submitNs: () => 1e6 };
  // The host has a millisecond to do for each of the ten steps.
  near(
    (await makePlan(optionsFor(STEEP, {
      machine: turning,
      target: { sloNs: msToNs(50), share: 0.99 },
    }))).perS,
    100,
    0.1,
  );
});

/** A machine that does the same again and again. */
const recordedAs = (
  speed: readonly number[],
  pauses: Stretch["pauses"] = [],
): Machine => ({
  ...machineOf({ "*": STEEP }),
  recorded: new RecordedTime([{ speed: [speed], pauses }]),
});
const slices = (count: number, speed: (slice: number) => number) =>
  Array.from({ length: count }, (_, slice) => speed(slice));
const within35 = { sloNs: msToNs(35), share: 0.99 };

Deno.test("what the host does for requests that come counts, and tasks that take longer than their median", async () => {
  // Half as fast: half as many requests fit.
  const slow = await makePlan(
    optionsFor(STEEP, {
      machine: recordedAs(slices(100, () => 500)),
      target: within35,
    }),
  );
  near(slow.perS, 500, 0.06);
  // A host that takes 4 ms to take a request in takes in 250 in a second.
  const busy = await makePlan(
    optionsFor(STEEP, {
      machine: { ...machineOf({ "*": STEEP }), requestNs: 4e6 },
      target: within35,
    }),
  );
  near(busy.perS, 250, 0.06);
});

Deno.test("slow tasks that come together cost more than as many that come one by one", async () => {
  // A tenth of the time nothing is done: a millisecond in ten, or 50 in 500.
  const perS = async (isSlow: (slice: number) => boolean) => {
    const speed = slices(1000, (slice) => isSlow(slice) ? 1 : 1000);
    const target = { sloNs: msToNs(15), share: 0.9 };
    return (await makePlan(optionsFor(STEEP, {
      ...{ ...parts(evenly(1600, 5), 800), machine: recordedAs(speed), target },
    }))).perS;
  };
  const apart = await perS((slice) => slice % 10 === 0);
  near(apart, 900, 0.06);
  const together = await perS((slice) => slice % 500 < 50);
  assert(together < 0.85 * apart, `${together} ${apart}`);
});

Deno.test("while the host pauses nothing is decided, and nobody is taken in", async () => {
  // Nothing is queued ahead, so that the worker stands still for the 30 ms in every 100 as well.
  const machine = recordedAs(
    slices(1000, () => 1000),
    Array.from({ length: 10 }, (_, i) => [i * 1e8, i * 1e8 + 3e7] as const),
  );
  const target = { sloNs: msToNs(100), share: 0.99 };
  const parted = parts(evenly(4800, 5), 2400);
  const { perS } = await makePlan(
    optionsFor(STEEP, { ...parted, machine, target }),
  );
  near(perS, 700, 0.04);
  // Whoever comes while it pauses waits for its end.
  near(
    (await makePlan(optionsFor(STEEP, {
      ...{ ...parted, machine, target: { sloNs: msToNs(15), share: 0.8 } },
    }))).heldBack.inTime,
    0.8,
    0.1,
  );
});

Deno.test("the host's time for requests counts once, however many tasks are submitted meanwhile", () => {
  const arrivals = arrivalsAt(parts(evenly(800, 5)).made, model, 5)
    .slice(0, 2).map((one, i) => ({ ...one, arrivalNs: i * 500_000 }));
  const { latenciesNs } = simulatedTrial({
    machine: { ...machineOf({ "*": FLAT }), requestNs: 1e6 },
    policy: cellular({ maxTasksToSubmit: 5, tasksAhead: 0 }),
    ...{ arrivals, target: within35 },
  }, true);
  // The first is in after 1 ms and takes another; the end of its fifth step is heard of when the second is in, at 2 ms.
  assert.deepEqual(latenciesNs, [2.5e6, 2.5e6]);
});

Deno.test("a machine that differs carries a range, one that is always the same a figure", async () => {
  const same = await makePlan(optionsFor(STEEP));
  assert.deepEqual(same.rangePerS, [same.perS, same.perS]);
  // For a third of the time half as fast, and for a third twice: runs of a second or so are in one of them.
  const speed = slices(
    30_000,
    (slice) => [500, 1000, 2000][slice / 10_000 | 0],
  );
  const target = { sloNs: msToNs(15), share: 0.99 };
  const { perS, rangePerS: [low, high] } = await makePlan(optionsFor(STEEP, {
    ...{ ...parts(evenly(1600, 5), 800), machine: recordedAs(speed), target },
  }));
  near(perS, 1000, 0.06);
  near(low, 500, 0.06);
  near(high, 2000, 0.06);
});

Deno.test("where batches cost nothing a policy that makes them is chosen, where they bring nothing the first", async () => {
  const policies = ["serial", "cellular"];
  const flat = await makePlan(
    optionsFor(FLAT, { policies, ...parts(evenly(16_000, 5), 8000) }),
  );
  assert.equal(flat.choice.policy, "cellular");
  // 64 rows in 0.1 ms, ten for each request.
  near(flat.perS, 64_000, 0.1);
  const steep = await makePlan(optionsFor(STEEP, { policies }));
  assert.equal(steep.choice.policy, "serial");
  const of = (policy: string) =>
    steep.contenders.filter((contender) => contender.policy === policy);
  assert(of("serial").some(({ perS }) => perS === steep.perS));
  assert(of("cellular").length > 1);
  assert(of("cellular").every(({ perS }) => perS === undefined));
});

Deno.test("a plan is judged on what it was not made with", async () => {
  // The second half comes three times as fast as the first, at every speed.
  const slow = evenly(400, 10);
  const fast = evenly(400, 30).map((at) => 40 + at);
  const plan = await makePlan(
    optionsFor(STEEP, parts([...slow, ...fast])),
  );
  near(plan.perS / plan.heldBack.perS!, 3, 0.05);
  assert(plan.heldBack.inTime < 0.5, `${plan.heldBack.inTime}`);
});

Deno.test("requests that are over within a few targets do not say what is carried", async () => {
  // Whatever the rate, 400 requests of a millisecond are done in a second.
  const target = { sloNs: msToNs(1000), share: 0.99 };
  await assert.rejects(
    makePlan(optionsFor(STEEP, { target })),
    /400 requests are too few for a target of 1000 ms: they come within that time, .* 8000 or more .*: take a longer one$/,
  );
  // What is left at the end of 20 targets is a twentieth of all.
  near((await makePlan(optionsFor(STEEP))).perS, 1000, 1 / 20);
});

Deno.test("nor do they with another target, nor those that were held back", async () => {
  const options = optionsFor(STEEP);
  const { choice, perS } = await makePlan(options);
  const within = (ms: number) =>
    carriedBy(choice, perS, {
      ...options,
      target: { sloNs: msToNs(ms), share: 0.99 },
    });
  near((await within(10)).perS, 1000, 1 / 20);
  const far = await within(25);
  assert.equal(far.perS, undefined);
  assert.match(
    far.obstacle!,
    /400 requests are too few for a target of 25 ms: at 1\d\d0\/s they come within \d{3} ms, /,
  );
  // A target that is never kept is no such obstacle.
  assert.deepEqual(await within(0.9), { perS: undefined });

  // Slow ones first, so that the first part lasts, and none behind.
  const slow = evenly(200, 1);
  const fast = evenly(600, 10).map((at) => 200 + at);
  const { heldBack } = await makePlan(optionsFor(STEEP, {
    ...parts([...slow, ...fast]),
    target: { sloNs: msToNs(50), share: 0.99 },
  }));
  assert.equal(heldBack.perS, undefined);
  assert.match(heldBack.obstacle!, /too few for a target of 50 ms/);
});

Deno.test("a target that no request alone can keep is refused", async () => {
  await assert.rejects(
    makePlan(
      optionsFor(STEEP, { target: { sloNs: msToNs(0.9), share: 0.99 } }),
    ),
    /99 % within 0\.900 ms is not kept at any rate.* alone takes 1\.00 ms/,
  );
});

Deno.test("who asks for more than a machine's pauses, or the longest requests, allow is told so", async () => {
  const target = { sloNs: msToNs(15), share: 0.99 };
  const prng = new Prng(3);
  const scattered = Array.from({ length: 800 }, () => 160 * prng.float())
    .sort((a, b) => a - b);
  // 30 ms in every 100 the host is not there.
  const machine = recordedAs(
    slices(1000, () => 1000),
    Array.from({ length: 10 }, (_, i) => [i * 1e8, i * 1e8 + 3e7] as const),
  );
  await assert.rejects(
    makePlan(optionsFor(STEEP, { ...parts(scattered), machine, target })),
    /alone takes \d.*ms on average, 99 % of them up to (29|30|31)\.\d ms, without what held the machine up when it was measured up to 1\.00 ms$/,
  );
  const inputs = inputGenerator({
    ...{ kind: "tokens", vocabulary: 10, lengths: { fixed: 10 } },
  });
  const parted = partsOf(scattered, 400, inputs, new Prng(1));
  // One in twenty is as long as forty others.
  const long = parted.made.inputs.map((input, i) =>
    i % 20 > 0 ? input : { ...input, input: { tokens: new Array(400).fill(1) } }
  );
  await assert.rejects(
    makePlan(optionsFor(STEEP, {
      ...{ ...parted, made: { ...parted.made, inputs: long }, target },
    })),
    /alone takes \d.*ms on average, 99 % of them up to 40\.0 ms$/,
  );
});

Deno.test("requests that come at once however slowly a trace is replayed are told, and the gap that makes them", async () => {
  const behind = (request: number) =>
    evenly(800, 5).map((at, i) => i < request ? at : at + 1e9);
  const told = (seconds: readonly number[], message: RegExp) =>
    assert.rejects(makePlan(optionsFor(STEEP, parts(seconds))), message);
  await told(
    behind(300),
    /up to 1\.00 ms; even at 0\.100\/s, .*, 300 of 400 requests come within 5\.00 ms, as behind request 300 of the trace nothing comes for 1000000000 of its 1000000160 s: plan without this gap$/,
  );
  // Of the part held back, or between them, it stretches the one that is planned with as well.
  await told(behind(400), /400 of 400 .* as behind request 400 of/);
  await told(behind(700), /400 of 400 .* as behind request 700 of/);
  // Every tenth second a hundred.
  const bursts = Array.from(
    { length: 800 },
    (_, i) => 10 * Math.floor(i / 100),
  );
  await told(bursts, /100 of 400 requests come within .* more even$/);
});

Deno.test("who has too few requests is told whether the trace has more", async () => {
  const target = { sloNs: msToNs(1000), share: 0.99 };
  const few = (seconds: readonly number[]) =>
    makePlan(optionsFor(STEEP, { ...parts(seconds, 400), target }));
  await assert.rejects(
    few(evenly(800, 5)),
    /needs \d+ or more in each part of the trace, which has 400 for each: take a longer one$/,
  );
  await assert.rejects(
    few(evenly(80_000, 5)),
    /in each part of the trace, which has them \(--requests \d+\)$/,
  );
});

Deno.test("what was not measured is refused: cells, rows, tokens", () => {
  const [cell] = model.cells;
  const cost = new ProfiledCost({
    tablesNs: { [cell.name]: [[2, 100], [8, 700]] },
    taskNs: [[1, 5], [64, 5]],
  });
  assert.equal(cost.latencyNs(cell, 2), 105);
  assert.equal(cost.latencyNs(cell, 5), 405);
  for (const rows of [1, 9]) {
    assert.throws(() => cost.latencyNs(cell, rows), OutsideProfile);
    assert.throws(() => cost.latencyNs(cell, rows), /has 2 to 8/);
  }
  assert.throws(
    () => new ProfiledCost({ tablesNs: {} }).latencyNs(cell, 1),
    /no cell "lstm_step"/,
  );

  const encoder = bert({
    layers: 1,
    hidden: 8,
    heads: 2,
    vocabulary: 11,
    weights: shapesOnly(),
  });
  const ragged = encoder.cells.find(({ tokensMax }) =>
    tokensMax !== undefined
  )!;
  const tablesNs = { "*": [[1, 1000]] } as const;
  const tokens = { least: 4, mean: 10, most: 20 };
  const extent = (length: number) => ({ length, caches: [] });
  const raggedCost = new ProfiledCost({ tablesNs, tokens });
  assert.equal(raggedCost.latencyNs(ragged, 1, extent(5)), 500);
  assert.equal(raggedCost.latencyNs(ragged, 1, extent(20)), 2000);
  assert.throws(
    () => raggedCost.latencyNs(ragged, 1, extent(21)),
    /21 tokens.*4 to 20/,
  );
  assert.throws(
    () => new ProfiledCost({ tablesNs }).latencyNs(ragged, 1, extent(5)),
    /the profile has none/,
  );
});

Deno.test("policies keep to batches that were measured, and those that cannot take no part", async () => {
  const table = [[1, 100_000], [4, 150_000]] as const;
  const plan = await makePlan(
    optionsFor(table, { policies: ["cellular", "token-budget", "graph"] }),
  );
  for (const { options, obstacle } of plan.contenders) {
    if (obstacle === undefined) assert.equal(options["batchSizeMax"], 4);
  }
  // A profile that begins with batches of two says nothing of one.
  await assert.rejects(
    makePlan(optionsFor([[2, 100_000], [4, 150_000]])),
    OutsideProfile,
  );

  const trees = treeLstm({ hidden: 4, vocabulary: 10, weights: shapesOnly() });
  const inputs = inputGenerator({ kind: "tree", vocabulary: 10 });
  const own = partsOf(evenly(400, 5), 200, inputs, new Prng(2));
  const { contenders } = await makePlan({
    ...optionsFor(STEEP, { model: trees, policies: ["bucketed", "cellular"] }),
    ...own,
    target: { sloNs: msToNs(20), share: 0.99 },
  });
  const bucketed = contenders.filter(({ policy }) => policy === "bucketed");
  assert.equal(bucketed.length, 1);
  assert.match(bucketed[0].obstacle!, /./);
});

Deno.test("what tune writes, serve takes: every policy with what the plan has", async () => {
  for (const name of Object.keys(POLICIES)) {
    const options = optionsFor([[1, 100_000], [32, 400_000]], {
      policies: [name],
      target: { sloNs: msToNs(2), share: 0.99 },
    });
    const plan = await makePlan(options);
    const { machine, profile: tablesNs } = options;
    const written = tuned({
      ...plan,
      otherwise: [],
      profile: {
        ...{ file: "", model: "lstm", options: {}, name: "" },
        times: { tablesNs },
        machine,
      },
    }, options.target.sloNs);
    const settings = SERVER_SETTINGS.parse(
      JSON.parse(JSON.stringify(written)),
    );
    assert.equal(settings.slo_ms, 2);
    assert.equal(settings.workers, 1);
    const policy = policyOf(settings)();
    assert.equal(policy.supports(model), undefined, name);
    // The same options reach the policy by both ways.
    const { batchSizeMax = settings.max_batch_size, slaNs, ...rest } =
      plan.choice.options;
    assert.deepEqual(settings.policy.options, rest, name);
    assert.equal(settings.max_batch_size, batchSizeMax, name);
    assert(slaNs === undefined || slaNs === options.target.sloNs, name);
  }
});

Deno.test("parts follow each other, and are replayed at one speed", () => {
  const seconds = [...evenly(150, 10), ...evenly(150, 5).map((at) => 15 + at)];
  const { made, heldBack } = parts(seconds, 100);
  assert.equal(made.seconds.length, 100);
  assert.equal(heldBack.seconds[0], 0);
  near(made.recordedPerS, 10, 0.4);
  const at = (part: RecordedPart) =>
    arrivalsAt(part, model, 2 * part.recordedPerS).map(({ arrivalNs }) =>
      arrivalNs
    );
  assert.equal(at(made)[99], Math.round(seconds[99] / 2 * 1e9));
  assert.equal(
    at(heldBack)[99],
    Math.round((seconds[199] - seconds[100]) / 2 * 1e9),
  );
  assert.throws(() => parts(evenly(199, 5)), /200 requests or more/);
  assert.throws(
    () => parts(new Array<number>(400).fill(0)),
    /do not come at one time/,
  );
});
