import assert from "node:assert/strict";
import { imageShape } from "../../src/tensor/image_shape.ts";
import { KernelHost } from "../../src/kernels/host/kernel_host.ts";
import { release } from "./builds.ts";

const CHANNELS = 23;

/** Maxima of one 2x2 window over 23 channels, all pixels 0 but for those given. */
function maxima(
  pixels: readonly { at: number; channel: number; value: number }[],
): Float32Array {
  const host = new KernelHost(release.kernels, release.memory);
  const shape = imageShape({
    ...{ height: 2, width: 2, channels: CHANNELS, kernel: 2 },
  });
  const image = new Float32Array(4 * CHANNELS);
  for (const { at, channel, value } of pixels) {
    image[at * CHANNELS + channel] = value;
  }
  const out = host.rows(1, CHANNELS, "f32");
  host.call("pool_max_f32", {
    shape,
    inRows: host.rows(1, image.length, image),
    outRows: out,
  });
  return host.read(out);
}

Deno.test("pool_max_f32 keeps a NaN, wherever it stands, to its own channel", () => {
  for (let at = 0; at < 4; ++at) {
    for (let channel = 0; channel < CHANNELS; ++channel) {
      const got = maxima([{ at, channel, value: NaN }]);
      got.forEach((value, c) =>
        assert.ok(Object.is(value, c === channel ? NaN : 0), `${at} ${c}`)
      );
    }
  }
});

Deno.test("pool_max_f32 takes infinities of both signs for what they are", () => {
  const got = maxima([
    { at: 0, channel: 3, value: -Infinity },
    { at: 2, channel: 3, value: Infinity },
    { at: 1, channel: 4, value: -Infinity },
    { at: 3, channel: 20, value: Infinity },
  ]);
  got.forEach((value, c) =>
    assert.equal(value, c === 3 || c === 20 ? Infinity : 0)
  );
});
