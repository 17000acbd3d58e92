import assert from "node:assert/strict";
import { readKernels } from "../../src/engine/wall/runtime.ts";
import {
  convScratchBytes,
  shapeWords,
} from "../../src/kernels/pack/image_words.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import {
  imageShape,
  type ImageWindow,
  transposedShape,
} from "../../src/tensor/image_shape.ts";

const plain: ImageWindow = { height: 7, width: 9, channels: 4, kernel: 3 };

Deno.test("convScratchBytes() says what the kernels say", async () => {
  const memory = new WebAssembly.Memory({ initial: 4 });
  const kernels = instantiateKernels(await readKernels("shoal"), { memory });
  const at = kernels.shoal_static_end() >>> 0;
  for (const channels of [1, 2, 3, 4, 8, 14, 15, 16, 17, 21, 22, 64, 65]) {
    for (const kernel of [1, 2, 3, [1, 7], [7, 1], [2, 70]] as const) {
      for (const options of [{}, { dilation: 2 }, { groups: channels }]) {
        const shape = imageShape({
          height: 140,
          width: 140,
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

Deno.test("imageShape() counts windows as ONNX does", () => {
  const size = (change: Partial<ImageWindow>) => {
    const { outHeight, outWidth } = imageShape({ ...plain, ...change });
    return [outHeight, outWidth];
  };
  assert.deepEqual(size({}), [5, 7]);
  assert.deepEqual(size({ pads: [1, 1, 1, 1] }), [7, 9]);
  assert.deepEqual(size({ pads: [2, 0, 1, 0] }), [8, 7]);
  assert.deepEqual(size({ stride: 2 }), [3, 4]);
  assert.deepEqual(size({ stride: [3, 4] }), [2, 2]);
  assert.deepEqual(size({ stride: [3, 4], ceil: true }), [3, 3]);
  // A last window that would begin behind the image and its first padding is none.
  const square = { height: 4, width: 4, kernel: 1, stride: 2, ceil: true };
  assert.deepEqual(size(square), [2, 2]);
  assert.deepEqual(size({ ...square, kernel: 2, pads: [0, 1, 1, 0] }), [2, 3]);
  assert.deepEqual(size({ dilation: [2, 4] }), [3, 1]);
});

Deno.test("transposedShape() undoes imageShape() where strides divide, and adds lines where not", () => {
  const there = imageShape({ ...plain, stride: 2, pads: [1, 1, 1, 1] });
  const back = transposedShape({
    ...{ height: there.outHeight, width: there.outWidth, channels: 4 },
    ...{ kernel: 3, stride: 2, pads: [1, 1, 1, 1] },
  });
  assert.deepEqual([back.outHeight, back.outWidth], [7, 9]);
  const larger = transposedShape({
    ...{ height: there.outHeight, width: there.outWidth, channels: 4 },
    ...{ kernel: 3, stride: 2, pads: [1, 1, 1, 1], outputPadding: [1, 0] },
  });
  assert.deepEqual([larger.outHeight, larger.outWidth], [8, 9]);
});

Deno.test("imageShape() says what is wrong", () => {
  const wrong: [Partial<ImageWindow>, RegExp][] = [
    [{ height: 0 }, /height must be a positive integer, is 0/],
    [{ kernel: [3, 1.5] }, /kernelWidth must be a positive integer, is 1.5/],
    [{ stride: -1 }, /strideHeight must be a positive integer, is -1/],
    [
      { pads: [0, -1, 0, 0] },
      /Pads must be integers >= 0, four of them, got \[0,-1,0,0\]/,
    ],
    [{ groups: 3 }, /3 groups do not divide 4 channels into 4/],
    [{ groups: 2, outChannels: 5 }, /2 groups do not divide 4 channels into 5/],
    [{ kernel: 8 }, /A window of 8 x 8 does not fit an image of 7 x 9/],
  ];
  for (const [change, message] of wrong) {
    assert.throws(() => imageShape({ ...plain, ...change }), {
      name: "RangeError",
      message,
    });
  }
});

Deno.test("shapeWords() are the fields of assembly/image.ts in their order", () => {
  const shape = imageShape({
    ...{ height: 20, width: 30, channels: 4, outChannels: 6, groups: 2 },
    ...{ kernel: [3, 5], stride: [1, 2], dilation: [2, 3] },
    pads: [1, 2, 3, 4],
  });
  assert.deepEqual(
    [...shapeWords(shape)],
    [20, 30, 4, 20, 12, 6, 3, 5, 1, 2, 1, 2, 2, 3, 2, 3, 4],
  );
});
