import assert from "node:assert/strict";
import { readKernels } from "../../src/engine/runtime.ts";
import { convScratchBytes, shapeWords } from "../../src/kernels/image_shape.ts";
import { instantiateKernels } from "../../src/kernels/module.ts";
import { imageShape } from "../../src/tensor/image_shape.ts";

Deno.test("convScratchBytes() says what the kernels say", async () => {
  const memory = new WebAssembly.Memory({ initial: 4 });
  const kernels = instantiateKernels(await readKernels("shoal"), { memory });
  const at = kernels.shoal_static_end() >>> 0;
  for (const channels of [1, 2, 3, 4, 8, 21, 22, 64, 65]) {
    for (const kernel of [1, 2, 3, [1, 7], [7, 1]] as const) {
      for (const options of [{}, { dilation: 2 }, { groups: channels }]) {
        const shape = imageShape({
          height: 14,
          width: 14,
          channels,
          kernel,
          ...options,
        });
        new Int32Array(memory.buffer).set(shapeWords(shape), at / 4);
        assert.equal(
          convScratchBytes(shape),
          kernels.conv_scratch_bytes(at),
          JSON.stringify(shape),
        );
      }
    }
  }
});
