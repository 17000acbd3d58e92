// Fourier transforms of real rows whose length is a power of two. A row of n is taken for n / 2
// complex numbers, even elements and odd ones, transformed in passes of radix 4 (and one of 2, where
// a factor 2 is left) that sort as they go (Stockham's form), and parted into the n / 2 + 1
// frequencies of one side. Real and imaginary parts lie apart throughout, so that all arithmetic is
// four lanes wide for a single row and the inverse is the same passes with the parts exchanged.
// Products and sums are rounded one by one in every build. The tables of sines are the host's
// (src/kernels/pack/pack_fft.ts): nothing transcendental is computed here.
import { checkArray, checkLeast, checkRows } from "./checks";
import { row } from "./simd";

/**
 * Frequencies 0 .. n / 2 of rows of n real numbers: X_k = sum_j a_j e^(-2 pi i j k / n). A row of
 * the result is n / 2 + 1 real parts, then as many imaginary ones. n: a power of two from 32 to
 * 65536. w: packFft(n). scratch: 8 n bytes.
 */
export function rfft_f32(m: i32, n: i32, aRows: usize, w: usize, outRows: usize, scratch: usize): void {
  check(m, n, w, scratch);
  const half = n >> 1, bytes = <usize>half << 2;
  if (!ASC_NO_ASSERT) {
    checkRows(aRows, m, <usize>n << 2);
    checkRows(outRows, m, <usize>(n + 2) << 2);
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    unzip(half, row(aRows, at), scratch, scratch + bytes);
    const z = scratch + passes(half, w + bytes, scratch, scratch + bytes);
    part(half, w, z, z + bytes, row(outRows, at));
  }
}

/**
 * Rows of n real numbers of which rfft_f32 gives these frequencies, 1 / n included; the imaginary
 * parts of frequencies 0 and n / 2, which real rows do not have, are not looked at. Operands as
 * those of rfft_f32.
 */
export function irfft_f32(m: i32, n: i32, aRows: usize, w: usize, outRows: usize, scratch: usize): void {
  check(m, n, w, scratch);
  const half = n >> 1, bytes = <usize>half << 2;
  if (!ASC_NO_ASSERT) {
    checkRows(aRows, m, <usize>(n + 2) << 2);
    checkRows(outRows, m, <usize>n << 2);
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    join(half, w, row(aRows, at), scratch, scratch + bytes);
    // Forward with real and imaginary parts exchanged is backward.
    const z = scratch + passes(half, w + bytes, scratch + bytes, scratch);
    zip(half, z, z + bytes, row(outRows, at));
  }
}

// @ts-ignore: decorator
@inline function check(m: i32, n: i32, w: usize, scratch: usize): void {
  if (!ASC_NO_ASSERT) {
    checkLeast(n, 32);
    assert(n <= 65536 && (n & (n - 1)) == 0, "length is no power of two up to 65536");
    checkArray(w, <usize>n * 5);
    checkArray(scratch, <usize>n << 3);
  }
}

/** Elements 0, 2, 4, .. to re, the others to im. */
function unzip(half: i32, a: usize, re: usize, im: usize): void {
  for (const end = re + (<usize>half << 2); re < end; re += 16, im += 16, a += 32) {
    const x = v128.load(a), y = v128.load(a, 16);
    v128.store(re, i8x16.shuffle(x, y, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27));
    v128.store(im, i8x16.shuffle(x, y, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31));
  }
}

/** The other way round. */
function zip(half: i32, re: usize, im: usize, out: usize): void {
  for (const end = re + (<usize>half << 2); re < end; re += 16, im += 16, out += 32) {
    const x = v128.load(re), y = v128.load(im);
    v128.store(out, low(x, y));
    v128.store(out, high(x, y), 16);
  }
}

