// Convolution without im2col. A block of output pixels is a block of GEMM rows whose K
// segments are the kernel's taps: per tap a table of row pointers straight into the
// image, or to a row of zeros where the tap lies in the padding (indirect convolution,
// Dukhan 2019). Pixels of several images share a block. Everything else, tiles,
// epilogues, order of sums, is sweep()'s: the bias first, then kernel rows, kernel
// columns and channels in ascending order.
import { checkPacked, checkRows, checkSpan } from "./checks";
import { isActivation, op } from "./op";
import { checkImages, checkShape, image } from "./image";
import { row } from "./simd";
import { reads, writes } from "./job";
import { BLOCK_ROWS, panelBytesOf, sweep } from "./sweep";

/** Kernel rows of up to so many floats are taken whole: one segment instead of kernelWidth. */
const MERGED_FLOATS = 64;
/** The same where a pixel is shorter than SHORT_PIXEL: segments of so few floats cost more than they sum. */
const LONG_MERGED_FLOATS = 1024;
const SHORT_PIXEL = 16;
/** Windows whose rows are no longer are copied as they pass: one segment instead of kernelHeight. */
const COPIED_FLOATS = 32;
const TABLE_BYTES: usize = <usize>BLOCK_ROWS << 2;

/** Whether a kernel row is contiguous in the image and short. */
function mergesRows(s: usize): bool {
  const most = image.channels(s) < SHORT_PIXEL ? LONG_MERGED_FLOATS : MERGED_FLOATS;
  return image.groups(s) == 1 && image.dilationWidth(s) == 1 && image.kernelWidth(s) > 1 &&
    image.kernelWidth(s) * image.channels(s) <= most;
}

/** Whether windows are copied, so that all of K is one segment. */
function copiesWindows(s: usize): bool {
  return mergesRows(s) && image.kernelHeight(s) > 1 &&
    image.kernelWidth(s) * image.channels(s) <= COPIED_FLOATS;
}

/** Bytes of the scratch memory conv_f32 and conv_transpose_f32 need for this shape. */
export function conv_scratch_bytes(shape: usize): usize {
  const taps = <usize>image.kernelHeight(shape) * image.kernelWidth(shape);
  const zeros = <usize>image.channels(shape) << 2;
  const patches = mergesRows(shape) ? TABLE_BYTES * taps * image.channels(shape) : 0;
  return zeros + (taps + 2) * TABLE_BYTES + (taps << 2) + patches;
}

/**
 * 2-D convolution (cross-correlation, as ONNX Conv) of m NHWC images, see image.ts:
 *   out = act(bias + sum over kernel rows, kernel columns, channels [+ residual])
 * w: per group ceil(outChannels / groups / 8) panels over K = kernelHeight * kernelWidth *
 * (channels / groups). residualRows: images as outRows, or 0. scratch:
 * conv_scratch_bytes(shape) bytes, 16-byte aligned. Activations as in gemm_f32.
 */
