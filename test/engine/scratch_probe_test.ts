import assert from "node:assert/strict";
import { readKernels } from "../../src/engine/runtime.ts";
import { probeScratchBytes } from "../../src/engine/scratch_probe.ts";
import { instantiateKernels } from "../../src/kernels/module.ts";

Deno.test("the probe of scratch memory answers once per thread and kind of memory, and no for relaxed builds", async () => {
  const shared = await readKernels("shoal.shared");
  const memory = new WebAssembly.Memory({ initial: 4 });
  const plain = await readKernels("shoal");
  const bytes = instantiateKernels(plain, { memory }).shoal_scratch_bytes();
  for (const [source, isShared] of [[shared, true], [plain, false]] as const) {
    const answer = probeScratchBytes(source, isShared);
    assert.ok(answer === 0 || answer === bytes, `${answer}`);
    assert.equal(probeScratchBytes(source, isShared), answer);
  }
  assert.equal(
    probeScratchBytes(await readKernels("shoal.relaxed-shared"), true),
    0,
  );
});
