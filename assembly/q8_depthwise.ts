// int8 depthwise convolution: every channel has a kernel of its own, groups = channels = outChannels.
// Taps go two by two: bytes of both interleaved, widened and summed in pairs, 16 channels at a time. A
// tap in the padding is read from a line of zero points; of an odd number the last is, with weight 0.
import { image } from "./image";
import { finishQ8 } from "./q8_epilogue";
import { readsQ8, writesQ8 } from "./q8_job";
import { row } from "./simd";

/** Bytes before a block's weights: a panel's header without its exceptions. */
const HEADER: usize = 128;

/** Whether no channel meets another. */
// @ts-ignore: decorator
@inline export function isDepthwise(s: usize): bool {
  return image.groups(s) == image.channels(s) && image.groups(s) == image.outChannels(s);
}

/** Pairs of taps. */
// @ts-ignore: decorator
@inline function pairsOf(s: usize): i32 {
  return (image.kernelHeight(s) * image.kernelWidth(s) + 1) >> 1;
}

/** Bytes of packed weights. */
export function depthwiseQ8Bytes(s: usize): usize {
  return <usize>((image.channels(s) + 7) >> 3) * (HEADER + (<usize>pairsOf(s) << 5));
}

/** Bytes of a line of zero points. */
// @ts-ignore: decorator
@inline function zerosBytes(s: usize): usize {
  return <usize>(image.channels(s) + 15) & ~15;
}

/** Bytes of scratch memory: zero points, and where each tap of a pixel lies. */
export function depthwiseQ8ScratchBytes(s: usize): usize {
  return zerosBytes(s) + (<usize>pairsOf(s) << 3) + 15 & ~15;
}

/** As conv_q8_f32, results as finishQ8() knows them. */
export function depthwiseQ8(
  m: i32, s: usize, inRows: usize, w: usize, outRows: usize, kind: i32, zeros: usize
): void {
  const channels = image.channels(s);
  const pairs = pairsOf(s);
  const table = zeros + zerosBytes(s);
  readsQ8(1, inRows, 0);
  for (let at: usize = 0, stop = <usize>m << 2; at < stop; at += 4) {
    const a = row(inRows, at);
    memory.fill(zeros, <u8>load<i32>(a, 4), zerosBytes(s));
    for (let oy = 0, pixel = 0; oy < image.outHeight(s); ++oy) {
      for (let ox = 0; ox < image.outWidth(s); ++ox, pixel += channels) {
        point(s, oy, ox, a + 16, zeros, table);
        writesQ8(pixel + channels, kind, outRows);
        onePixel(channels, pairs, table, w, at, pixel);
      }
    }
  }
}

/** Addresses of the taps of one output pixel. */
function point(s: usize, oy: i32, ox: i32, a: usize, zeros: usize, table: usize): void {
  const width = image.width(s), channels = image.channels(s);
  const kernelWidth = image.kernelWidth(s), rightBy = image.dilationWidth(s);
  const x0 = ox * image.strideWidth(s) - image.padLeft(s);
  let y = oy * image.strideHeight(s) - image.padTop(s);
  for (let ky = image.kernelHeight(s); ky > 0; --ky, y += image.dilationHeight(s)) {
    const inside = <u32>y < <u32>image.height(s);
    for (let kx = kernelWidth, x = x0; kx > 0; --kx, x += rightBy, table += 4) {
      const tap = a + <usize>((y * width + x) * channels);
      store<u32>(table, <u32>(inside && <u32>x < <u32>width ? tap : zeros));
    }
  }
  if (image.kernelHeight(s) * kernelWidth & 1) store<u32>(table, <u32>zeros);
}

/** All channels of one output pixel. */
function onePixel(channels: i32, pairs: i32, table: usize, w: usize, at: usize, pixel: i32): void {
  const end = table + (<usize>pairs << 3);
  const block = HEADER + (<usize>pairs << 5);
  const none = v128.splat<i32>(0);
  let c = 0;
  for (; c + 16 <= channels; c += 16, w += 2 * block) {
    let lo = none, hi = none, lo2 = none, hi2 = none;
    let weights = w + HEADER;
    for (let taps = table; taps < end; taps += 8, weights += 32) {
      const p = v128.load(<usize>load<u32>(taps) + c), q = v128.load(<usize>load<u32>(taps, 4) + c);
      const first = interleaved(p, q);
      const second = v128.shuffle<u8>(p, q, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
      lo = i32x4.add(lo, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(first), v128.load(weights)));
      hi = i32x4.add(hi, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_u(first), v128.load(weights, 16)));
      lo2 = i32x4.add(lo2, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(second), v128.load(weights + block)));
      hi2 = i32x4.add(hi2, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_u(second), v128.load(weights + block, 16)));
    }
    finishQ8(lo, hi, w, at, pixel + c);
    finishQ8(lo2, hi2, w + block, at, pixel + c + 8);
  }
  for (; c < channels; c += 8, w += block) {
    let lo = none, hi = none;
    let weights = w + HEADER;
    for (let taps = table; taps < end; taps += 8, weights += 32) {
      const both = interleaved(
        eight(<usize>load<u32>(taps) + c, channels - c), eight(<usize>load<u32>(taps, 4) + c, channels - c)
      );
      lo = i32x4.add(lo, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(both), v128.load(weights)));
      hi = i32x4.add(hi, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_u(both), v128.load(weights, 16)));
    }
    finishQ8(lo, hi, w, at, pixel + c);
  }
}

/** Bytes of the low halves in turn. */
// @ts-ignore: decorator
@inline function interleaved(p: v128, q: v128): v128 {
  return v128.shuffle<u8>(p, q, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

/** The first 8 bytes at p, `count` if there are no more; never reads past them. */
function eight(p: usize, count: i32): v128 {
  if (count >= 8) return v128.load_zero<u64>(p);
  let bytes: u64 = 0;
  for (let i = 0; i < count; ++i) bytes |= <u64>load<u8>(p + i) << (i << 3);
  return i64x2.splat(bytes);
}
