// Depthwise convolution of NHWC images (see image.ts): every channel has a kernel of its
// own, outChannels = groups = channels. Four channels are one vector; taps go row by row
// in ascending order from the bias on, and those in the padding are left out.
import { checkPacked } from "./checks";
import { activate, isActivation } from "./epilogue";
import { checkImages, checkShape, endTap, firstTap, image } from "./image";
import { get, put, row } from "./simd";

/** Output pixels of the tiles under a kernel 3 wide, which share their input columns: strides 1 and 2. */
const TILE = 4;
const TILE_STRIDE_2 = 2;

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
  const tile = kernelWidth == 3 && rightBy == 1 ? (stride == 1 ? TILE : stride == 2 ? TILE_STRIDE_2 : 0) : 0;
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
        if (tile && ox >= first && ox + tile <= end) {
          const p = from + <usize>x * pixel;
          if (stride == 1) tile3(channels, p, rows, <usize>downBy * line, pixel, w, skipped, taps, o, act);
          else tile3Stride2(channels, p, rows, <usize>downBy * line, pixel, w, skipped, taps, o, act);
          ox += tile;
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
    let line = a;
    for (let y = 0; y < rows; ++y, line += lineBytes, at += weightLine) {
      let tap = line;
      let weight = at;
      for (let x = 0; x < columns; ++x, tap += tapBytes, weight += 16) {
        s0 = f32x4.add(s0, f32x4.mul(v128.load(tap), v128.load(w + weight)));
        s1 = f32x4.add(s1, f32x4.mul(v128.load(tap, 16), v128.load(w1 + weight)));
        s2 = f32x4.add(s2, f32x4.mul(v128.load(tap, 32), v128.load(w2 + weight)));
        s3 = f32x4.add(s3, f32x4.mul(v128.load(tap, 48), v128.load(w3 + weight)));
      }
    }
    v128.store(out, activate(act, s0));
    v128.store(out, activate(act, s1), 16);
    v128.store(out, activate(act, s2), 32);
    v128.store(out, activate(act, s3), 48);
  }
  for (; left > 0; left -= 4, a += 16, out += 16, w += block) {
    let sum = v128.load(w);
    let weights = w + 16 + skipped;
    let line = a;
    for (let y = 0; y < rows; ++y, line += lineBytes, weights += weightLine) {
      let tap = line;
      let weight = weights;
      for (let x = 0; x < columns; ++x, tap += tapBytes, weight += 16) {
        sum = f32x4.add(sum, f32x4.mul(get(tap, left), v128.load(weight)));
      }
    }
    put(out, activate(act, sum), left);
  }
}

/** TILE output pixels side by side under a kernel 3 wide: each input column is loaded once. */
function tile3(
  channels: i32, a: usize, rows: i32, lineBytes: usize, pixel: usize, w: usize, skipped: usize,
  taps: i32, out: usize, act: i32
): void {
  const block = <usize>(1 + taps) << 4;
  let left = channels;
  for (; left >= 4; left -= 4, a += 16, out += 16, w += block) {
    let s0 = v128.load(w), s1 = s0, s2 = s0, s3 = s0;
    let weight = w + 16 + skipped;
    let p0 = a, p1 = a + pixel, p2 = p1 + pixel, p3 = p2 + pixel, p4 = p3 + pixel, p5 = p4 + pixel;
    for (let y = 0; y < rows; ++y, weight += 48) {
      const w0 = v128.load(weight), w1 = v128.load(weight, 16), w2 = v128.load(weight, 32);
      let x = v128.load(p0);
      s0 = f32x4.add(s0, f32x4.mul(x, w0));
      x = v128.load(p1);
      s0 = f32x4.add(s0, f32x4.mul(x, w1));
      s1 = f32x4.add(s1, f32x4.mul(x, w0));
      x = v128.load(p2);
      s0 = f32x4.add(s0, f32x4.mul(x, w2));
      s1 = f32x4.add(s1, f32x4.mul(x, w1));
      s2 = f32x4.add(s2, f32x4.mul(x, w0));
      x = v128.load(p3);
      s1 = f32x4.add(s1, f32x4.mul(x, w2));
      s2 = f32x4.add(s2, f32x4.mul(x, w1));
      s3 = f32x4.add(s3, f32x4.mul(x, w0));
      x = v128.load(p4);
      s2 = f32x4.add(s2, f32x4.mul(x, w2));
      s3 = f32x4.add(s3, f32x4.mul(x, w1));
      x = v128.load(p5);
      s3 = f32x4.add(s3, f32x4.mul(x, w2));
      p0 += lineBytes; p1 += lineBytes; p2 += lineBytes; p3 += lineBytes; p4 += lineBytes; p5 += lineBytes;
    }
    v128.store(out, activate(act, s0));
    v128.store(out + pixel, activate(act, s1));
    v128.store(out + 2 * pixel, activate(act, s2));
    v128.store(out + 3 * pixel, activate(act, s3));
  }
  if (left == 0) return;
  for (let i = 0; i < TILE; ++i, a += pixel, out += pixel) {
    onePixel(left, a, rows, 3, lineBytes, pixel, w, skipped, 3, taps, out, act);
  }
}