export function conv_f32(
  m: i32, shape: usize, inRows: usize, w: usize, residualRows: usize, outRows: usize, act: i32,
  scratch: usize
): void {
  checkShape(shape);
  const s = shape;
  const groups = image.groups(s);
  const groupChannels = image.channels(s) / groups;
  const n = image.outChannels(s) / groups;
  const panels = (n + 7) >> 3;
  const taps = image.kernelHeight(s) * image.kernelWidth(s);
  const weightBytes = <usize>panels * panelBytesOf(taps * groupChannels);
  check(m, s, inRows, w, residualRows, outRows, act, scratch, <usize>groups * weightBytes);
  const merged = mergesRows(s);
  const copied = copiesWindows(s);
  const segments = copied ? 1 : merged ? image.kernelHeight(s) : taps;
  const k = taps * groupChannels / segments;
  const zeros = scratch;
  const tables = zeros + (<usize>image.channels(s) << 2);
  const outTable = tables + <usize>taps * TABLE_BYTES;
  const residualTable = outTable + TABLE_BYTES;
  const list = residualTable + TABLE_BYTES;
  const patches = list + (<usize>taps << 2);
  memory.fill(zeros, 0, <usize>image.channels(s) << 2);
  for (let i = 1; i < segments; ++i) {
    store<u32>(list + (<usize>(i - 1) << 2), <u32>(tables + <usize>i * TABLE_BYTES));
  }
  const second = segments == 2 ? tables + TABLE_BYTES : list;
  const code = residualRows ? act | op.RESIDUAL : act;
  const outWidth = image.outWidth(s);
  const outHeight = image.outHeight(s);
  const outBytes = <usize>image.outChannels(s) << 2;
  const total = m * outHeight * outWidth;
  reads(k, tables, k, second, segments - 1);
  writes(n, code, outTable, residualTable, 0);
  // Image, line and column of a block's first pixel; counted on, since divisions cost more than small windows.
  let at: usize = 0;
  let oy = 0;
  let ox = 0;
  for (let first = 0; first < total; first += BLOCK_ROWS) {
    const end = <usize>min(BLOCK_ROWS, total - first) << 2;
    let nextAt = at;
    let nextY = oy;
    let nextX = ox;
    for (let g = 0; g < groups; ++g) {
      const skipped = <usize>(g * groupChannels) << 2;
      nextAt = at;
      nextY = oy;
      nextX = ox;
      let to = <usize>(oy * outWidth + ox) * outBytes + (<usize>(g * n) << 2);
      // Pixels whose windows are copied.
      let ahead = 0;
      for (let entry: usize = 0; entry < end; entry += 4) {
        const from = row(inRows, nextAt) + skipped;
        const table = tables + entry;
        if (!merged) pointAtTaps(s, nextY, nextX, from, zeros, table);
        else {
          const patch = patches + entry * taps * groupChannels;
          if (copied) {
            if (ahead == 0) ahead = copyWindows(<i32>((end - entry) >> 2), s, nextY, nextX, from, table, patch);
            --ahead;
          } else pointAtLines(s, nextY, nextX, from, table, patch);
        }
        store<u32>(outTable + entry, <u32>(row(outRows, nextAt) + to));
        if (residualRows) store<u32>(residualTable + entry, <u32>(row(residualRows, nextAt) + to));
        to += outBytes;
        if (++nextX < outWidth) continue;
        nextX = 0;
        if (++nextY < outHeight) continue;
        nextY = 0;
        nextAt += 4;
        to = <usize>(g * n) << 2;
      }
      sweep(<i32>(end >> 2), panels, w + <usize>g * weightBytes);
    }
    at = nextAt;
    oy = nextY;
    ox = nextX;
  }
}

/** Row pointers of output pixel (oy, ox), one per tap. */
function pointAtTaps(s: usize, oy: i32, ox: i32, a: usize, zeros: usize, table: usize): void {
  const width = image.width(s);
  const pixelBytes = <usize>image.channels(s) << 2;
  const kernelWidth = image.kernelWidth(s);
  const stepX = image.dilationWidth(s);
  const x0 = ox * image.strideWidth(s) - image.padLeft(s);
  let y = oy * image.strideHeight(s) - image.padTop(s);
  for (let ky = image.kernelHeight(s); ky > 0; --ky, y += image.dilationHeight(s)) {
    const inside = <u32>y < <u32>image.height(s);
    const line = a + <usize>(y * width) * pixelBytes;
    let x = x0;
    for (let kx = kernelWidth; kx > 0; --kx, x += stepX, table += TABLE_BYTES) {
      const at = line + <usize>x * pixelBytes;
      store<u32>(table, <u32>(inside && <u32>x < <u32>width ? at : zeros));
    }
  }
}

/** Pointers of output pixel (oy, ox), one per kernel row; rows that reach into the padding are copied. */
function pointAtLines(s: usize, oy: i32, ox: i32, a: usize, table: usize, patch: usize): void {
  const width = image.width(s);
  const pixelBytes = <usize>image.channels(s) << 2;
  const kernelWidth = image.kernelWidth(s);
  const lineBytes = <usize>kernelWidth * pixelBytes;
  const x = ox * image.strideWidth(s) - image.padLeft(s);
  const from = max(0, -x);
  const to = max(from, min(kernelWidth, width - x));
  let y = oy * image.strideHeight(s) - image.padTop(s);
  for (
    let ky = image.kernelHeight(s); ky > 0;
    --ky, y += image.dilationHeight(s), table += TABLE_BYTES, patch += lineBytes
  ) {
    const inside = <u32>y < <u32>image.height(s);
    const line = a + <usize>(y * width + x) * pixelBytes;
    if (inside && from == 0 && to == kernelWidth) {
      store<u32>(table, <u32>line);
      continue;
    }
    memory.fill(patch, 0, lineBytes);
    if (inside && to > from) {
      memory.copy(patch + <usize>from * pixelBytes, line + <usize>from * pixelBytes, <usize>(to - from) * pixelBytes);
    }
    store<u32>(table, <u32>patch);
  }
}

/**
 * Copies what output pixel (oy, ox) sees, kernel row by kernel row, and points at the copy; up to `most` pixels of the
 * line at once, as far as they see no padding. Returns how many.
 */
