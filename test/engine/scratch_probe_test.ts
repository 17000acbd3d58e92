import assert from "node:assert/strict";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import { probeScratch } from "../../src/engine/wall/scratch_probe.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";

Deno.test("the probe answers once per thread, variants of the build and kind of memory", async () => {
  for (
    const [name, isShared, has] of [
      ["shoal", false, 1],
      ["shoal.shared", true, 1],
      ["shoal.dot", false, 3],
      ["shoal.relaxed-shared", true, 2],
    ] as const
  ) {
    const source = await readKernels(name);
    const memory = isShared
      ? new WebAssembly.Memory({ initial: 4, maximum: 65536, shared: true })
      : new WebAssembly.Memory({ initial: 4 });
    const kernels = instantiateKernels(source, { memory });
    assert.equal(kernels.shoal_variants(), has);
    const answer = probeScratch(source, { shared: isShared });
    assert.equal(answer.variants & ~has, 0);
    assert.equal(answer.bytes, kernels.shoal_scratch_bytes(answer.variants));
    assert.deepEqual(probeScratch(source, { shared: isShared }), answer);
  }
});
