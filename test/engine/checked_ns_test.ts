/** What a simulation's functions return is a time, or said to be none: nothing would happen at it, or for ever. */
import assert from "node:assert/strict";
import type { SharedCost } from "../../src/cost/shared_cost.ts";
import type { VirtualWorkersOptions } from "../../src/engine/virtual/virtual_workers.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { staticChain } from "../policy/static_chain.ts";
import { told } from "../policy/told.ts";

const NO_TIMES = [NaN, -5, Infinity, undefined, "7", 7n];

function run(
  { submitNs, ...cost }:
    & Partial<SharedCost>
    & Pick<VirtualWorkersOptions, "submitNs">,
): string[] {
  return told({
    policy: serial(),
    models: [staticChain({ cells: ["A"] })],
    requests: [{ arrivalNs: 0 }, { arrivalNs: 3 }],
    cost: { latencyNs: () => 5, ...cost },
    ...(submitNs && { submitNs }),
  });
}

/** That every figure that is none is refused, by name. */
function refuses(
  name: string,
  what: string,
  with_: (figure: () => never) => Parameters<typeof run>[0],
): void {
  for (const bad of NO_TIMES) {
    assert.throws(() => run(with_(() => bad as never)), {
      name: "RangeError",
      message: `"${name}" is a function that returns ${what}, got ${
        typeof bad === "string" ? '"7"' : typeof bad === "bigint" ? "7n" : bad
      } for 1 rows of cell "A"`,
    });
  }
}

Deno.test("a cost model's time that is none is refused, by function, batch and value", () => {
  refuses("latencyNs", "nanoseconds", (latencyNs) => ({ latencyNs }));
  refuses("submitNs", "nanoseconds", (submitNs) => ({ submitNs }));
});

Deno.test("so are those of a device that is shared, and its shares", () => {
  const demand = () => 1;
  refuses(
    "demand",
    "a share of the device, from 0 to 1",
    (demand) => ({ demand }),
  );
  // Percents would make a batch that is alone fifty times as long.
  assert.throws(() => run({ demand: () => 50 }), /from 0 to 1, got 50 for 1/);
  refuses("latencyNs", "nanoseconds", (latencyNs) => ({ latencyNs, demand }));
  for (const copy of ["htodNs", "dtohNs"] as const) {
    assert.throws(() => run({ demand, [copy]: () => NaN }), {
      message:
        `"${copy}" is a function that returns nanoseconds, got NaN for 1 rows of cell "A"`,
    });
  }
});

Deno.test("parts of a cost model that are no functions, or that nobody would ask, are refused before anything runs", () => {
  const parts = ["demand", "interference", "htodNs", "dtohNs"] as const;
  const demand = () => 1;
  for (const part of parts) {
    for (const value of [0.5, "5", null]) {
      assert.throws(() => run({ demand, [part]: value as never }), {
        name: "TypeError",
        message: new RegExp(`^"cost.${part}" is a function, got `),
      });
    }
    const alone = { [part]: () => 1 };
    if (part === "demand") continue;
    assert.throws(() => run(alone), {
      name: "TypeError",
      message:
        `"cost.${part}" is of a device that workers share: it goes with a "demand", () => 0 for copies alone`,
    });
  }
  // What is not there is not there.
  const nothing = { ...{ demand: undefined, htodNs: undefined } } as object;
  assert.deepEqual(run(nothing), run({}));
});
