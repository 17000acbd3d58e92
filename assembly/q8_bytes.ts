// Whether this engine's dot product of four takes activations of 8 bits. By the specification of
// relaxed SIMD it reads them as signed or as unsigned bytes, and its sums of two may saturate at 16
// bits: which, is the engine's choice, constant while a program runs (WebAssembly 3.0, "Relaxed
// operations": parameters are constant during the execution of any given program). With VNNI they
// are unsigned and nothing saturates. So it is tried, on the values where the choices differ.

// Edges beside each other in every order that sums of two and of four tell apart.
const WEIGHTS = memory.data<u8>([
  127, 127, 127, 127, 128, 128, 128, 128, 127, 127, 128, 128, 255, 128, 127, 1
], 16);
const ACTIVATIONS = memory.data<u8>([
  255, 255, 255, 255, 255, 255, 255, 255, 255, 128, 255, 128, 129, 127, 254, 255
], 16);

/** Whether sums of four products of weights of 8 bits by unsigned activations of 8 bits are exact. */
export function dotsTakeBytes(): bool {
  if (!ASC_FEATURE_RELAXED_SIMD) return false;
  // Every byte in every lane, the edges first.
  for (let turn = 0; turn < 256; ++turn) {
    const w = v128.xor(v128.load(WEIGHTS), i8x16.splat(<i8>turn));
    const a = v128.xor(v128.load(ACTIVATIONS), i8x16.splat(<i8>(turn * 5)));
    const even = i32x4.dot_i16x8_s(i16x8.shr_u(i16x8.shl(a, 8), 8), i16x8.shr_s(i16x8.shl(w, 8), 8));
    const odd = i32x4.dot_i16x8_s(i16x8.shr_u(a, 8), i16x8.shr_s(w, 8));
    const start = v128.splat<i32>(turn << 22);
    const exact = i32x4.add(start, i32x4.add(even, odd));
    if (!i32x4.all_true(i32x4.eq(i32x4.relaxed_dot_i8x16_i7x16_add_s(w, a, start), exact))) return false;
  }
  return true;
}
