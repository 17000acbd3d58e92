// int8 convolution of NHWC images that are quantised rows: a header, then height x width x channels
// bytes. Deviation from conv.ts, which reads pixels in place: what an output pixel sees is copied into
// a quantised row of its own (im2col, a block of pixels at a time; not of 1x1 kernels) and meets gemm_q8's
// tiles. Bytes of a pixel are few beside the products made of them, rows need no multiple of 4 channels,
// and chains of 16 bits pass from tap to tap. Padding is the image's zero point, which stands for 0.
import { checkPacked, checkProducts, checkRows, checkSpan } from "./checks";
import { isActivation } from "./op";
import { checkShape, image } from "./image";
import { checkQ8Panel, checkQ8Rows, pad, q8RowBytes, seal, sumOf } from "./q8";
import { depthwiseQ8, depthwiseQ8Bytes, depthwiseQ8ScratchBytes, isDepthwise } from "./q8_depthwise";
import { q8 } from "./q8_epilogue";
import { HEADER_BYTES, readsLines, requantizes, writesQ8 } from "./q8_job";
import { packsRows, q8PanelBytes, sweepQ8 } from "./q8_sweep";
import { PACKED_ROWS } from "./q8_tiles";
import { row } from "./simd";
import { BLOCK_ROWS } from "./sweep";

/** Rows of a block together, which should stay in the second-level cache, and how many there are at least. */
const BLOCK_BYTES: usize = 256 << 10;
const LEAST_ROWS: usize = 30;

/** Numbers of k: what one output pixel sees of its group. */
// @ts-ignore: decorator
@inline function allTaps(s: usize): i32 {
  return image.kernelHeight(s) * image.kernelWidth(s) * (image.channels(s) / image.groups(s));
}

/** Pixels of a block: whole tiles. */
function blockRows(s: usize): i32 {
  const rows = <i32>min(<usize>BLOCK_ROWS, max(LEAST_ROWS, BLOCK_BYTES / q8RowBytes(allTaps(s))));
  return rows - rows % PACKED_ROWS;
}

/** Bytes of the scratch memory that conv_q8_f32, conv_q8_i32 and conv_q8_u8 need for this shape. */
export function conv_q8_scratch_bytes(shape: usize): usize {
  if (isDepthwise(shape)) return depthwiseQ8ScratchBytes(shape);
  return <usize>blockRows(shape) * (q8RowBytes(allTaps(shape)) + HEADER_BYTES + 8) + 15 & ~15;
}

/**
 * 2-D convolution (cross-correlation) of m NHWC images, see image.ts, quantised as rows of height *
 * width * channels bytes, each image with its own scale and zero point:
 *   out = act(scale * weightScale * exact sum + bias), f32
 * w: per group panels of gemm_q8_f32 over K = kernel rows, kernel columns, channels / groups; where
 * groups = channels = outChannels, per 8 channels a header as there, of 128 bytes and with zeros in
 * place of zero points, and per two taps 8 times both weights less zero point, i16. seven = 1: all bytes
 * are below 128. scratch: conv_q8_scratch_bytes(shape) bytes, 16-byte aligned.
 */
export function conv_q8_f32(
  m: i32, shape: usize, seven: i32, inRows: usize, w: usize, outRows: usize, act: i32, scratch: usize
): void {
  if (!ASC_NO_ASSERT) {
    assert(isActivation(act), "unknown activation");
    check(m, shape, seven, inRows, w, scratch);
    checkRows(outRows, m, outputs(shape) << 2);
  }
  convolve(m, shape, seven, inRows, w, outRows, act, scratch);
}

/** conv_q8_f32 that leaves the exact sums, i32 (ONNX ConvInteger). */
export function conv_q8_i32(
  m: i32, shape: usize, seven: i32, inRows: usize, w: usize, outRows: usize, scratch: usize
): void {
  if (!ASC_NO_ASSERT) {
    check(m, shape, seven, inRows, w, scratch);
    checkRows(outRows, m, outputs(shape) << 2);
  }
  convolve(m, shape, seven, inRows, w, outRows, q8.I32, scratch);
}

/**
 * conv_q8_f32, requantised with a given scale and zero point (ONNX QLinearConv): outRows are quantised
 * rows of whole images with their header, ready to be the next one's inRows.
 */
