import assert from "node:assert/strict";
import { compare, compared } from "../../bench/arena/honesty/compare.ts";
import { groundOf, simulatedNs } from "../../bench/arena/honesty/ground.ts";
import {
  comparisonTable,
  errorTable,
} from "../../bench/arena/honesty/tables.ts";
import { constantCost } from "../../src/cost/table_cost.ts";
import { OutsideProfile, ProfiledCost } from "../../src/plan/profiled_cost.ts";
import { RecordedTime } from "../../src/plan/recorded_time.ts";
import { type Stretch, WHOLE } from "../../src/plan/stretch.ts";
import type { ProfileTable } from "../../src/policy/profile.ts";
import { renderTable } from "../../src/report/table.ts";

/** Ten rows take as long as one. */
const TABLE: ProfileTable = { "*": [[1, 1_000_000], [10, 1_000_000]] };

/** Its only worker is half as fast for nine tenths of the time, which a run that begins at its start does not see at once. */
const SLOWER: Stretch = {
  speed: [Array.from({ length: 9000 }, (_, i) => i < 900 ? WHOLE : WHOLE / 2)],
  pauses: [],
};

function optionsOf(stretch?: Stretch, tablesNs = TABLE) {
  return {
    ...{ model: "lstm", size: "small" as const, policies: ["serial"], seed: 1 },
    profile: {
      ...{
        file: "",
        model: "lstm",
        name: "",
        options: {},
        times: { tablesNs },
      },
      machine: {
        ...{ cost: new ProfiledCost({ tablesNs }), workers: 1 },
        submitNs: () => 0,
        ...(stretch && { recorded: new RecordedTime([stretch]) }),
      },
    },
  };
}

/** Over before the worker gets slower. */
function ranOf(ground: ReturnType<typeof groundOf>, policy = "serial") {
  const arrivals = ground.arrivals(20, 5, 0);
  return {
    ...{ policy, load: 0.25, ratePerS: 20, arrivals },
    latenciesNs: [[1e6, 3e6], [2e6, 6e6]],
  };
}

Deno.test("predictions replay what was recorded of the machine from several places, capacities do not", () => {
  const steady = groundOf(optionsOf());
  const slower = groundOf(optionsOf(SLOWER));
  const slow = groundOf(
    optionsOf({ speed: [[WHOLE / 2]], pauses: [] }),
  );
  assert.equal(slow.capacityPerS, steady.capacityPerS);
  assert.equal(slow.targetNs, steady.targetNs);
  const of = (ground: typeof steady) =>
    compared(ground, ranOf(ground)).predicted!;
  const ratio = of(slower).p50Ms / of(steady).p50Ms;
  assert(ratio > 1.8, `${ratio}`);
});

Deno.test("what is measured does not come into a prediction", () => {
  const ground = groundOf(optionsOf(SLOWER));
  const ran = ranOf(ground);
  assert.deepEqual(
    compared(ground, ran).predicted,
    compared(ground, { ...ran, latenciesNs: [[1, 2]] }).predicted,
  );
});

Deno.test("batches that were not profiled are refused, and what was measured is kept", () => {
  const ground = groundOf(optionsOf());
  const narrow = new ProfiledCost({ tablesNs: { "*": [[2, 1e6], [10, 1e6]] } });
  const one = compared(
    { ...ground, machine: { ...ground.machine, cost: narrow } },
    ranOf(ground),
  );
  assert.equal(one.predicted, undefined);
  assert.match(one.refused!, /a batch of 1 rows .*has 2 to 10/);
  assert.equal(one.measured.length, 2);
  assert.match(
    renderTable(comparisonTable([one]), { color: false }),
    /refused: a batch of 1/,
  );
  assert.deepEqual(
    errorTable([one]).rows[0]?.slice(2).map(({ text }) => text),
    ["0", "1", ...new Array(9).fill("-")],
  );
});

Deno.test("a policy whose batches were not profiled does not say what the capacity is, others do", () => {
  const options = optionsOf(undefined, { "*": [[1, 1e6], [64, 1e6]] });
  assert(groundOf({ ...options, model: "treelstm" }).capacityPerS > 0);
});

Deno.test("policies may ask for more rows than were profiled, as trees have, and run them where that can be told", () => {
  const options = optionsOf(undefined, { "*": [[1, 1e6], [64, 1e6]] });
  const ground = groundOf({ ...options, model: "treelstm" });
  const run = (machine: typeof ground.machine) =>
    simulatedNs(
      machine,
      ground.make("auto"),
      ground.arrivals(Infinity, 128, 1),
    );
  const measured = { ...ground.machine, cost: constantCost(1e6) };
  assert.equal(run(measured).length, 128);
  assert.throws(
    () => run(ground.machine),
    (error: unknown) =>
      error instanceof OutsideProfile &&
      /has 1 to 64 \(shoal profile --sizes measures more\)/
        .test(error.message),
  );
});

Deno.test("errors are against every run, beside those of a run as a prediction of the next", () => {
  const figures = (ms: number, inTime: number) => ({
    ...{ p50Ms: ms, p99Ms: 2 * ms, inTime, goodputPerS: inTime },
  });
  const one = {
    ...{ model: "lstm", policy: "serial", load: 0.6, ratePerS: 1 },
    ...{ requests: 100, targetMs: 5, predicted: figures(15, 0.9) },
    measured: [figures(10, 0.8), figures(20, 0.7)],
  };
  assert.deepEqual(
    errorTable([one]).rows[0]?.map(({ text }) => text),
    ["lstm", "0.6", "1", "0"].concat(
      ...[["25.0 %", "50.0 %", "50.0 %"], ["25.0 %", "50.0 %", "50.0 %"]],
      ["10.0 %", "20.0 %", "10.0 %"],
    ),
  );
});

Deno.test("every load is run as often as asked, over real tensors", async () => {
  const options = optionsOf(undefined, {
    "*": [[1, 20_000], [64, 100_000]],
  });
  const all = await compare({ ...options, seconds: 0.001, runs: 2 });
  assert.deepEqual(all.map(({ load }) => load), [0.25, 0.6, 0.9]);
  for (const { measured, predicted, requests } of all) {
    assert.equal(requests, 100);
    assert.equal(measured.length, 2);
    assert(measured.every(({ p50Ms, p99Ms }) => p50Ms > 0 && p99Ms >= p50Ms));
    assert(predicted!.p50Ms > 0);
  }
});
