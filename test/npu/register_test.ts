import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Gemm } from "../../src/npu/dataflow.ts";
import {
  loadRegisterArray,
  type Operands,
  type RegisterOptions,
} from "../../src/npu/register/register_array.ts";
import { randomOperands } from "./gemm_oracle.ts";

const array = loadRegisterArray(
  readFileSync(new URL("../../build/shoal.wasm", import.meta.url)),
);

const GEMM: Gemm = { m: 7, n: 5, k: 9 };
const OPTIONS: RegisterOptions = {
  dataflow: "ws",
  mode: "causal",
  dtype: "f32",
};

Deno.test("run() of a fold takes 2R + C + T - 2 cycles (ws) and 2R + C + T - 3 (os)", () => {
  const gemm = { m: 6, n: 4, k: 4 };
  const operands = randomOperands(gemm, "f32", 1);
  const cycles = (
    dataflow: "ws" | "os",
    shape: { rows: number; cols: number },
  ) => array.run(gemm, operands, shape, { ...OPTIONS, dataflow }).cycles;
  assert.equal(cycles("ws", { rows: 4, cols: 4 }), 2 * 4 + 4 + 6 - 2);
  assert.equal(cycles("os", { rows: 6, cols: 4 }), 2 * 6 + 4 + 4 - 3);
});

Deno.test("run() rejects operands that do not fit, naming them", () => {
  const operands = randomOperands(GEMM, "f32", 1);
  const shape = { rows: 4, cols: 4 };
  const short: Operands = { ...operands, filter: new Float32Array(44) };
  assert.throws(
    () => array.run(GEMM, short, shape, OPTIONS),
    /filter must have 45 words, got 44/,
  );
  assert.throws(
    () => array.run(GEMM, operands, shape, { ...OPTIONS, dtype: "int8" }),
    /ifmap must be a Int8Array for dtype int8/,
  );
  assert.throws(
    () => array.run(GEMM, operands, { rows: 0, cols: 4 }, OPTIONS),
    /array rows must be an integer of at least 1, got 0/,
  );
});

Deno.test("run() logs active PEs and port words of every cycle", () => {
  const operands = randomOperands(GEMM, "f32", 2);
  const run = array.run(GEMM, operands, { rows: 4, cols: 4 }, {
    ...OPTIONS,
    logCycles: 1_000,
  });
  const sums = [0, 0, 0, 0];
  run.log!.forEach((value, i) => sums[i % 4] += value);
  assert.deepEqual(sums, [
    7 * 5 * 9,
    run.ifmapReads,
    run.filterReads,
    run.outputWords,
  ]);
  // Rows load in cycles 0 to 3; the first word enters in cycle 4 and meets one PE.
  assert.deepEqual([...run.log!.subarray(0, 4)], [0, 0, 4, 0]);
  assert.deepEqual([...run.log!.subarray(16, 20)], [1, 1, 0, 0]);
});

Deno.test("begin() stops between any two cycles and goes on", () => {
  const operands = randomOperands(GEMM, "int8", 3);
  const options: RegisterOptions = {
    dataflow: "is",
    mode: "overlapped",
    dtype: "int8",
  };
  const whole = array.run(GEMM, operands, { rows: 4, cols: 3 }, options);
  const job = array.begin(GEMM, operands, { rows: 4, cols: 3 }, options);
  let cycles = 0;
  while (!job.advance(1)) assert.equal(job.cycles, ++cycles);
  assert.deepEqual(job.result(), whole);
});
