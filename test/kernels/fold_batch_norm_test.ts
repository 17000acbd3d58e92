import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { imageShape, transposedShape } from "../../src/tensor/image_shape.ts";
import { drawFloats } from "./kernel_case.ts";
import { foldBatchNorm } from "../../src/kernels/pack/pack_conv.ts";
import { conv, convTranspose } from "./reference/image.ts";

const CHANNELS = 3;
const OUT = 5;
const shape = imageShape({
  ...{ height: 4, width: 5, channels: CHANNELS, outChannels: OUT, kernel: 3 },
  pads: [1, 1, 1, 1],
});

Deno.test("foldBatchNorm() gives the convolution that the two together are", () => {
  for (const withBias of [true, false]) {
    const draw = { prng: new Prng(5), rows: 1, exact: false };
    const floats = (length: number) => drawFloats(draw, length);
    const image = floats(4 * 5 * CHANNELS);
    const weight = floats(OUT * CHANNELS * 9);
    const bias = withBias ? floats(OUT) : undefined;
    const norm = {
      scale: floats(OUT),
      shift: floats(OUT),
      mean: floats(OUT),
      variance: floats(OUT).map((x) => x * x),
      epsilon: 1e-3,
    };
    const folded = foldBatchNorm({ weight, ...(bias && { bias }) }, norm);
    const got = conv(shape, image, folded.weight, folded.bias);
    conv(shape, image, weight, bias ?? new Float32Array(OUT)).forEach(
      (value, i) => {
        const j = i % OUT;
        const deviation = Math.sqrt(norm.variance[j] + norm.epsilon);
        const expected = (value - norm.mean[j]) / deviation * norm.scale[j] +
          norm.shift[j];
        // Every weight and bias is rounded once.
        const allowed = 2 ** -23 * 30 * (1 + Math.abs(norm.scale[j])) /
          deviation;
        assert.ok(Math.abs(got[i] - expected) <= allowed, `element ${i}`);
      },
    );
  }
});

Deno.test("foldBatchNorm() gives the transposed convolution that the two together are, in groups", () => {
  const transposed = transposedShape({
    ...{ height: 3, width: 4, channels: 6, outChannels: 4, kernel: [3, 2] },
    ...{ stride: 2, groups: 2 },
  });
  const draw = { prng: new Prng(6), rows: 1, exact: false };
  const floats = (length: number) => drawFloats(draw, length);
  const image = floats(3 * 4 * 6);
  const weight = floats(6 * 2 * 3 * 2);
  const bias = floats(4);
  const norm = {
    scale: floats(4),
    shift: floats(4),
    mean: floats(4),
    variance: floats(4).map((x) => 0.5 + x * x),
  };
  const folded = foldBatchNorm({ weight, bias }, norm, transposed);
  const got = convTranspose(transposed, image, folded.weight, folded.bias);
  convTranspose(transposed, image, weight, bias).forEach((value, i) => {
    const j = i % 4;
    const expected = (value - norm.mean[j]) /
        Math.sqrt(norm.variance[j] + 1e-5) * norm.scale[j] + norm.shift[j];
    assert.ok(
      Math.abs(got[i] - expected) <= 1e-5 * (1 + Math.abs(expected)),
      `element ${i}`,
    );
  });
  assert.throws(
    () => foldBatchNorm({ weight: floats(8), bias }, norm, transposed),
    /weight must have 72 elements, has 8/,
  );
});

Deno.test("foldBatchNorm() names the array whose length is wrong", () => {
  const two = new Float32Array(2);
  const norm = { scale: two, shift: two, mean: two, variance: two };
  assert.throws(
    () =>
      foldBatchNorm({ weight: two }, { ...norm, mean: new Float32Array(3) }),
    /mean must have 2 elements, has 3/,
  );
  assert.throws(
    () => foldBatchNorm({ weight: new Float32Array(5) }, norm),
    /Cannot fold 2 channels into 5 weights/,
  );
  assert.throws(
    () => foldBatchNorm({ weight: two, bias: new Float32Array(1) }, norm),
    /bias must have 2 elements, has 1/,
  );
});
