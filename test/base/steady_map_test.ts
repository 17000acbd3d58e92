import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import { SteadyMap } from "../../src/base/steady_map.ts";
import { propertyRuns } from "../property_runs.ts";

Deno.test("SteadyMap behaves like a map that is set, asked and deleted from", () => {
  // Few keys meet often; many make the table grow.
  const step = fc.record({
    what: fc.constantFrom("set", "set", "delete", "get" as const),
    key: fc.oneof(fc.nat(20), fc.nat(400)).map(String),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 800, size: "max" }), (steps) => {
      const map = new SteadyMap<number>();
      const model = new Map<string, number>();
      steps.forEach(({ what, key }, i) => {
        if (what === "set") {
          map.set(key, i);
          model.set(key, i);
        } else if (what === "delete") {
          assert.equal(map.delete(key), model.delete(key));
        }
        assert.equal(map.has(key), model.has(key));
        assert.equal(map.get(key), model.get(key));
        assert.equal(map.size, model.size);
      });
      for (let key = 0; key <= 400; key++) {
        assert.equal(map.get(`${key}`), model.get(`${key}`));
      }
    }),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("what has left a SteadyMap or Cuts is not held until the next major collection", async () => {
  const script = fileURLToPath(new URL("./held_young.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["run", "-A", "--no-check", "--v8-flags=--expose-gc", script],
  ]);
  const { map, cuts, of } = JSON.parse(stdout);
  // What is there at the end, and what was young at the last look.
  assert(map < 0.2 * of, `a SteadyMap holds ${map} of ${of} bytes`);
  assert(cuts < 0.2 * of, `Cuts hold ${cuts} of ${of} bytes`);
});
