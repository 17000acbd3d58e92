/**
 * How many steps a request that grows takes: as many as were asked for, or up to the stop token. Serial
 * execution is no witness of it, since all policies end requests by the same rule.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import { NODE } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { gnmt } from "../../src/models/gnmt.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { transformer } from "../../src/models/transformer.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { propertyRuns } from "../property_runs.ts";
import { anyOptions } from "./arbitraries.ts";
import { runPaired, runSimulated, runThreads } from "./harness.ts";

const VOCABULARY = 11;

/** Models of every kind that grows, ended by `eos` or by their limits alone. */
function growing(eos: number | null): readonly Model[] {
  return [
    seq2seq({ hidden: 5, sourceVocabulary: VOCABULARY, eos }),
    gnmt({ layers: 3, hidden: 4, sourceVocabulary: VOCABULARY, eos }),
    transformer({
      ...{ layers: 1, hidden: 8, heads: 2, inner: 8 },
      ...{ vocabulary: VOCABULARY, eos },
    }),
  ];
}

const ENDLESS = growing(null);
const ENDING = growing(2);

interface Asked {
  readonly model: Model;
  readonly tokens: readonly number[];
  readonly maxSteps: number;
  readonly stepsFixed: number | null;
}

function anyAsked(models: readonly Model[]): fc.Arbitrary<Asked[]> {
  const steps = fc.integer({ min: 1, max: 9 });
  return fc.array(
    fc.record({
      model: fc.constantFrom(...models),
      tokens: fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 5 }),
      maxSteps: steps,
      stepsFixed: fc.option(steps),
    }),
    { minLength: 1, maxLength: 8 },
  );
}

function limitOf({ maxSteps, stepsFixed }: Asked): number {
  return Math.min(maxSteps, stepsFixed ?? Infinity);
}

function arrivalsOf(asked: readonly Asked[]): VirtualArrival[] {
  return asked.map(({ model, tokens, maxSteps, stepsFixed }, i) => ({
    model,
    input: { tokens, maxSteps },
    arrivalNs: 700 * i,
    ...(stepsFixed !== null && { stepsFixed }),
  }));
}

function tokensOf(
  ending:
    | { result?: Readonly<Record<string, { data: ArrayLike<number> }>> }
    | undefined,
): number[] {
  return Array.from(ending?.result?.["tokens"].data ?? []);
}

const cost = { latencyNs: (_: unknown, rows: number) => 1000 + 50 * rows };

const policies = Object.entries(POLICIES).filter(([, { build }]) =>
  ENDLESS.some((model) => build().supports(model) === undefined)
);

for (const [name, { build }] of policies) {
  const supported = (models: readonly Model[]) =>
    models.filter((model) => build().supports(model) === undefined);
  const workers = fc.integer({ min: 1, max: 2 });

  Deno.test(`${name}: a request takes as many steps as were asked for`, () => {
    fc.assert(
      fc.property(
        anyAsked(supported(ENDLESS)),
        anyOptions(name),
        workers,
        (asked, options, workers) => {
          const { endings } = runPaired({
            ...{ models: ENDLESS, policy: build(options) },
            ...{ arrivals: arrivalsOf(asked), workers, cost },
          });
          assert.deepEqual(
            endings.map((ending) => tokensOf(ending).length),
            asked.map(limitOf),
          );
        },
      ),
      { numRuns: propertyRuns(50) },
    );
  });

  Deno.test(`${name}: a request ends with the stop token, or at its limit without one`, () => {
    fc.assert(
      fc.property(
        anyAsked(supported(ENDING)),
        anyOptions(name),
        workers,
        (asked, options, workers) => {
          const { endings } = runPaired({
            ...{ models: ENDING, policy: build(options) },
            ...{ arrivals: arrivalsOf(asked), workers, cost },
          });
          endings.forEach((ending, i) => {
            const tokens = tokensOf(ending);
            const limit = limitOf(asked[i]);
            const stop = tokens.indexOf(2);
            const expected = stop >= 0 ? stop + 1 : limit;
            assert.equal(tokens.length, expected, `${tokens} of ${limit}`);
            assert(expected <= limit, `${tokens} of ${limit}`);
          });
        },
      ),
      { numRuns: propertyRuns(50) },
    );
  });

  Deno.test(`${name}: a simulated request takes as many steps as were asked for`, () => {
    fc.assert(
      fc.property(
        anyAsked(supported(ENDLESS)),
        anyOptions(name),
        workers,
        (asked, options, workers) => {
          const steps = new Map<number, number>();
          runSimulated({
            ...{ models: ENDLESS, policy: build(options) },
            ...{ arrivals: arrivalsOf(asked), workers, cost },
            observer: {
              request({ graph }, { id }) {
                const done = graph.nodes.filter(({ cell, state }) =>
                  cell.stop && state === NODE.done
                );
                steps.set(id, done.length);
              },
            },
          });
          assert.deepEqual(
            asked.map((_, i) => steps.get(i)),
            asked.map(limitOf),
          );
        },
      ),
      { numRuns: propertyRuns(50) },
    );
  });
}

Deno.test("a request takes as many steps as were asked for in worker threads", async () => {
  const { build } = POLICIES["cellular"];
  const asked = Array.from({ length: 40 }, (_, i): Asked => ({
    model: ENDLESS[i % ENDLESS.length],
    tokens: [i % VOCABULARY],
    maxSteps: 1 + i % 7,
    stepsFixed: i % 2 === 0 ? null : 1 + i % 5,
  }));
  const { endings } = await runThreads({
    ...{ models: ENDLESS, policy: build(), workers: 2 },
    arrivals: arrivalsOf(asked),
  });
  assert.deepEqual(
    endings.map((ending) => tokensOf(ending).length),
    asked.map(limitOf),
  );
});

Deno.test("steps of a workload that are no positive integer are refused, simulated or computed", () => {
  const [model] = ENDLESS;
  const { build } = POLICIES["cellular"];
  for (const run of [runSimulated, runPaired]) {
    for (const stepsFixed of [0, -1, 1.5, NaN, Infinity]) {
      const arrival = {
        ...{ model, arrivalNs: 0, stepsFixed },
        input: { tokens: [1], maxSteps: 5 },
      };
      assert.throws(
        () =>
          run({
            ...{ models: [model], policy: build(), arrivals: [arrival] },
            cost: { latencyNs: () => 1000 },
          }),
        {
          name: "RangeError",
          message: `"stepsFixed" is a positive integer, got ${stepsFixed}`,
        },
      );
    }
  }
});
