/**
 * A process of its own, with `--expose-gc`: says how many bytes of what has come and gone are held when only young
 * objects are collected.
 */
import process from "node:process";
import { SteadyMap } from "../../src/base/steady_map.ts";
import { Cuts } from "../../src/server/runtime/cuts.ts";

const ENTRIES = 2000;
/** Of each. */
const WORDS = 1000;
/** Entries at once. */
const PRESENT = 20;
const BETWEEN_COLLECTIONS = 50;

const { gc } = globalThis as unknown as {
  gc(options?: { type: "minor" }): void;
};

/** Bytes that are held when entries have come and gone. @param turn lets one come, and the one before it leave */
async function heldBytes(
  turn: (at: number, entry: number[]) => unknown,
): Promise<number> {
  // From here on its tables are old.
  gc();
  gc();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < ENTRIES; at++) {
    await turn(at, new Array(WORDS).fill(at));
    if (at % BETWEEN_COLLECTIONS === 0) gc({ type: "minor" });
  }
  gc({ type: "minor" });
  return process.memoryUsage().heapUsed - before;
}

const steady = new SteadyMap<number[]>();
const map = await heldBytes((at, entry) => {
  steady.set(`${at}`, entry);
  steady.delete(`${at - PRESENT}`);
});

const shared = new Cuts<number[]>();
const answering: (() => void)[] = [];
const cuts = await heldBytes(async (_at, entry) => {
  void shared.orCut(
    new Promise((resolve) => answering.push(() => resolve(entry))),
  );
  if (answering.length > PRESENT) answering.shift()!();
  // It is let go a few microtasks after its answer.
  await new Promise((resolve) => setTimeout(resolve));
});
const pointerBytes = 4;
console.log(JSON.stringify({ map, cuts, of: ENTRIES * WORDS * pointerBytes }));