function copyWindows(most: i32, s: usize, oy: i32, ox: i32, a: usize, table: usize, patch: usize): i32 {
  const width = image.width(s);
  const channels = image.channels(s);
  const floats = image.kernelWidth(s) * channels;
  const stride = image.strideWidth(s) * channels;
  const x = ox * image.strideWidth(s) - image.padLeft(s);
  const before = min(floats, max(0, -x) * channels);
  const end = max(before, min(floats, (width - x) * channels));
  const step = image.dilationHeight(s);
  let y = oy * image.strideHeight(s) - image.padTop(s);
  const lineBytes = <usize>floats << 2;
  if (floats >= 4 && before == 0 && end == floats && y >= 0 && y + (image.kernelHeight(s) - 1) * step < image.height(s)) {
    const count = min(min(most, image.outWidth(s) - ox), ((width - x) * channels - floats) / stride + 1);
    const last = lineBytes - 16;
    const stepBytes = <usize>(step * width * channels) << 2;
    const patchBytes = <usize>image.kernelHeight(s) * lineBytes;
    let window = a + (<usize>((y * width + x) * channels) << 2);
    for (let left = count; left > 0; --left, table += 4, window += <usize>stride << 2) {
      store<u32>(table, <u32>patch);
      for (let line = window, stop = patch + patchBytes; patch < stop; patch += lineBytes, line += stepBytes) {
        for (let i: usize = 0; i < last; i += 16) v128.store(patch + i, v128.load(line + i));
        v128.store(patch + last, v128.load(line + last));
      }
    }
    return count;
  }
  store<u32>(table, <u32>patch);
  for (let ky = image.kernelHeight(s); ky > 0; --ky, y += step, patch += lineBytes) {
    const line = a + (<usize>((y * width + x) * channels) << 2);
    const isInside = <u32>y < <u32>image.height(s);
    const first = isInside ? before : floats;
    const last = isInside ? end : floats;
    let i = 0;
    for (; i < first; ++i) store<f32>(patch + (<usize>i << 2), 0);
    for (; i < last; ++i) store<f32>(patch + (<usize>i << 2), load<f32>(line + (<usize>i << 2)));
    for (; i < floats; ++i) store<f32>(patch + (<usize>i << 2), 0);
  }
  return 1;
}

/**
 * Transposed convolution (ONNX ConvTranspose) of m NHWC images. Output pixels whose
 * places agree modulo the strides see the same taps; each of these strideHeight *
 * strideWidth phases is a convolution of its own. Of phase (p, q) are the taps (i, j) with
 * i dilationHeight = p and j dilationWidth = q modulo the strides, and so pixels (y, x) with
 * y + padTop = p and x + padLeft = q. w: per phase (row by row), per group, panels over
 * K = (the phase's taps in ascending order) * (channels / groups). The rest as in conv_f32.
 */
