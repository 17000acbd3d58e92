import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { mean } from "../../src/base/statistics.ts";
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
import { drawnFactor, spreadOf } from "../../src/plan/spread.ts";
import type { Machine } from "../../src/plan/simulated_trial.ts";
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

Deno.test("what the host does for requests that come, and tasks that take longer than their median, count", async () => {
  const profile = { "*": STEEP };
  // Half of the tasks take three times as long: two on average, so that half as many requests fit.
  const spread = [[0.5, 1], [1, 3]] as const;
  const target = { sloNs: msToNs(35), share: 0.99 };
  const slow = await makePlan(
    optionsFor(STEEP, {
      machine: { ...machineOf(profile), spread },
      target,
    }),
  );
  near(slow.perS, 500, 0.06);
  // A host that takes 4 ms to take a request in takes in 250 in a second.
  const busy = await makePlan(
    optionsFor(STEEP, {
      machine: { ...machineOf(profile), requestNs: 4e6 },
      target,
    }),
  );
  near(busy.perS, 250, 0.06);
});

Deno.test("a spread has the mean of what was seen, and its slowest", () => {
  const factors = Array.from(
    { length: 5000 },
    (_, i) => i === 77 ? 400 : 1 + (i % 10) / 100,
  );
  const spread = spreadOf(factors);
  assert(spread.length <= 150);
  assert.deepEqual(spread.at(-1), [1, 400]);
  const whole = spread.reduce(
    (sum, [share, factor], i) =>
      sum + factor * (share - (spread[i - 1]?.[0] ?? 0)),
    0,
  );
  near(whole, mean(factors), 1e-3);
  const prng = new Prng(3);
  const draws = Array.from(
    { length: 100_000 },
    () => drawnFactor(spread, prng),
  );
  const slowest = draws.filter((factor) => factor === 400).length;
  assert(slowest > 5 && slowest < 45, `${slowest} of about 20`);
  near(mean(draws.filter((factor) => factor < 400)), 1.045, 1e-3);
  assert.deepEqual(spreadOf([2]), [[1, 2]]);
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
    /400 requests are too few for a target of 1000 ms.* 8000 or more/,
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
  assert.match(far.obstacle!, /400 requests are too few for a target of 25 ms/);
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
        ...{ file: "", model: "lstm", options: {}, name: "", tablesNs },
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
