import assert from "node:assert/strict";
import { readKernels } from "../../src/engine/runtime.ts";
import { probeScratch } from "../../src/engine/scratch_probe.ts";
import { instantiateKernels } from "../../src/kernels/module.ts";

Deno.test("the probe of scratch memory answers once per thread and kind of memory, and never blocks for relaxed builds", async () => {
  const shared = await readKernels("shoal.shared");
  const memory = new WebAssembly.Memory({ initial: 4 });
  const plain = await readKernels("shoal");
  const kernels = instantiateKernels(plain, { memory });
  for (const [source, isShared] of [[shared, true], [plain, false]] as const) {
    const answer = probeScratch(source, isShared);
    assert.equal(answer.bytes, kernels.shoal_scratch_bytes(answer.blocks));
    assert.ok(answer.bytes > 0);
    assert.deepEqual(probeScratch(source, isShared), answer);
  }
  const relaxed = probeScratch(await readKernels("shoal.relaxed-shared"), true);
  assert.equal(relaxed.blocks, 0);
});
