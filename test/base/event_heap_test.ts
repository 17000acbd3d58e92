import assert from "node:assert/strict";
import fc from "fast-check";
import { EventHeap, RANK } from "../../src/base/event_heap.ts";
import { propertyRuns } from "../property_runs.ts";

Deno.test("EventHeap hands out completions, then arrivals, then scheduling points of one instant", () => {
  const heap = new EventHeap<{ atNs: number; rank: number; name: string }>();
  const push = (atNs: number, rank: keyof typeof RANK, name: string) =>
    heap.push({ atNs, rank: RANK[rank], name });
  push(5, "schedule", "e");
  push(5, "arrival", "c");
  push(9, "completion", "f");
  push(5, "arrival", "d");
  push(5, "completion", "b");
  push(1, "schedule", "a");
  const names: string[] = [];
  while (heap.size > 0) names.push(heap.pop()!.name);
  assert.equal(names.join(""), "abcdef");
});

Deno.test("EventHeap orders by time, rank, insertion, however pushes and pops mix", () => {
  const event = fc.record({ atNs: fc.nat(5), rank: fc.nat(2) });
  fc.assert(
    fc.property(fc.array(fc.option(event), { maxLength: 60 }), (steps) => {
      const heap = new EventHeap<{ atNs: number; rank: number; id: number }>();
      const model: { atNs: number; rank: number; id: number }[] = [];
      steps.forEach((step, id) => {
        if (step !== null) {
          heap.push({ ...step, id });
          model.push({ ...step, id });
          // Stable: equal keys stay in order of insertion.
          model.sort((a, b) => a.atNs - b.atNs || a.rank - b.rank);
        } else {
          assert.deepEqual(heap.peek(), model[0]);
          assert.deepEqual(heap.pop(), model.shift());
        }
        assert.equal(heap.size, model.length);
      });
      while (model.length > 0) assert.deepEqual(heap.pop(), model.shift());
      assert.equal(heap.pop(), undefined);
      assert.equal(heap.peek(), undefined);
    }),
    { numRuns: propertyRuns(300) },
  );
});
