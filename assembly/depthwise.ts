// Depthwise convolution of NHWC images (see image.ts): every channel has a kernel of its
// own, outChannels = groups = channels. Four channels are one vector. The sum starts from
// the bias and takes kernel columns in ascending order, each from top to bottom; taps in the
// padding are left out.
import { checkPacked } from "./checks";
import { activate, relu4 } from "./epilogue";
import { isActivation, op } from "./op";
import { checkImages, checkShape, endTap, firstTap, image } from "./image";
import { get, put, row } from "./simd";
import { slideOne, slideTwo, Three, Two } from "./depthwise_slide";

/** Output pixels of one slide over a line: its input columns then stay in cache from channel to channel. */
const SLIDE = 16;

/**
 * out = act(bias + sum over taps of in * w). w: per 4 channels (the last ones padded)
 * 4 biases and kernelHeight * kernelWidth times 4 weights, 16-byte aligned.
 */
export function depthwise_f32(
  m: i32, shape: usize, inRows: usize, w: usize, outRows: usize, act: i32
): void {
  checkShape(shape);
  const s = shape;
  const channels = image.channels(s);
  const taps = image.kernelHeight(s) * image.kernelWidth(s);
  checkImages(m, s, inRows, outRows, channels);
  if (!ASC_NO_ASSERT) {
    assert(isActivation(act), "unknown activation");
    checkPacked(w, (channels + 3) >> 2, <usize>(1 + taps) << 4);
  }
  const width = image.width(s), outWidth = image.outWidth(s);
  const downBy = image.dilationHeight(s), rightBy = image.dilationWidth(s);
  const stride = image.strideWidth(s), kernelWidth = image.kernelWidth(s);
  const pixel = <usize>channels << 2;
  const line = <usize>width * pixel;
  // Output columns [first, end) have all their taps inside the image.
  const first = min(outWidth, (image.padLeft(s) + stride - 1) / stride);
  const room = width - 1 - (kernelWidth - 1) * rightBy + image.padLeft(s);
  const end = max(first, room < 0 ? 0 : min(outWidth, room / stride + 1));
  const slides = kernelWidth == 3 && rightBy == 1 && stride <= 2 && channels >= 4;
  for (let at: usize = 0, stop = <usize>m << 2; at < stop; at += 4) {
    const a = row(inRows, at);
    const out = row(outRows, at);
    for (let oy = 0; oy < image.outHeight(s); ++oy) {
      const y = oy * image.strideHeight(s) - image.padTop(s);
      const top = firstTap(y, downBy);
      const rows = max(0, endTap(y, downBy, image.height(s), image.kernelHeight(s)) - top);
      const from = a + <usize>(y + top * downBy) * line;
      const to = out + <usize>(oy * outWidth) * pixel;
      const skipped = <usize>(top * kernelWidth) << 4;
      for (let ox = 0; ox < outWidth; ) {
        const x = ox * stride - image.padLeft(s);
        const o = to + <usize>ox * pixel;
        if (slides && (rows == 3 || rows == 2) && ox >= first && ox < end) {
          const count = min(SLIDE, end - ox);
          slide(
            channels, from + <usize>x * pixel, rows, <usize>downBy * line, pixel, stride, w, skipped, taps,
            o, count, act
          );
          ox += count;
          continue;
        }
        const left = firstTap(x, rightBy);
        const columns = max(0, endTap(x, rightBy, width, kernelWidth) - left);
        onePixel(
          channels, from + <usize>(x + left * rightBy) * pixel, rows, columns, <usize>downBy * line,
          <usize>rightBy * pixel, w, skipped + (<usize>left << 4), kernelWidth, taps, o, act
        );
        ++ox;
      }
    }
  }
}

