// Small vector pieces shared by the kernels.

/** c + a * b: two roundings in the deterministic builds, the engine's choice in the relaxed ones. */
// @ts-ignore: decorator
@inline export function mac(c: v128, a: v128, b: v128): v128 {
  if (RELAXED_MADD) return f32x4.relaxed_madd(a, b, c);
  return f32x4.add(c, f32x4.mul(a, b));
}

/** The first `count` floats at p, zeros after them; never reads past them. */
// @ts-ignore: decorator
@inline export function get(p: usize, count: i32): v128 {
  return count >= 4 ? v128.load(p) : getPart(p, count);
}

function getPart(p: usize, count: i32): v128 {
  if (count <= 0) return v128.splat<f32>(0);
  if (count == 1) return v128.load_zero<u32>(p);
  const pair = v128.load_zero<u64>(p);
  return count == 2 ? pair : v128.load_lane<u32>(p, pair, 2, 8);
}

/** Writes the first `count` lanes to p; never writes past them. */
// @ts-ignore: decorator
@inline export function put(p: usize, v: v128, count: i32): void {
  if (count >= 4) v128.store(p, v);
  else putPart(p, v, count);
}

function putPart(p: usize, v: v128, count: i32): void {
  if (count <= 0) return;
  if (count == 1) {
    v128.store_lane<u32>(p, v, 0);
    return;
  }
  v128.store_lane<u64>(p, v, 0);
  if (count == 3) v128.store_lane<u32>(p, v, 2, 8);
}

/** Address i of a row table; `at` is the byte offset of the entry. */
// @ts-ignore: decorator
@inline export function row(table: usize, at: usize): usize {
  return <usize>load<u32>(table + at);
}

/** The first 8 bytes at p, `count` if there are no more; never reads past them. */
export function eight(p: usize, count: i32): v128 {
  if (count >= 8) return v128.load_zero<u64>(p);
  let bytes: u64 = 0;
  for (let i = 0; i < count; ++i) bytes |= <u64>load<u8>(p + i) << (i << 3);
  return i64x2.splat(bytes);
}