export function conv_q8_u8(
  m: i32, shape: usize, seven: i32, inRows: usize, w: usize, outRows: usize, act: i32, scale: f32, zero: i32,
  scratch: usize
): void {
  if (!ASC_NO_ASSERT) {
    assert(isActivation(act), "unknown activation");
    assert(zero >= 0 && zero <= 255, "zero point is not a byte");
    check(m, shape, seven, inRows, w, scratch);
    checkRows(outRows, m, q8RowBytes(<i32>outputs(shape)));
  }
  requantizes(scale, zero);
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    const out = row(outRows, at);
    store<f32>(out, scale);
    store<i32>(out, zero, 4);
    store<u64>(out, 0, 8);
    pad(<i32>outputs(shape), out);
  }
  convolve(m, shape, seven, inRows, w, outRows, act | q8.U8, scratch);
  if (!isDepthwise(shape)) return;
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) seal(<i32>outputs(shape), row(outRows, at));
}

/** Numbers of one result image. */
// @ts-ignore: decorator
@inline function outputs(s: usize): usize {
  return <usize>(image.outHeight(s) * image.outWidth(s) * image.outChannels(s));
}

function convolve(
  m: i32, s: usize, seven: i32, inRows: usize, w: usize, outRows: usize, kind: i32, scratch: usize
): void {
  if (isDepthwise(s)) {
    depthwiseQ8(m, s, inRows, w, outRows, kind, scratch);
    return;
  }
  const groups = image.groups(s);
  const n = image.outChannels(s) / groups;
  const k = allTaps(s);
  const rowBytes = q8RowBytes(k);
  const panels = (n + 7) >> 3;
  const block = blockRows(s);
  const headers = scratch + <usize>block * rowBytes;
  const table = headers + <usize>block * HEADER_BYTES;
  const outTable = table + (<usize>block << 2);
  const outWidth = image.outWidth(s);
  const pixels = image.outHeight(s) * outWidth;
  const total = m * pixels;
  const shift = kind & q8.U8 ? 0 : 2;
  const summed = anyZero(w, groups * panels, q8PanelBytes(k));
  const lineBytes = k / image.kernelHeight(s);
  const asLines = packsRows(seven) && lineBytes >= 4;
  const lastX = image.width(s) - image.kernelWidth(s);
  const lastY = image.height(s) - (image.kernelHeight(s) - 1) * image.dilationHeight(s) - 1;
  const inPlace = !summed && groups == 1 && image.dilationWidth(s) == 1 && (lastX | lastY) >= 0 &&
    (asLines || (image.kernelHeight(s) == 1 && (lineBytes & 3) == 0));
  if (inPlace && asLines) readsLines(image.kernelHeight(s), lineBytes);
  const stride = image.width(s) * image.channels(s) * image.dilationHeight(s);
  for (let first = 0; first < total; first += block) {
    const rows = min(block, total - first);
    for (let g = 0; g < groups; ++g) {
      let at = <usize>(first / pixels) << 2;
      let pixel = first % pixels;
      let oy = pixel / outWidth, ox = pixel % outWidth;
      for (let i: usize = 0, end = <usize>rows << 2; i < end; i += 4) {
        const from = row(inRows, at);
        const x = ox * image.strideWidth(s) - image.padLeft(s);
        const y = oy * image.strideHeight(s) - image.padTop(s);
        const copy = headers + i * (HEADER_BYTES >> 2);
        if (inPlace && <u32>x <= <u32>lastX && <u32>y <= <u32>lastY) {
          v128.store(copy, v128.load(from));
          store<u32>(copy, stride, 12);
          store<u32>(table + i, <u32>(from + <usize>((y * image.width(s) + x) * image.channels(s))));
        } else {
          const patch = scratch + (i >> 2) * rowBytes;
          gather(s, x, y, from, g, k, patch);
          if (summed) seal(k, patch);
          v128.store(copy, v128.load(patch));
          store<u32>(copy, lineBytes, 12);
          store<u32>(table + i, <u32>patch);
        }
        const to = <usize>(pixel * image.outChannels(s) + g * n) << shift;
        store<u32>(outTable + i, <u32>(row(outRows, at) + to));
        ++pixel;
        if (++ox == outWidth) {
          ox = 0;
          if (++oy == image.outHeight(s)) {
            oy = pixel = 0;
            at += 4;
          }
        }
      }
      writesQ8(n, kind, outTable);
      sweepQ8(rows, k, seven, table, headers, w + <usize>(g * panels) * q8PanelBytes(k));
    }
    if (kind & q8.U8) addSums(first, first + rows, pixels, image.outChannels(s), outRows);
  }
  readsLines(1, 0);
}

