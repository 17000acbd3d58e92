import assert from "node:assert/strict";
import { machineSize, sizeFor } from "../../src/cli/machine_size.ts";

Deno.test("a machine is in the class of machines three times slower and three times faster", () => {
  // What WebAssembly's 128-bit SIMD reaches today, on one thread.
  for (const gflops of [32 / 3, 16, 32, 60, 32 * 3]) {
    assert.equal(sizeFor(gflops).size, "medium", `${gflops}`);
  }
  assert.deepEqual(sizeFor(2), {
    size: "small",
    why: "one thread does 2 GFLOP/s, small is below 8",
  });
  assert.deepEqual(sizeFor(200), {
    size: "large",
    why: "one thread does 200 GFLOP/s, large is above 128",
  });
});

Deno.test("the class of this machine is the same again", async () => {
  const { size, why } = await machineSize();
  assert.match(why, /^one thread does [\d.]+ GFLOP\/s, \w+ is /);
  assert.equal((await machineSize()).size, size);
});
