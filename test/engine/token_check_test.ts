import assert from "node:assert/strict";
import fc from "fast-check";
import { TokenCheck } from "../../src/engine/core/token_check.ts";
import type { Token } from "../../src/policy/launch.ts";
import { propertyRuns } from "../property_runs.ts";

const read: Token = { id: "a", access: "read" };
const write: Token = { id: "a", access: "write" };

Deno.test("a buffer has many readers", () => {
  const check = new TokenCheck();
  check.acquire([read]);
  check.acquire([read]);
});

Deno.test("nobody reads a buffer that is being written, or writes it twice", () => {
  for (const other of [read, write]) {
    const check = new TokenCheck();
    check.acquire([write]);
    assert.throws(() => check.acquire([other]), /while another run writes it/);
  }
});

Deno.test("nobody writes a buffer that is being read", () => {
  const check = new TokenCheck();
  check.acquire([read]);
  check.acquire([read]);
  assert.throws(() => check.acquire([write]), /while 2 runs read it/);
  check.release([read]);
  assert.throws(() => check.acquire([write]), /while 1 runs read it/);
});

Deno.test("a buffer is free once all who had it have released it", () => {
  const anyRuns = fc.array(
    fc.record({
      id: fc.constantFrom("a", "b"),
      access: fc.constantFrom("read", "write"),
    }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(anyRuns, (runs) => {
      const check = new TokenCheck();
      const held: Token[] = [];
      for (const run of runs) {
        const of = held.filter(({ id }) => id === run.id);
        const mayHave = run.access === "read"
          ? of.every(({ access }) => access === "read")
          : of.length === 0;
        if (mayHave) {
          check.acquire([run]);
          held.push(run);
        } else {
          assert.throws(() => check.acquire([run]));
          const [first] = of;
          check.release([first]);
          held.splice(held.indexOf(first), 1);
        }
      }
    }),
    { numRuns: propertyRuns(200) },
  );
});
