import assert from "node:assert/strict";
import fc from "fast-check";
import { TaskArena } from "../../src/engine/tensors/task_arena.ts";
import { propertyRuns } from "../property_runs.ts";

const START = 1000;
const BYTES = 100;

Deno.test("TaskArena hands out pieces that never overlap and is whole again when all are back", () => {
  const step = fc.oneof(
    fc.integer({ min: 1, max: BYTES }),
    fc.integer({ min: 1, max: 20 }),
    fc.constant("giveBack" as const),
  );
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 200, size: "max" }),
      (steps) => {
        const arena = new TaskArena(START, BYTES);
        const held: { address: number; bytes: number }[] = [];
        for (const step of steps) {
          if (step === "giveBack") {
            if (held.length === 0) continue;
            held.shift();
            arena.giveBack();
            continue;
          }
          const address = arena.take(step);
          if (address === undefined) {
            assert(held.length > 0, "an empty arena has room for all it has");
            continue;
          }
          assert(address >= START && address + step <= START + BYTES);
          for (const other of held) {
            assert(
              address + step <= other.address ||
                other.address + other.bytes <= address,
              "pieces overlap",
            );
          }
          held.push({ address, bytes: step });
        }
        for (const _ of held) arena.giveBack();
        assert.equal(arena.take(BYTES), START);
      },
    ),
    { numRuns: propertyRuns(500) },
  );
});

Deno.test("TaskArena wraps to its start behind the oldest piece, and stops before it", () => {
  const arena = new TaskArena(START, BYTES);
  assert.equal(arena.take(60), START);
  assert.equal(arena.take(30), START + 60);
  assert.equal(arena.take(20), undefined);
  arena.giveBack();
  assert.equal(arena.take(20), START);
  assert.equal(arena.take(40), START + 20);
  assert.equal(arena.take(1), undefined, "full");
  arena.giveBack();
  assert.equal(arena.take(1), START + 60);
});
