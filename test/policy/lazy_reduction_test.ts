/** Reduction laws of LazyBatching: with degenerate options it launches what a simpler policy launches. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { lazy, oracle } from "../../src/policy/lazybatching/lazy.ts";
import type { LazyOptions } from "../../src/policy/lazybatching/lazy_options.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { propertyRuns } from "../property_runs.ts";
import { letters, simulateStatic, staticChain } from "./static_chain.ts";

/** Requests in order of arrival. */
const requests = fc.array(fc.nat(6), { minLength: 1, maxLength: 12 }).map(
  (gaps) => {
    let arrivalNs = 0;
    return gaps.map((gap) => ({ arrivalNs: arrivalNs += gap }));
  },
);
const batchSizeMax = fc.integer({ min: 1, max: 5 });
const workers = fc.integer({ min: 1, max: 3 });

for (const policy of [lazy, oracle]) {
  Deno.test(`one node per model, unlimited slack: ${policy.name} launches what graph with window 0 launches`, () => {
    const model = staticChain({ cells: ["A"] });
    fc.assert(
      fc.property(requests, batchSizeMax, workers, (requests, max, workers) => {
        const profile = () => 1;
        assert.deepEqual(
          simulateStatic(
            policy({ batchSizeMax: max, slaNs: Infinity, profile }),
            [model],
            requests,
            { workers },
          ),
          simulateStatic(graph({ batchSizeMax: max }), [model], requests, {
            workers,
          }),
        );
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  /** What `policy` launches when slack refuses everything, beside what a simpler one does. */
  const refusesAll = (
    title: string,
    options: LazyOptions,
    simpler: (batchSizeMax: number) => Policy,
  ) =>
    Deno.test(`every slack refused, ${title}`, () => {
      const models = [
        staticChain({ cells: letters(4) }),
        staticChain({ name: "other", cells: ["P", "Q"] }),
      ];
      fc.assert(
        fc.property(
          requests,
          workers,
          batchSizeMax,
          fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
          (requests, workers, max, other) => {
            const mixed = requests.map((request, i) => ({
              ...request,
              model: models[Number(other[i])],
            }));
            const run = (policy: Policy) =>
              simulateStatic(policy, models, mixed, { workers });
            assert.deepEqual(
              run(policy({
                slaNs: 0,
                profile: () => 1,
                batchSizeMax: max,
                ...options,
              })),
              run(simpler(max)),
            );
          },
        ),
        { numRuns: propertyRuns(200) },
      );
    });

  refusesAll(
    `what waits issued: ${policy.name} launches what graph with window 0 launches`,
    {},
    (batchSizeMax) => graph({ batchSizeMax }),
  );
  refusesAll(
    `what waits asked as well: ${policy.name} launches what serial launches`,
    { emptyTable: "check" },
    () => serial(),
  );
}