/** `count` output pixels side by side under two or three rows of a kernel 3 wide. */
function slide(
  channels: i32, a: usize, rows: i32, lineBytes: usize, pixel: usize, stride: i32, w: usize,
  skipped: usize, taps: i32, out: usize, count: i32, act: i32
): void {
  const block = <usize>(1 + taps) << 4;
  let left = channels;
  for (; left >= 4; left -= 4, a += 16, out += 16, w += block) {
    const weights = w + 16 + skipped;
    if (stride == 1) {
      if (rows == 3) slideOne<Three>(a, lineBytes, pixel, w, weights, out, count);
      else slideOne<Two>(a, lineBytes, pixel, w, weights, out, count);
    } else {
      if (rows == 3) slideTwo<Three>(a, lineBytes, pixel, w, weights, out, count);
      else slideTwo<Two>(a, lineBytes, pixel, w, weights, out, count);
    }
    if (act != op.NONE) activateColumn(out, pixel, count, act);
  }
  if (left == 0) return;
  for (let i = 0; i < count; ++i, a += <usize>stride * pixel, out += pixel) {
    onePixel(left, a, rows, 3, lineBytes, pixel, w, skipped, 3, taps, out, act);
  }
}

/** Applies the activation to four channels of `count` pixels. */
function activateColumn(out: usize, pixel: usize, count: i32, act: i32): void {
  // The one that is a single instruction: telling which costs more.
  if (act == op.RELU) {
    for (let i = 0; i < count; ++i, out += pixel) v128.store(out, relu4(v128.load(out)));
    return;
  }
  for (let i = 0; i < count; ++i, out += pixel) v128.store(out, activate(act, v128.load(out)));
}

/** One output pixel, all channels: `rows` x `columns` taps, the first one `skipped` bytes into the weights. */
function onePixel(
  channels: i32, a: usize, rows: i32, columns: i32, lineBytes: usize, tapBytes: usize, w: usize,
  skipped: usize, kernelWidth: i32, taps: i32, out: usize, act: i32
): void {
  const block = <usize>(1 + taps) << 4;
  const weightLine = <usize>kernelWidth << 4;
  let left = channels;
  // Sixteen channels at a time: one sum alone would wait for itself at every tap.
  for (; left >= 16; left -= 16, a += 64, out += 64, w += 4 * block) {
    const w1 = w + block, w2 = w1 + block, w3 = w2 + block;
    let s0 = v128.load(w), s1 = v128.load(w1), s2 = v128.load(w2), s3 = v128.load(w3);
    let at = 16 + skipped;
    let column = a;
    for (let x = 0; x < columns; ++x, column += tapBytes, at += 16) {
      let tap = column;
      let weight = at;
      for (let y = 0; y < rows; ++y, tap += lineBytes, weight += weightLine) {
        s0 = f32x4.add(s0, f32x4.mul(v128.load(tap), v128.load(w + weight)));
        s1 = f32x4.add(s1, f32x4.mul(v128.load(tap, 16), v128.load(w1 + weight)));
        s2 = f32x4.add(s2, f32x4.mul(v128.load(tap, 32), v128.load(w2 + weight)));
        s3 = f32x4.add(s3, f32x4.mul(v128.load(tap, 48), v128.load(w3 + weight)));
      }
    }
    if (act != op.NONE) {
      s0 = activate(act, s0);
      s1 = activate(act, s1);
      s2 = activate(act, s2);
      s3 = activate(act, s3);
    }
    v128.store(out, s0);
    v128.store(out, s1, 16);
    v128.store(out, s2, 32);
    v128.store(out, s3, 48);
  }
  for (; left > 0; left -= 4, a += 16, out += 16, w += block) {
    let sum = v128.load(w);
    let at = w + 16 + skipped;
    let column = a;
    for (let x = 0; x < columns; ++x, column += tapBytes, at += 16) {
      let tap = column;
      let weight = at;
      for (let y = 0; y < rows; ++y, tap += lineBytes, weight += weightLine) {
        sum = f32x4.add(sum, f32x4.mul(get(tap, left), v128.load(weight)));
      }
    }
    put(out, activate(act, sum), left);
  }
}
