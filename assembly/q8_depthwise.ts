// int8 depthwise convolution: every channel has a kernel of its own, groups = channels = outChannels.
// Taps go two by two: bytes of both interleaved, widened and summed in pairs, 16 channels at a time. A
// tap in the padding is read from a line of zero points; of an odd number the last is, with weight 0.
import { shifter } from "./constants";
import { image } from "./image";
import { activated, finishQ8, leastOf, mostOf, pointOf, q8, steps8 } from "./q8_epilogue";
import { readsQ8, scale, writesQ8, zero } from "./q8_job";
import { eight, row } from "./simd";

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

/** Bytes of scratch memory: zero points, and where each tap of a line's pixels lies. */
export function depthwiseQ8ScratchBytes(s: usize): usize {
  return zerosBytes(s) + (<usize>(pairsOf(s) * image.outWidth(s)) << 3) + 15 & ~15;
}

/** As conv_q8_f32, results as finishQ8() knows them. */
export function depthwiseQ8(
  m: i32, s: usize, inRows: usize, w: usize, outRows: usize, kind: i32, zeros: usize
): void {
  const channels = image.channels(s);
  const width = image.outWidth(s);
  const pairs = pairsOf(s);
  const table = zeros + zerosBytes(s);
  const tapBytes = <usize>pairs << 3;
  const block = HEADER + (<usize>pairs << 5);
  readsQ8(1, inRows, 0, 0);
  for (let at: usize = 0, stop = <usize>m << 2; at < stop; at += 4) {
    const a = row(inRows, at);
    memory.fill(zeros, <u8>load<i32>(a, 4), zerosBytes(s));
    for (let oy = 0, pixel = 0; oy < image.outHeight(s); ++oy, pixel += width * channels) {
      for (let ox = 0; ox < width; ++ox) point(s, oy, ox, a + 16, zeros, table + <usize>ox * tapBytes);
      const end = table + <usize>width * tapBytes;
      let c = 0, weights = w;
      for (; c + 16 <= channels; c += 16, weights += 2 * block) {
        line(channels, c, pairs, table, end, weights, a, row(outRows, at), pixel + c, kind);
      }
      for (let ox = 0; ox < width && c < channels; ++ox) {
        const at0 = pixel + ox * channels;
        writesQ8(at0 + channels, kind, outRows);
        restOfPixel(channels, c, pairs, table + <usize>ox * tapBytes, weights, at, at0);
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

/** 16 channels of a line of output pixels, whose constants stay at hand: results as finishQ8() has them. */
function line(
  channels: i32, c: i32, pairs: i32, taps: usize, end: usize, w: usize, a: usize, out: usize, first: i32, kind: i32
): void {
  const block = HEADER + (<usize>pairs << 5);
  const none = v128.splat<i32>(0);
  const rowZero = v128.load_splat<i32>(a, 4), rowScale = v128.load_splat<f32>(a);
  const z0 = i32x4.mul(rowZero, v128.load(w)), z1 = i32x4.mul(rowZero, v128.load(w, 16));
  const z2 = i32x4.mul(rowZero, v128.load(w + block)), z3 = i32x4.mul(rowZero, v128.load(w + block, 16));
  const s0 = f32x4.mul(rowScale, v128.load(w, 64)), s1 = f32x4.mul(rowScale, v128.load(w, 80));
  const s2 = f32x4.mul(rowScale, v128.load(w + block, 64)), s3 = f32x4.mul(rowScale, v128.load(w + block, 80));
  const s = v128.splat<f32>(scale), magic = shifter();
  const least = leastOf(zero), most = mostOf(zero, 255), point = pointOf(zero, magic);
  const act = kind & q8.ACTIVATION;
  const shift = kind & q8.U8 ? 0 : 2;
  const stride = <usize>channels << shift;
  let to = out + (kind & q8.U8 ? 16 : 0) + (<usize>first << shift);
  for (; taps < end; to += stride) {
    let lo = none, hi = none, lo2 = none, hi2 = none;
    let weights = w + HEADER;
    for (let pair = pairs; pair > 0; --pair, taps += 8, weights += 32) {
      const p = v128.load(<usize>load<u32>(taps) + c), q = v128.load(<usize>load<u32>(taps, 4) + c);
      const low = interleaved(p, q);
      const high = v128.shuffle<u8>(p, q, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
      lo = i32x4.add(lo, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(low), v128.load(weights)));
      hi = i32x4.add(hi, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_u(low), v128.load(weights, 16)));
      lo2 = i32x4.add(lo2, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(high), v128.load(weights + block)));
      hi2 = i32x4.add(hi2, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_u(high), v128.load(weights + block, 16)));
    }
    lo = i32x4.sub(lo, z0);
    hi = i32x4.sub(hi, z1);
    lo2 = i32x4.sub(lo2, z2);
    hi2 = i32x4.sub(hi2, z3);
    if (kind != q8.I32) {
      lo = activated(act, f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(lo), s0), v128.load(w, 96)));
      hi = activated(act, f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(hi), s1), v128.load(w, 112)));
      lo2 = activated(act, f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(lo2), s2), v128.load(w + block, 96)));
      hi2 = activated(act, f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(hi2), s3), v128.load(w + block, 112)));
      if (kind & q8.U8) {
        v128.store(to, i8x16.narrow_i16x8_u(
          steps8(f32x4.div(lo, s), f32x4.div(hi, s), least, most, magic, point),
          steps8(f32x4.div(lo2, s), f32x4.div(hi2, s), least, most, magic, point)
        ));
        continue;
      }
    }
    v128.store(to, lo);
    v128.store(to, hi, 16);
    v128.store(to, lo2, 32);
    v128.store(to, hi2, 48);
  }
}

/** Channels of one output pixel from c on, which are less than 16. */
function restOfPixel(channels: i32, c: i32, pairs: i32, table: usize, w: usize, at: usize, pixel: i32): void {
  const end = table + (<usize>pairs << 3);
  const block = HEADER + (<usize>pairs << 5);
  const none = v128.splat<i32>(0);
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
