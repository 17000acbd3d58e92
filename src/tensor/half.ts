/** 16-bit floats as f32, exactly: every float16 and every bfloat16 is a float32. */

/**
 * IEEE 754 half precision: a sign, 5 bits of exponent, 10 of fraction.
 * @param bits one element each
 */
export function widenFloat16(bits: Uint16Array): Float32Array {
  const out = new Float32Array(bits.length);
  const words = new Uint32Array(out.buffer);
  for (let i = 0; i < bits.length; i++) {
    const half = bits[i];
    const exponent = (half >> 10) & 0x1f;
    const fraction = half & 0x3ff;
    if (exponent === 0) {
      // Zero and subnormals, multiples of 2^-24: the product is exact, and keeps a zero's sign.
      out[i] = (half & 0x8000 ? -1 : 1) * fraction * 2 ** -24;
      continue;
    }
    // Infinities and NaNs keep the largest exponent; the others are biased by 127 instead of 15.
    const widened = exponent === 0x1f ? 0xff : exponent + 112;
    words[i] = ((half & 0x8000) << 16) | (widened << 23) | (fraction << 13);
  }
  return out;
}

/**
 * The upper half of a float32.
 * @param bits one element each
 */
export function widenBfloat16(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i] << 16;
  return new Float32Array(words.buffer);
}
