import assert from "node:assert/strict";
import { policyOptions } from "../../src/cli/policy_options.ts";
import { profileTable } from "../../src/cli/batch_curve.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import {
  letters,
  simulateStatic,
  staticChain,
} from "../policy/static_chain.ts";

const model = staticChain({ cells: letters(3) });
const profile = { "*": [[1, 10], [8, 20]] as [number, number][] };

for (const [name, { build }] of Object.entries(POLICIES)) {
  Deno.test(`the bench can set up ${name} for every maximum batch size, and no batch is larger`, () => {
    for (const batchSizeMax of [1, 2, 4, 7, 64]) {
      const policy = build(policyOptions(name, { batchSizeMax, profile }));
      const requests = Array.from({ length: 70 }, (_, i) => ({
        arrivalNs: i >> 3,
      }));
      const { departNs, tasks } = simulateStatic(policy, [model], requests);
      assert.equal(departNs.length, 71);
      const largest = Math.max(...tasks.map(({ requests }) => requests.length));
      assert(largest <= batchSizeMax, `${largest} of ${batchSizeMax}`);
    }
  });
}

Deno.test("profileTable() turns measured throughputs into the tables that policies take", () => {
  const table = profileTable([
    { cell: "A", points: [{ rows: 1, rowsPerS: 1e6 }] },
    { cell: "A", points: [{ rows: 4, rowsPerS: 2e6 }] },
    { cell: "B", points: [] },
  ]);
  assert.deepEqual(table, { A: [[1, 1000], [4, 2000]] });
});
