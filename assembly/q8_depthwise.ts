// int8 depthwise convolution: every channel has a kernel of its own, groups = channels = outChannels.
// Eight channels at a time, products of 9 by 9 bits summed in 32; taps in the padding are left out.
import { endTap, firstTap, image } from "./image";
import { finishQ8 } from "./q8_epilogue";
import { writesQ8 } from "./q8_job";
import { row } from "./simd";

/** Bytes before a block's weights: a panel's header without its exceptions. */
const HEADER: usize = 128;

/** Whether no channel meets another. */
// @ts-ignore: decorator
@inline export function isDepthwise(s: usize): bool {
  return image.groups(s) == image.channels(s) && image.groups(s) == image.outChannels(s);
}

/** Bytes of 8 channels' weights. */
// @ts-ignore: decorator
@inline function blockBytes(s: usize): usize {
  return HEADER + (<usize>(image.kernelHeight(s) * image.kernelWidth(s)) << 4);
}

/** Bytes of packed weights. */
export function depthwiseQ8Bytes(s: usize): usize {
  return <usize>((image.channels(s) + 7) >> 3) * blockBytes(s);
}

/** As conv_q8_f32, results as finishQ8() knows them. */
export function depthwiseQ8(m: i32, s: usize, inRows: usize, w: usize, outRows: usize, kind: i32): void {
  const channels = image.channels(s);
  const width = image.width(s), kernelWidth = image.kernelWidth(s);
  const downBy = image.dilationHeight(s), rightBy = image.dilationWidth(s);
  const line = <usize>(width * channels);
  for (let at: usize = 0, stop = <usize>m << 2; at < stop; at += 4) {
    const a = row(inRows, at);
    for (let oy = 0, pixel = 0; oy < image.outHeight(s); ++oy) {
      const y = oy * image.strideHeight(s) - image.padTop(s);
      const top = firstTap(y, downBy);
      const rows = max(0, endTap(y, downBy, image.height(s), image.kernelHeight(s)) - top);
      for (let ox = 0; ox < image.outWidth(s); ++ox, pixel += channels) {
        const x = ox * image.strideWidth(s) - image.padLeft(s);
        const left = firstTap(x, rightBy);
        const columns = max(0, endTap(x, rightBy, width, kernelWidth) - left);
        writesQ8(pixel + channels, kind, outRows);
        onePixel(
          channels, a, a + 16 + <usize>((y + top * downBy) * width + x + left * rightBy) * channels,
          rows, columns, <usize>downBy * line, <usize>(rightBy * channels), w, blockBytes(s),
          HEADER + (<usize>(top * kernelWidth + left) << 4), <usize>kernelWidth << 4, at, pixel
        );
      }
    }
  }
}

/** All channels of one output pixel, the first of whose `rows` x `columns` taps are at `from`. */
function onePixel(
  channels: i32, a: usize, from: usize, rows: i32, columns: i32, lineBytes: usize, tapBytes: usize,
  w: usize, block: usize, skipped: usize, weightLine: usize, at: usize, pixel: i32
): void {
  const zero = v128.splat<i16>(<i16>load<i32>(a, 4));
  for (let c = 0; c < channels; c += 8, from += 8, w += block) {
    const left = channels - c;
    let lo = v128.splat<i32>(0), hi = lo;
    let tapLine = from, weights = w + skipped;
    for (let y = 0; y < rows; ++y, tapLine += lineBytes, weights += weightLine) {
      let tap = tapLine, weight = weights;
      for (let x = 0; x < columns; ++x, tap += tapBytes, weight += 16) {
        const q = i16x8.sub(left >= 8 ? v128.load8x8_u(tap) : part(tap, left), zero);
        const v = v128.load(weight);
        lo = i32x4.add(lo, i32x4.extmul_low_i16x8_s(q, v));
        hi = i32x4.add(hi, i32x4.extmul_high_i16x8_s(q, v));
      }
    }
    finishQ8(lo, hi, a, w, at, pixel + c);
  }
}

/** The first `count` < 8 bytes at p, widened to 16 bits; never reads past them. */
function part(p: usize, count: i32): v128 {
  let bytes: u64 = 0;
  for (let i = 0; i < count; ++i) bytes |= <u64>load<u8>(p + i) << (i << 3);
  return i16x8.extend_low_i8x16_u(i64x2.splat(bytes));
}