/**
 * Of a transform Z of half complex numbers X_k = E + w^k O and X_(half-k) = conj(E - w^k O), where
 * E = (Z_k + conj Z_(half-k)) / 2 and O = (Z_k - conj Z_(half-k)) / 2i: of four k and their mirror
 * images at once. w: cos and -sin of 2 pi k / n, halved, from k = 1 on, by fours.
 */
function part(half: i32, w: usize, re: usize, im: usize, out: usize): void {
  const other = out + (<usize>(half + 1) << 2);
  const even = load<f32>(re), odd = load<f32>(im);
  const last = <usize>half << 2;
  store<f32>(out, even + odd);
  store<f32>(other, 0);
  store<f32>(out + last, even - odd);
  store<f32>(other + last, 0);
  const halves = v128.splat<f32>(0.5);
  for (let at: usize = 4, back = last - 16; at <= last >> 1; at += 16, back -= 16, w += 32) {
    const ar = v128.load(re + at), ai = v128.load(im + at);
    const br = mirrored(v128.load(re + back)), bi = mirrored(v128.load(im + back));
    const er = f32x4.mul(f32x4.add(ar, br), halves), ei = f32x4.mul(f32x4.sub(ai, bi), halves);
    const or = f32x4.add(ai, bi), oi = f32x4.sub(br, ar);
    const c = v128.load(w), s = v128.load(w, 16);
    const tr = f32x4.sub(f32x4.mul(c, or), f32x4.mul(s, oi));
    const ti = f32x4.add(f32x4.mul(c, oi), f32x4.mul(s, or));
    // In the middle k is its own image; what is stored last stays.
    v128.store(out + back, mirrored(f32x4.sub(er, tr)));
    v128.store(other + back, mirrored(f32x4.sub(ti, ei)));
    v128.store(out + at, f32x4.add(er, tr));
    v128.store(other + at, f32x4.add(ei, ti));
  }
}

/** Z / half of the frequencies X: Z_k = E + i O, Z_(half-k) = conj(E - i O); see part. */
function join(half: i32, w: usize, a: usize, re: usize, im: usize): void {
  const other = a + (<usize>(half + 1) << 2);
  const last = <usize>half << 2;
  const scale: f32 = 1 / <f32>half;
  const first = load<f32>(a), middle = load<f32>(a + last);
  store<f32>(re, (first + middle) * (scale * 0.5));
  store<f32>(im, (first - middle) * (scale * 0.5));
  const whole = v128.splat<f32>(scale), halves = v128.splat<f32>(scale * 0.5);
  for (let at: usize = 4, back = last - 16; at <= last >> 1; at += 16, back -= 16, w += 32) {
    const ar = v128.load(a + at), ai = v128.load(other + at);
    const br = mirrored(v128.load(a + back)), bi = mirrored(v128.load(other + back));
    const er = f32x4.mul(f32x4.add(ar, br), halves), ei = f32x4.mul(f32x4.sub(ai, bi), halves);
    const tr = f32x4.mul(f32x4.sub(ar, br), whole), ti = f32x4.mul(f32x4.add(ai, bi), whole);
    const c = v128.load(w), s = v128.load(w, 16);
    const or = f32x4.add(f32x4.mul(c, tr), f32x4.mul(s, ti));
    const oi = f32x4.sub(f32x4.mul(c, ti), f32x4.mul(s, tr));
    v128.store(re + back, mirrored(f32x4.add(er, oi)));
    v128.store(im + back, mirrored(f32x4.sub(or, ei)));
    v128.store(re + at, f32x4.sub(er, oi));
    v128.store(im + at, f32x4.add(ei, or));
  }
}

/**
 * The transform of `half` complex numbers at re and im, at the beginning of a scratch memory whose
 * other half they are passed to and from; says how far from there the result lies.
 */