/** TILE_STRIDE_2 output pixels, two input columns apart, under a kernel 3 wide; eight channels at a time. */
function tile3Stride2(
  channels: i32, a: usize, rows: i32, lineBytes: usize, pixel: usize, w: usize, skipped: usize,
  taps: i32, out: usize, act: i32
): void {
  const block = <usize>(1 + taps) << 4;
  let left = channels;
  for (; left >= 8; left -= 8, a += 32, out += 32, w += 2 * block) {
    let s0 = v128.load(w), s1 = s0;
    let t0 = v128.load(w + block), t1 = t0;
    let weight = w + 16 + skipped;
    let p0 = a, p1 = a + pixel, p2 = p1 + pixel, p3 = p2 + pixel, p4 = p3 + pixel;
    for (let y = 0; y < rows; ++y, weight += 48) {
      const other = weight + block;
      let w0 = v128.load(weight), w2 = v128.load(weight, 32);
      let x = v128.load(p2);
      let y0 = f32x4.mul(x, w2), y1 = f32x4.mul(x, w0);
      s0 = f32x4.add(s0, f32x4.mul(v128.load(p0), w0));
      s1 = f32x4.add(s1, y1);
      w0 = v128.load(weight, 16);
      s0 = f32x4.add(s0, f32x4.mul(v128.load(p1), w0));
      s1 = f32x4.add(s1, f32x4.mul(v128.load(p3), w0));
      s0 = f32x4.add(s0, y0);
      s1 = f32x4.add(s1, f32x4.mul(v128.load(p4), w2));
      w0 = v128.load(other);
      w2 = v128.load(other, 32);
      x = v128.load(p2, 16);
      y0 = f32x4.mul(x, w2);
      y1 = f32x4.mul(x, w0);
      t0 = f32x4.add(t0, f32x4.mul(v128.load(p0, 16), w0));
      t1 = f32x4.add(t1, y1);
      w0 = v128.load(other, 16);
      t0 = f32x4.add(t0, f32x4.mul(v128.load(p1, 16), w0));
      t1 = f32x4.add(t1, f32x4.mul(v128.load(p3, 16), w0));
      t0 = f32x4.add(t0, y0);
      t1 = f32x4.add(t1, f32x4.mul(v128.load(p4, 16), w2));
      p0 += lineBytes; p1 += lineBytes; p2 += lineBytes; p3 += lineBytes; p4 += lineBytes;
    }
    v128.store(out, activate(act, s0));
    v128.store(out, activate(act, t0), 16);
    v128.store(out + pixel, activate(act, s1));
    v128.store(out + pixel, activate(act, t1), 16);
  }
  if (left == 0) return;
  for (let i = 0; i < TILE_STRIDE_2; ++i, a += 2 * pixel, out += pixel) {
    onePixel(left, a, rows, 3, lineBytes, pixel, w, skipped, 3, taps, out, act);
  }
}
