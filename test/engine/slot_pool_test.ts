import assert from "node:assert/strict";
import fc from "fast-check";
import { QueueFullError } from "../../src/engine/core/errors.ts";
import { SlotPool } from "../../src/engine/tensors/slot_pool.ts";
import { propertyRuns } from "../property_runs.ts";

const START = 4096;
const BYTES = 32_768;

interface Held {
  address: number;
  bytes: number;
}

/** The longest piece of the arena that no slot holds. */
function largestGap(held: readonly Held[]): number {
  let at = START;
  let largest = 0;
  for (const slot of [...held].sort((a, b) => a.address - b.address)) {
    largest = Math.max(largest, slot.address - at);
    at = slot.address + slot.bytes;
  }
  return Math.max(largest, START + BYTES - at);
}

Deno.test("SlotPool hands out slots that never overlap and refuses only what does not fit", () => {
  const step = fc.oneof(
    fc.record({ allocate: fc.integer({ min: 1, max: 3000 }) }),
    fc.record({ allocate: fc.integer({ min: 3000, max: 30_000 }) }),
    fc.record({ release: fc.nat(100) }),
    fc.record({ release: fc.nat(100) }),
  );
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 120, size: "max" }),
      (steps) => {
        const pool = new SlotPool(START, START + BYTES);
        const held: Held[] = [];
        for (const step of steps) {
          if ("release" in step) {
            const [slot] = held.splice(step.release % (held.length || 1), 1);
            if (slot) pool.release(slot);
            continue;
          }
          const gap = largestGap(held);
          let slot: Held;
          try {
            slot = pool.allocate(step.allocate);
          } catch (error) {
            if (error instanceof RangeError) {
              assert(step.allocate * 9 / 8 > BYTES, "it can never fit");
              continue;
            }
            assert(error instanceof QueueFullError);
            assert(held.length > 0, "somebody is in the way");
            // A slot is up to an eighth larger than asked for.
            assert(
              gap < Math.max(256, step.allocate * 9 / 8),
              `${step.allocate} bytes refused, ${gap} in a row are free`,
            );
            continue;
          }
          assert.equal(slot.address % 16, 0);
          assert(slot.bytes >= step.allocate);
          assert(slot.address >= START);
          assert(slot.address + slot.bytes <= START + BYTES);
          for (const other of held) {
            assert(
              slot.address + slot.bytes <= other.address ||
                other.address + other.bytes <= slot.address,
              "slots overlap",
            );
          }
          held.push(slot);
          const used = held.reduce((sum, { bytes }) => sum + bytes, 0);
          assert.equal(pool.usedBytes, used);
        }
        for (const slot of held) pool.release(slot);
        assert.equal(pool.usedBytes, 0);
        assert.equal(
          pool.allocate(BYTES).address,
          START,
          "all of it is reusable",
        );
      },
    ),
    { numRuns: propertyRuns(300) },
  );
});

Deno.test("SlotPool has room for a long request after a flood of short ones", () => {
  const pool = new SlotPool(START, START + BYTES);
  const short = Array.from({ length: BYTES / 256 }, () => pool.allocate(200));
  assert.throws(() => pool.allocate(200), {
    name: "QueueFullError",
    message:
      /no room for a slot of 256 bytes, as 32768 of 32768 bytes are in use/,
  });
  for (const slot of short) pool.release(slot);
  assert.equal(pool.allocate(20_000).address, START);
});

Deno.test("SlotPool says when a request can never fit", () => {
  const pool = new SlotPool(START, START + BYTES);
  assert.throws(() => pool.allocate(BYTES + 1), {
    name: "RangeError",
    message: /needs a slot of 36864 bytes, all slots have 32768/,
  });
});

Deno.test("SlotPool has room once it is as large as it said", () => {
  for (const bytes of [1, 240, 257, 300, 4095, 5000, 32_769, 13_000_001]) {
    let said = "";
    try {
      new SlotPool(0, bytes - 1).allocate(bytes);
    } catch (error) {
      said = (error as Error).message;
    }
    const needed = Number(/a slot of (\d+) bytes/.exec(said)?.[1]);
    assert.doesNotThrow(() => new SlotPool(0, needed).allocate(bytes), said);
  }
});