function passes(half: i32, w: usize, re: usize, im: usize): usize {
  const far = <usize>half << 3;
  const quarter = <usize>half;
  w = first(quarter, w, re, im, re + far, im + far);
  let from = far, length = half >> 2, stride: usize = 16;
  for (; length >= 4; length >>= 2, stride <<= 2) {
    const to = far - from;
    w = further(length >> 2, stride, quarter, w, re + from, im + from, re + to, im + to);
    from = to;
  }
  if (length == 2) {
    const to = far - from;
    for (let at: usize = 0; at < stride; at += 16) {
      two(re + from + at, re + to + at, stride);
      two(im + from + at, im + to + at, stride);
    }
    from = to;
  }
  return from;
}

/** Sum and difference. */
// @ts-ignore: decorator
@inline function two(x: usize, y: usize, stride: usize): void {
  const a = v128.load(x), b = v128.load(x + stride);
  v128.store(y, f32x4.add(a, b));
  v128.store(y + stride, f32x4.sub(a, b));
}

/**
 * The first pass: four neighbours p at once. Numbers p, p + L/4, p + 2L/4, p + 3L/4 become four
 * neighbours of the result. w: of each four p the real and imaginary parts of e^(-2 pi i p / L) and
 * of its square and cube.
 * @param quarter bytes of a quarter of the numbers
 */
function first(quarter: usize, w: usize, re: usize, im: usize, toRe: usize, toIm: usize): usize {
  for (const end = re + quarter; re < end; re += 16, im += 16, toRe += 64, toIm += 64, w += 96) {
    const ar = v128.load(re), cr = v128.load(re + (quarter << 1));
    const ai = v128.load(im), ci = v128.load(im + (quarter << 1));
    const br = v128.load(re + quarter), dr = v128.load(re + 3 * quarter);
    const bi = v128.load(im + quarter), di = v128.load(im + 3 * quarter);
    const pr = f32x4.add(ar, cr), pi = f32x4.add(ai, ci), qr = f32x4.sub(ar, cr), qi = f32x4.sub(ai, ci);
    const sr = f32x4.add(br, dr), si = f32x4.add(bi, di), tr = f32x4.sub(br, dr), ti = f32x4.sub(bi, di);
    const ur = f32x4.add(qr, ti), ui = f32x4.sub(qi, tr);
    const vr = f32x4.sub(pr, sr), vi = f32x4.sub(pi, si);
    const xr = f32x4.sub(qr, ti), xi = f32x4.add(qi, tr);
    const w1r = v128.load(w), w1i = v128.load(w, 16), w2r = v128.load(w, 32), w2i = v128.load(w, 48);
    const w3r = v128.load(w, 64), w3i = v128.load(w, 80);
    four(f32x4.add(pr, sr), real(ur, ui, w1r, w1i), real(vr, vi, w2r, w2i), real(xr, xi, w3r, w3i), toRe);
    four(
      f32x4.add(pi, si), imaginary(ur, ui, w1r, w1i), imaginary(vr, vi, w2r, w2i), imaginary(xr, xi, w3r, w3i), toIm
    );
  }
  return w;
}

/**
 * A further pass over `length` = 4 count groups of `stride` bytes each, in which four numbers share
 * their factors. w: of p = 1 .. count - 1 as for the first pass, once each.
 */
function further(
  count: i32, stride: usize, quarter: usize, w: usize, re: usize, im: usize, toRe: usize, toIm: usize
): usize {
  group<i32>(stride, quarter, re, im, toRe, toIm, 0);
  for (let p = 1; p < count; ++p, w += 24) {
    re += stride;
    im += stride;
    toRe += stride << 2;
    toIm += stride << 2;
    group<f32>(stride, quarter, re, im, toRe, toIm, w);
  }
  return w;
}

