import assert from "node:assert/strict";
import fc from "fast-check";
import { insertInOrder } from "../../src/base/insert_in_order.ts";

Deno.test("what is inserted lies where a stable sort of all would have put it", () => {
  const keys = fc.array(fc.constantFrom(0, 1, 2, 3, Infinity));
  fc.assert(fc.property(keys, (keys) => {
    const items = keys.map((key, id) => ({ key, id }));
    const compare = (a: { key: number }, b: { key: number }) =>
      a.key === b.key ? 0 : a.key - b.key;
    const list: typeof items = [];
    for (const item of items) insertInOrder(list, item, compare);
    assert.deepEqual(list, items.toSorted(compare));
  }));
});
