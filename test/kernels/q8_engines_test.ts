/**
 * int8 sums in an engine that may not use the processor's dot product (VNNI): its own saturates at 16 bits, and takes
 * activations of 8 bits for what they are not. Which way the kernels go depends on both.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

const TESTS: readonly (readonly [file: string, filter: string])[] = [
  ["kernels_test.ts", "gemm_q8_i32 is exact"],
  ["q8_chain_test.ts", "exact wherever chains"],
  ["q8_streaming_test.ts", "int8 sums"],
];

for (const [file, filter] of TESTS) {
  Deno.test(`${filter} of ${file} without VNNI`, () => {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        ...["test", "-A", "--no-check", "--v8-flags=--no-enable-avx-vnni"],
        ...[`--filter=${filter}`, path],
      ],
      { encoding: "utf8" },
    );
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /[1-9]\d* passed/);
  });
}
