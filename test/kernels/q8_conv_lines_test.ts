// What an output pixel sees of an image is packed where it lies, line by line, unless it meets padding
// (assembly/q8_conv.ts, q8_pack.ts): lines that end within words, lines apart, and images beside each other.
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { imageShape, type ImageWindow } from "../../src/tensor/image_shape.ts";
import { builds, release } from "./builds.ts";
import { convQ8Case } from "./cases/q8_conv.ts";
import type { KernelCase } from "./kernel_case.ts";
import { place } from "./placement.ts";

const ROWS = 3;
const ZERO = 57;
/** First of the biases in a panel's header, of 4-byte words. */
const BIAS = 24;

const SHAPES: Record<string, ImageWindow> = {
  "7x7 over three channels": {
    ...{ height: 19, width: 21, channels: 3, outChannels: 64 },
    ...{ kernel: 7, stride: 2, pads: [3, 3, 3, 3] },
  },
  "3x3 over whole words": {
    ...{ height: 9, width: 8, channels: 20, outChannels: 19 },
    ...{ kernel: 3, pads: [1, 1, 1, 1] },
  },
  "lines apart": {
    ...{ height: 12, width: 9, channels: 5, outChannels: 8 },
    ...{ kernel: [3, 2], dilation: [3, 1], pads: [2, 0, 0, 1] },
  },
  "one line": {
    ...{ height: 5, width: 17, channels: 3, outChannels: 9 },
    ...{ kernel: [1, 3], stride: [1, 2] },
  },
  "1x1 of every other pixel": {
    ...{ height: 9, width: 11, channels: 8, outChannels: 16 },
    ...{ kernel: 1, stride: 2 },
  },
  "a kernel larger than its image": {
    ...{ height: 3, width: 2, channels: 4, outChannels: 8 },
    ...{ kernel: 5, pads: [0, 0, 3, 4] },
  },
};

function bitsOf(kernelCase: KernelCase, build: typeof release): Int32Array {
  const placed = place(build.memory, kernelCase, { base: build.base });
  placed.run(build.kernels);
  placed.checkUntouched();
  return new Int32Array(placed.bits("out").buffer);
}

for (const [name, window] of Object.entries(SHAPES)) {
  Deno.test(`int8 convolutions see the same wherever pixels lie, in every build: ${name}`, () => {
    const shape = imageShape(window);
    for (const seven of [true, false]) {
      for (const kernel of ["conv_q8_i32", "conv_q8_u8"] as const) {
        const kernelCase = convQ8Case(kernel).of(
          { prng: new Prng(5), rows: ROWS, exact: false },
          { shape, seven, imageZero: ZERO },
        );
        const expected = Int32Array.from(kernelCase.expected().out);
        for (const build of builds) {
          const message = `${build.name}: ${kernelCase.label}`;
          assert.deepEqual(bitsOf(kernelCase, build), expected, message);
        }
      }
    }
  });
}

Deno.test("what is no number becomes the zero point in every build, whatever lies beside it", () => {
  const shape = imageShape(SHAPES["7x7 over three channels"]);
  const kernelCase = convQ8Case("conv_q8_u8").of(
    { prng: new Prng(6), rows: ROWS, exact: false },
    { shape, seven: false, imageZero: ZERO },
  );
  const words = kernelCase.blocks!.w;
  const floats = new Float32Array(words.buffer, words.byteOffset);
  [NaN, Infinity, -Infinity].forEach((bias, i) => floats[BIAS + 2 * i] = bias);
  const expected = bitsOf(kernelCase, release);
  const bytes = new Uint8Array(expected.buffer, 16);
  assert.deepEqual([bytes[0], bytes[2], bytes[4]], [100, 255, 0]);
  for (const build of builds) {
    assert.deepEqual(bitsOf(kernelCase, build), expected, build.name);
  }
});
