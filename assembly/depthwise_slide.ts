// Four channels of a line of output pixels under a kernel 3 wide. The weights stay in
// registers while the window slides: every input column is loaded once and enters the sums
// of the pixels that see it, whose order of roundings is that of depthwise.ts.

// Type tags: rows of the kernel that lie inside the image.
export class Two {}
export class Three {}

/** sum + one input column (rows at p0, p1, p2) under one column of the kernel. */
// @ts-ignore: decorator
@inline function column<Rows>(sum: v128, x0: v128, x1: v128, x2: v128, w0: v128, w1: v128, w2: v128): v128 {
  sum = f32x4.add(f32x4.add(sum, f32x4.mul(x0, w0)), f32x4.mul(x1, w1));
  return idof<Rows>() == idof<Three>() ? f32x4.add(sum, f32x4.mul(x2, w2)) : sum;
}

/** A third row, where there is one. */
// @ts-ignore: decorator
@inline function third<Rows>(p: usize): v128 {
  return idof<Rows>() == idof<Three>() ? v128.load(p) : v128.splat<f32>(0);
}

/** Stride 1: `count` pixels from the input column at a on. */
export function slideOne<Rows>(
  a: usize, lineBytes: usize, pixel: usize, bias: usize, w: usize, out: usize, count: i32
): void {
  const w00 = v128.load(w), w01 = v128.load(w, 16), w02 = v128.load(w, 32);
  const w10 = v128.load(w, 48), w11 = v128.load(w, 64), w12 = v128.load(w, 80);
  const w20 = third<Rows>(w + 96), w21 = third<Rows>(w + 112), w22 = third<Rows>(w + 128);
  const start = v128.load(bias);
  let p0 = a, p1 = a + lineBytes, p2 = p1 + lineBytes;
  let x0 = v128.load(p0), x1 = v128.load(p1), x2 = third<Rows>(p2);
  let first = column<Rows>(start, x0, x1, x2, w00, w10, w20);
  p0 += pixel; p1 += pixel; p2 += pixel;
  x0 = v128.load(p0), x1 = v128.load(p1), x2 = third<Rows>(p2);
  first = column<Rows>(first, x0, x1, x2, w01, w11, w21);
  let second = column<Rows>(start, x0, x1, x2, w00, w10, w20);
  for (; count > 0; --count, out += pixel) {
    p0 += pixel; p1 += pixel; p2 += pixel;
    x0 = v128.load(p0), x1 = v128.load(p1), x2 = third<Rows>(p2);
    v128.store(out, column<Rows>(first, x0, x1, x2, w02, w12, w22));
    first = column<Rows>(second, x0, x1, x2, w01, w11, w21);
    second = column<Rows>(start, x0, x1, x2, w00, w10, w20);
  }
}

/** Stride 2. */
export function slideTwo<Rows>(
  a: usize, lineBytes: usize, pixel: usize, bias: usize, w: usize, out: usize, count: i32
): void {
  const w00 = v128.load(w), w01 = v128.load(w, 16), w02 = v128.load(w, 32);
  const w10 = v128.load(w, 48), w11 = v128.load(w, 64), w12 = v128.load(w, 80);
  const w20 = third<Rows>(w + 96), w21 = third<Rows>(w + 112), w22 = third<Rows>(w + 128);
  const start = v128.load(bias);
  let p0 = a, p1 = a + lineBytes, p2 = p1 + lineBytes;
  let x0 = v128.load(p0), x1 = v128.load(p1), x2 = third<Rows>(p2);
  let sum = column<Rows>(start, x0, x1, x2, w00, w10, w20);
  for (; count > 0; --count, out += pixel) {
    p0 += pixel; p1 += pixel; p2 += pixel;
    x0 = v128.load(p0), x1 = v128.load(p1), x2 = third<Rows>(p2);
    sum = column<Rows>(sum, x0, x1, x2, w01, w11, w21);
    p0 += pixel; p1 += pixel; p2 += pixel;
    x0 = v128.load(p0), x1 = v128.load(p1), x2 = third<Rows>(p2);
    v128.store(out, column<Rows>(sum, x0, x1, x2, w02, w12, w22));
    sum = column<Rows>(start, x0, x1, x2, w00, w10, w20);
  }
}