/** Adds bytes of requantised pixels, which are in cache yet, to the sums of their images' headers. */
function addSums(first: i32, end: i32, pixels: i32, channels: i32, outRows: usize): void {
  while (first < end) {
    const image = first / pixels;
    const stop = min(end, (image + 1) * pixels);
    const out = row(outRows, <usize>image << 2);
    const sum = sumOf(out + HEADER_BYTES + <usize>((first - image * pixels) * channels), (stop - first) * channels);
    store<i32>(out, load<i32>(out, 8) + sum, 8);
    first = stop;
  }
}

/** Whether any weights have a zero point: only then a row's sum counts. */
function anyZero(w: usize, panels: i32, panelBytes: usize): bool {
  for (; panels > 0; --panels, w += panelBytes) {
    if (v128.any_true(v128.or(v128.load(w, 32), v128.load(w, 48)))) return true;
  }
  return false;
}

/** What the output pixel sees whose window begins at x0 and y, of a group's channels, as a quantised row without its sum. */
function gather(s: usize, x0: i32, y: i32, a: usize, group: i32, k: i32, patch: usize): void {
  if (k & 3) store<u32>(patch + 16 + (k & ~3), 0);
  const zero = load<i32>(a, 4);
  store<u64>(patch, load<u64>(a));
  const channels = <usize>image.channels(s);
  const own = channels / image.groups(s);
  const width = image.width(s);
  const kernelWidth = image.kernelWidth(s);
  const stepX = image.dilationWidth(s);
  const lineBytes = <usize>kernelWidth * own;
  // A line that is all there is copied as one piece.
  const whole = own == channels && stepX == 1 && x0 >= 0 && x0 + kernelWidth <= width;
  const pieces = whole ? 1 : kernelWidth;
  const bytes = whole ? lineBytes : own;
  const from = a + 16 + <usize>group * own;
  let to = patch + 16;
  for (let ky = image.kernelHeight(s); ky > 0; --ky, y += image.dilationHeight(s)) {
    if (<u32>y >= <u32>image.height(s)) {
      memory.fill(to, <u8>zero, lineBytes);
      to += lineBytes;
      continue;
    }
    const line = from + <usize>(y * width) * channels;
    let x = x0;
    for (let piece = pieces; piece > 0; --piece, x += stepX, to += bytes) {
      if (<u32>x < <u32>width) copyBytes(to, line + <usize>x * channels, bytes);
      else memory.fill(to, <u8>zero, bytes);
    }
  }
}

/** Copies what is too short for memory.copy, a call of its own, to pay: pieces overlap at the end. */
// @ts-ignore: decorator
@inline function copyBytes(to: usize, from: usize, bytes: usize): void {
  if (bytes >= 16) {
    const last = bytes - 16;
    for (let i: usize = 0; i < last; i += 16) v128.store(to + i, v128.load(from + i));
    v128.store(to + last, v128.load(from + last));
  } else if (bytes >= 8) {
    store<u64>(to, load<u64>(from));
    store<u64>(to + bytes - 8, load<u64>(from + bytes - 8));
  } else {
    for (let i: usize = 0; i < bytes; ++i) store<u8>(to + i, load<u8>(from + i));
  }
}

function check(m: i32, s: usize, seven: i32, inRows: usize, w: usize, scratch: usize): void {
  if (!ASC_NO_ASSERT) {
    checkShape(s);
    const groups = image.groups(s);
    assert(image.channels(s) % groups == 0, "groups do not divide the channels");
    assert(image.outChannels(s) % groups == 0, "groups do not divide the output channels");
    checkProducts(allTaps(s));
    checkQ8Rows(m, image.height(s) * image.width(s) * image.channels(s), seven, inRows);
    assert((scratch & 15) == 0, "scratch memory is not 16-byte aligned");
    checkSpan(scratch, conv_q8_scratch_bytes(s));
    if (isDepthwise(s)) {
      checkPacked(w, 1, depthwiseQ8Bytes(s));
      return;
    }
    const panels = groups * ((image.outChannels(s) / groups + 7) >> 3);
    const k = allTaps(s);
    checkPacked(w, panels, q8PanelBytes(k));
    if (seven) {
      for (let p = 0; p < panels; ++p) checkQ8Panel(w + <usize>p * q8PanelBytes(k), k);
    }
  }
}
