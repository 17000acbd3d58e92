import assert from "node:assert/strict";
import { type ImageShape, imageShape } from "../../src/tensor/image_shape.ts";
import { KernelHost } from "../../src/kernels/host/kernel_host.ts";
import { release } from "./builds.ts";
import { pool } from "./reference/image.ts";

/** One window; thirty-two channels at once and the rest; windows that overlap. */
const SHAPES = [
  imageShape({ height: 2, width: 2, channels: 23, kernel: 2 }),
  imageShape({ height: 2, width: 2, channels: 43, kernel: 2 }),
  imageShape({
    ...{ height: 4, width: 6, channels: 32, kernel: 3, stride: 2 },
    pads: [1, 1, 1, 1],
  }),
];

/** Compares maxima of an image whose pixels are -1 but for those given with the reference's. */
function compare(
  shape: ImageShape,
  pixels: readonly { at: number; channel: number; value: number }[],
): void {
  const { height, width, channels, outHeight, outWidth } = shape;
  const host = new KernelHost(release.kernels, release.memory);
  const image = new Float32Array(height * width * channels).fill(-1);
  for (const { at, channel, value } of pixels) {
    image[at * channels + channel] = value;
  }
  const out = host.rows(1, outHeight * outWidth * channels, "f32");
  host.call("pool_max_f32", {
    shape,
    inRows: host.rows(1, image.length, image),
    outRows: out,
  });
  const expected = pool("max", shape, image);
  host.read(out).forEach((value, i) =>
    assert.ok(
      Object.is(value, expected[i]),
      `${JSON.stringify(pixels)} of ${channels}: ${value} at ${i}`,
    )
  );
}

Deno.test("pool_max_f32 keeps a NaN, wherever it stands, to its own channel and windows", () => {
  for (const shape of SHAPES) {
    for (let at = 0; at < shape.height * shape.width; ++at) {
      for (let channel = 0; channel < shape.channels; ++channel) {
        compare(shape, [{ at, channel, value: NaN }]);
      }
    }
  }
});

Deno.test("pool_max_f32 takes infinities of both signs for what they are", () => {
  for (const shape of SHAPES) {
    compare(shape, [
      { at: 0, channel: 3, value: -Infinity },
      { at: 2, channel: 3, value: Infinity },
      { at: 1, channel: 4, value: -Infinity },
      { at: 3, channel: 20, value: Infinity },
    ]);
  }
});