/** One group; T = f32: with factors, i32: of which all are 1. */
// @ts-ignore: decorator
@inline function group<T>(
  stride: usize, quarter: usize, re: usize, im: usize, toRe: usize, toIm: usize, w: usize
): void {
  let w1r = v128.splat<f32>(0), w1i = w1r, w2r = w1r, w2i = w1r, w3r = w1r, w3i = w1r;
  if (isFloat<T>()) {
    w1r = v128.load_splat<f32>(w);
    w1i = v128.load_splat<f32>(w, 4);
    w2r = v128.load_splat<f32>(w, 8);
    w2i = v128.load_splat<f32>(w, 12);
    w3r = v128.load_splat<f32>(w, 16);
    w3i = v128.load_splat<f32>(w, 20);
  }
  for (let at: usize = 0; at < stride; at += 16) {
    const x = re + at, y = im + at, to = toRe + at, too = toIm + at;
    const ar = v128.load(x), cr = v128.load(x + (quarter << 1));
    const ai = v128.load(y), ci = v128.load(y + (quarter << 1));
    const br = v128.load(x + quarter), dr = v128.load(x + 3 * quarter);
    const bi = v128.load(y + quarter), di = v128.load(y + 3 * quarter);
    const pr = f32x4.add(ar, cr), pi = f32x4.add(ai, ci), qr = f32x4.sub(ar, cr), qi = f32x4.sub(ai, ci);
    const sr = f32x4.add(br, dr), si = f32x4.add(bi, di), tr = f32x4.sub(br, dr), ti = f32x4.sub(bi, di);
    const ur = f32x4.add(qr, ti), ui = f32x4.sub(qi, tr);
    const vr = f32x4.sub(pr, sr), vi = f32x4.sub(pi, si);
    const xr = f32x4.sub(qr, ti), xi = f32x4.add(qi, tr);
    v128.store(to, f32x4.add(pr, sr));
    v128.store(too, f32x4.add(pi, si));
    if (isFloat<T>()) {
      v128.store(to + stride, real(ur, ui, w1r, w1i));
      v128.store(too + stride, imaginary(ur, ui, w1r, w1i));
      v128.store(to + (stride << 1), real(vr, vi, w2r, w2i));
      v128.store(too + (stride << 1), imaginary(vr, vi, w2r, w2i));
      v128.store(to + 3 * stride, real(xr, xi, w3r, w3i));
      v128.store(too + 3 * stride, imaginary(xr, xi, w3r, w3i));
    } else {
      v128.store(to + stride, ur);
      v128.store(too + stride, ui);
      v128.store(to + (stride << 1), vr);
      v128.store(too + (stride << 1), vi);
      v128.store(to + 3 * stride, xr);
      v128.store(too + 3 * stride, xi);
    }
  }
}

/** Real part of a product. */
// @ts-ignore: decorator
@inline function real(ar: v128, ai: v128, br: v128, bi: v128): v128 {
  return f32x4.sub(f32x4.mul(ar, br), f32x4.mul(ai, bi));
}

/** Imaginary part of a product. */
// @ts-ignore: decorator
@inline function imaginary(ar: v128, ai: v128, br: v128, bi: v128): v128 {
  return f32x4.add(f32x4.mul(ar, bi), f32x4.mul(ai, br));
}

/** Lanes 0 of four vectors, then lanes 1, 2 and 3. */
// @ts-ignore: decorator
@inline function four(a: v128, b: v128, c: v128, d: v128, to: usize): void {
  const ac = low(a, c), bd = low(b, d), eg = high(a, c), fh = high(b, d);
  v128.store(to, low(ac, bd));
  v128.store(to, high(ac, bd), 16);
  v128.store(to, low(eg, fh), 32);
  v128.store(to, high(eg, fh), 48);
}

/** The lower two lanes of both, in turn. */
// @ts-ignore: decorator
@inline function low(a: v128, b: v128): v128 {
  return i8x16.shuffle(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
}

/** The upper two. */
// @ts-ignore: decorator
@inline function high(a: v128, b: v128): v128 {
  return i8x16.shuffle(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
}

/** Lanes in reverse. */
// @ts-ignore: decorator
@inline function mirrored(a: v128): v128 {
  return i8x16.shuffle(a, a, 12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
}
