/** Lists of any length: a call takes only so many arguments. */
import assert from "node:assert/strict";
import {
  type Query,
  QueryTable,
} from "../../src/policy/dvabatch/query_table.ts";
import { searchConfigurations } from "../../src/policy/e2bird/offline.ts";

const MANY = 300_000;

Deno.test("DVABatch stretches a batch by as many queries as there are", () => {
  const table = new QueryTable(2);
  const queries = new Array<Query>(MANY).fill({} as Query);
  const batch = table.new(queries.slice(0, 1), 0);
  table.stretch(batch, queries);
  assert.equal(batch.queries.length, MANY + 1);
});

Deno.test("E2bird's search takes latencies of as many workers as there are", () => {
  const found = searchConfigurations({
    totals: [MANY],
    sizes: 1,
    objective: "last",
    latenciesNs: (sizes) => sizes,
  });
  assert.deepEqual(found, { [MANY]: [MANY] });
});
