/** Naive kernels over NHWC images in double precision, straight from ONNX's definitions. */
import type { ImageShape } from "../../../src/tensor/image_shape.ts";

type Numbers = ArrayLike<number>;

/** Calls `visit` for every tap of output pixel (oy, ox) that lies in the image. */
function eachTap(
  shape: ImageShape,
  oy: number,
  ox: number,
  visit: (y: number, x: number, tap: number) => void,
): void {
  const { kernel: [kh, kw], stride, dilation, pads: [top, left] } = shape;
  for (let ky = 0; ky < kh; ++ky) {
    for (let kx = 0; kx < kw; ++kx) {
      const y = oy * stride[0] - top + ky * dilation[0];
      const x = ox * stride[1] - left + kx * dilation[1];
      const inside = y >= 0 && y < shape.height && x >= 0 && x < shape.width;
      if (inside) visit(y, x, ky * kw + kx);
    }
  }
}

/** ONNX Conv of one image, weight [outChannels][channels / groups][kernel taps]. */
export function conv(
  shape: ImageShape,
  image: Numbers,
  weight: Numbers,
  bias: Numbers,
): Float64Array {
  const { outChannels, channels, groups, kernel: [kh, kw] } = shape;
  const own = channels / groups;
  const out = new Float64Array(shape.outHeight * shape.outWidth * outChannels);
  for (let oy = 0; oy < shape.outHeight; ++oy) {
    for (let ox = 0; ox < shape.outWidth; ++ox) {
      for (let o = 0; o < outChannels; ++o) {
        const first = Math.floor(o / (outChannels / groups)) * own;
        let sum = bias[o];
        eachTap(shape, oy, ox, (y, x, tap) => {
          for (let c = 0; c < own; ++c) {
            sum += image[(y * shape.width + x) * channels + first + c] *
              weight[(o * own + c) * kh * kw + tap];
          }
        });
        out[(oy * shape.outWidth + ox) * outChannels + o] = sum;
      }
    }
  }
  return out;
}

/** ONNX ConvTranspose of one image by scattering, weight [channels][outChannels / groups][taps]. */
export function convTranspose(
  shape: ImageShape,
  image: Numbers,
  weight: Numbers,
  bias: Numbers,
): Float64Array {
  const { channels, outChannels, groups, stride, dilation } = shape;
  const { kernel: [kh, kw], pads: [top, left] } = shape;
  const n = outChannels / groups;
  const pixels = shape.outHeight * shape.outWidth;
  const out = Float64Array.from(
    { length: pixels * outChannels },
    (_, i) => bias[i % outChannels],
  );
  for (let y = 0; y < shape.height; ++y) {
    for (let x = 0; x < shape.width; ++x) {
      for (let tap = 0; tap < kh * kw; ++tap) {
        const oy = y * stride[0] - top + Math.floor(tap / kw) * dilation[0];
        const ox = x * stride[1] - left + tap % kw * dilation[1];
        if (oy < 0 || oy >= shape.outHeight || ox < 0 || ox >= shape.outWidth) {
          continue;
        }
        for (let c = 0; c < channels; ++c) {
          const first = Math.floor(c / (channels / groups)) * n;
          for (let j = 0; j < n; ++j) {
            out[(oy * shape.outWidth + ox) * outChannels + first + j] +=
              image[(y * shape.width + x) * channels + c] *
              weight[(c * n + j) * kh * kw + tap];
          }
        }
      }
    }
  }
  return out;
}

/** ONNX MaxPool or AveragePool of one image. */
export function pool(
  kind: "max" | "average" | "averageWithPadding",
  shape: ImageShape,
  image: Numbers,
): Float64Array {
  const { channels } = shape;
  const { kernel: [kh, kw], stride, dilation, pads } = shape;
  const out = new Float64Array(shape.outHeight * shape.outWidth * channels);
  // Taps inside the image and its padding along one axis.
  const within = (o: number, axis: 0 | 1, size: number, kernel: number) =>
    Array.from(
      { length: kernel },
      (_, k) => o * stride[axis] - pads[axis] + k * dilation[axis],
    ).filter((at) => at < size + pads[axis + 2]).length;
  for (let oy = 0; oy < shape.outHeight; ++oy) {
    for (let ox = 0; ox < shape.outWidth; ++ox) {
      for (let c = 0; c < channels; ++c) {
        let [sum, max, count] = [0, -Infinity, 0];
        eachTap(shape, oy, ox, (y, x) => {
          const value = image[(y * shape.width + x) * channels + c];
          sum += value;
          max = Math.max(max, value);
          ++count;
        });
        if (kind === "averageWithPadding") {
          count = within(oy, 0, shape.height, kh) *
            within(ox, 1, shape.width, kw);
        }
        out[(oy * shape.outWidth + ox) * channels + c] = kind === "max"
          ? max
          : sum / count;
      }
    }
  }
  return out;
}