export function conv_transpose_f32(
  m: i32, shape: usize, inRows: usize, w: usize, residualRows: usize, outRows: usize, act: i32,
  scratch: usize
): void {
  checkShape(shape);
  const s = shape;
  const groups = image.groups(s);
  const groupChannels = image.channels(s) / groups;
  const n = image.outChannels(s) / groups;
  const panels = (n + 7) >> 3;
  const taps = image.kernelHeight(s) * image.kernelWidth(s);
  const biases = <usize>(image.strideHeight(s) * image.strideWidth(s)) << 5;
  check(
    m, s, inRows, w, residualRows, outRows, act, scratch,
    <usize>(groups * panels) * (biases + (<usize>(taps * groupChannels) << 5))
  );
  const zeros = scratch;
  const tables = zeros + (<usize>image.channels(s) << 2);
  const outTable = tables + <usize>taps * TABLE_BYTES;
  const residualTable = outTable + TABLE_BYTES;
  const list = residualTable + TABLE_BYTES;
  memory.fill(zeros, 0, <usize>image.channels(s) << 2);
  for (let i = 1; i < taps; ++i) {
    store<u32>(list + (<usize>(i - 1) << 2), <u32>(tables + <usize>i * TABLE_BYTES));
  }
  const code = residualRows ? act | op.RESIDUAL : act;
  for (let down = 0; down < image.strideHeight(s); ++down) {
    for (let right = 0; right < image.strideWidth(s); ++right) {
      const segments = tapsOfPhase(image.kernelHeight(s), image.dilationHeight(s), image.strideHeight(s), down) *
        tapsOfPhase(image.kernelWidth(s), image.dilationWidth(s), image.strideWidth(s), right);
      const second = segments == 2 ? tables + TABLE_BYTES : list;
      const weightBytes = <usize>panels * panelBytesOf(segments * groupChannels);
      // First output line and column of this phase, and how many there are.
      const oy0 = firstOfPhase(down, image.padTop(s), image.strideHeight(s));
      const ox0 = firstOfPhase(right, image.padLeft(s), image.strideWidth(s));
      const lines = countOfPhase(oy0, image.outHeight(s), image.strideHeight(s));
      const columns = countOfPhase(ox0, image.outWidth(s), image.strideWidth(s));
      const pixels = lines * columns;
      const total = m * pixels;
      const k = segments ? groupChannels : 0;
      reads(k, segments ? tables : outTable, k, second, max(0, segments - 1));
      writes(n, code, outTable, residualTable, 0);
      for (let first = 0; first < total; first += BLOCK_ROWS) {
        const rows = min(BLOCK_ROWS, total - first);
        for (let g = 0; g < groups; ++g) {
          for (let i = 0; i < rows; ++i) {
            const at = (first + i) / pixels;
            const pixel = first + i - at * pixels;
            const line = pixel / columns;
            const oy = oy0 + line * image.strideHeight(s);
            const ox = ox0 + (pixel - line * columns) * image.strideWidth(s);
            const entry = <usize>i << 2;
            const from = row(inRows, <usize>at << 2) + (<usize>(g * groupChannels) << 2);
            pointBack(s, oy, ox, down, right, from, zeros, tables + entry);
            const to = <usize>((oy * image.outWidth(s) + ox) * image.outChannels(s) + g * n) << 2;
            store<u32>(outTable + entry, <u32>(row(outRows, <usize>at << 2) + to));
            if (residualRows) {
              store<u32>(residualTable + entry, <u32>(row(residualRows, <usize>at << 2) + to));
            }
          }
          sweep(rows, panels, w + <usize>g * weightBytes);
        }
      }
      w += <usize>groups * weightBytes;
    }
  }
}

/** Taps k < kernel with k * dilation = phase (mod stride). */
function tapsOfPhase(kernel: i32, dilation: i32, stride: i32, phase: i32): i32 {
  let count = 0;
  for (let k = 0; k < kernel; ++k) count += i32(k * dilation % stride == phase);
  return count;
}

/** Least o >= 0 with o + pad = phase (mod stride). */
function firstOfPhase(phase: i32, pad: i32, stride: i32): i32 {
  return (phase - pad % stride + stride) % stride;
}

function countOfPhase(first: i32, size: i32, stride: i32): i32 {
  return first < size ? (size - 1 - first) / stride + 1 : 0;
}

/** Input pixels that reach output pixel (oy, ox), one per tap of its phase. */
function pointBack(
  s: usize, oy: i32, ox: i32, down: i32, right: i32, a: usize, zeros: usize, table: usize
): void {
  const pixelBytes = <usize>image.channels(s) << 2;
  for (let ky = 0; ky < image.kernelHeight(s); ++ky) {
    if (ky * image.dilationHeight(s) % image.strideHeight(s) != down) continue;
    // The differences are multiples of the strides; a negative one is outside as u32.
    const y = (oy + image.padTop(s) - ky * image.dilationHeight(s)) / image.strideHeight(s);
    const inside = <u32>y < <u32>image.height(s);
    for (let kx = 0; kx < image.kernelWidth(s); ++kx) {
      if (kx * image.dilationWidth(s) % image.strideWidth(s) != right) continue;
      const x = (ox + image.padLeft(s) - kx * image.dilationWidth(s)) / image.strideWidth(s);
      const at = a + <usize>(y * image.width(s) + x) * pixelBytes;
      store<u32>(table, <u32>(inside && <u32>x < <u32>image.width(s) ? at : zeros));
      table += TABLE_BYTES;
    }
  }
}

function check(
  m: i32, s: usize, inRows: usize, w: usize, residualRows: usize, outRows: usize, act: i32,
  scratch: usize, weightBytes: usize
): void {
  if (!ASC_NO_ASSERT) {
    checkImages(m, s, inRows, outRows, image.outChannels(s));
    assert(image.channels(s) % image.groups(s) == 0, "groups do not divide the channels");
    assert(image.outChannels(s) % image.groups(s) == 0, "groups do not divide the output channels");
    assert(isActivation(act), "unknown activation");
    checkPacked(w, 1, weightBytes);
    assert((scratch & 15) == 0, "scratch memory is not 16-byte aligned");
    checkSpan(scratch, conv_scratch_bytes(s));
    if (residualRows) {
      checkRows(
        residualRows, m,
        <usize>(image.outHeight(s) * image.outWidth(s) * image.outChannels(s)) << 2
      );
    }
  }
}
