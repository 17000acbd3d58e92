/** What a recorded machine did, beside what a profile says. */
import assert from "node:assert/strict";
import { stretchesOf } from "../../src/cli/recorded_load.ts";

const MS = 1e6;

/** A task of two rows that took two milliseconds. */
const task = (cell: string, share: number) => ({
  ...{ worker: 0, cell, startNs: 0, endNs: 2 * MS, rows: 2, share },
  heardNs: 2 * MS,
});

Deno.test("how fast a machine was counts what texts were long; cells and rows that no profile has say nothing", () => {
  const speed = (...tasks: ReturnType<typeof task>[]) =>
    stretchesOf([tasks], { A: [[1, MS], [2, MS]] }, 1, 0)[0].speed[0];
  assert.deepEqual(speed(task("A", 1)), [500, 500]);
  assert.deepEqual(speed(task("A", 1.5)), [750, 750]);
  assert.deepEqual(speed(task("B", 1)), [1000, 1000]);
  assert.deepEqual(speed({ ...task("A", 1), rows: 3 }), [1000, 1000]);
});
