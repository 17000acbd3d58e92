import assert from "node:assert/strict";
import { TableCost } from "../../src/cost/table_cost.ts";
import { staticChain } from "../policy/static_chain.ts";

Deno.test("TableCost gives whole nanoseconds between its points", () => {
  const { cells: [cell] } = staticChain({ cells: ["a"] });
  const cost = new TableCost({ "*": [[1, 10], [4, 20]] });
  const times = [1, 2, 3, 4, 5].map((rows) => cost.latencyNs(cell, rows));
  assert.deepEqual(times, [10, 13, 17, 20, 25]);
});
