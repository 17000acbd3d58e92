import assert from "node:assert/strict";
import fc from "fast-check";
import { Fifo } from "../../src/base/fifo.ts";
import { propertyRuns } from "../property_runs.ts";

Deno.test("Fifo behaves like an array that is pushed to, shifted and spliced", () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.constant("push" as const) },
    { weight: 4, arbitrary: fc.constant("shift" as const) },
    { weight: 1, arbitrary: fc.nat(200) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 600, size: "max" }), (steps) => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      let next = 0;
      for (const what of steps) {
        if (what === "push") {
          fifo.push(next);
          model.push(next++);
        } else if (what === "shift") {
          assert.equal(fifo.shift(), model.shift());
        } else {
          const at = model.indexOf(what);
          assert.equal(fifo.delete(what), at >= 0);
          if (at >= 0) model.splice(at, 1);
        }
        assert.equal(fifo.size, model.length);
        assert.equal(fifo.first, model[0]);
      }
      assert.deepEqual([...fifo], model);
    }),
    { numRuns: propertyRuns(200) },
  );
});
