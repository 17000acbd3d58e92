/** What a schedule of a caller's own may say (DVABatch, Fig. 12), and what it is told when it says anything else. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import { dvabatch } from "../../src/policy/dvabatch/dvabatch.ts";
import type {
  AdmitChoice,
  AdmitView,
  DvaSchedule,
} from "../../src/policy/dvabatch/schedule.ts";
import { runSimulated } from "../engine/harness.ts";
import { letters, staticChain } from "./static_chain.ts";

const why = "test";

/** Six requests that come one after the other, under a schedule in which something is replaced. */
function run(replaced: Record<string, unknown>) {
  const schedule: DvaSchedule = {
    admit: ({ waiting, canStart }) =>
      canStart ? { op: "new", groups: [[...waiting]], why } : undefined,
    split: (size) => [size],
  };
  const model = staticChain({ cells: letters(3) });
  return runSimulated({
    models: [model],
    policy: dvabatch({
      stages: 3,
      schedule: () => ({ ...schedule, ...replaced }) as DvaSchedule,
    }),
    cost: constantCost(10),
    arrivals: Array.from({ length: 6 }, (_, i) => ({
      model,
      input: {},
      arrivalNs: i,
    })),
  });
}

const refusals: Record<
  string,
  [said: Record<string, unknown>, message: RegExp]
> = {
  "no method": [{ split: 5 }, /has a method "split"/],
  "an operation that there is not": [
    { admit: () => ({ op: "merge", why }) },
    /"admit\(\)\.op" is one of new, stretch, wait, got "merge"/,
  ],
  "no batch": [
    { admit: () => ({ op: "new", groups: [], why }) },
    /takes nobody with "new"/,
  ],
  "a batch of nobody": [
    {
      admit: ({ waiting }: AdmitView) => ({
        op: "new",
        groups: [[...waiting], []],
        why,
      }),
    },
    /takes nobody with "new"/,
  ],
  "no list": [
    { admit: () => ({ op: "new", groups: 3, why }) },
    /"admit\(\)\.groups" is an array, got 3/,
  ],
  "a query twice": [
    {
      admit: ({ waiting: { first } }: AdmitView) => ({
        op: "new",
        groups: [[first], [first]],
        why,
      }),
    },
    /takes a query that does not wait, or one twice/,
  ],
  "to stretch what cannot be": [
    {
      admit: ({ waiting }: AdmitView) => ({
        op: "stretch",
        queries: [...waiting],
        why,
      }),
    },
    /stretches a batch by 1 queries, 0 is the most/,
  ],
  "to stretch by nobody": [
    {
      admit: ({ waiting: { first }, stretchable }: AdmitView): AdmitChoice =>
        stretchable
          ? { op: "stretch", queries: [], why }
          : { op: "new", groups: [[first!]], why },
    },
    /takes nobody with "stretch"/,
  ],
  "sizes that do not sum up": [
    { split: (size: number) => [size, 1] },
    /splits 1 queries into \[1,1\]/,
  ],
  "a part of nobody": [
    { split: (size: number) => [size, 0] },
    /"split\(\)\[1\]" is a positive integer, got 0/,
  ],
};

for (const [what, [said, message]] of Object.entries(refusals)) {
  Deno.test(`dvabatch() refuses a schedule that says ${what}`, () => {
    assert.throws(() => run(said), { message });
  });
}

Deno.test("dvabatch() does what a schedule of a caller's own says", () => {
  assert.doesNotThrow(() => run({}));
});
