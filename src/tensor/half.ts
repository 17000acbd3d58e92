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

const WORD = new DataView(new ArrayBuffer(4));

/** To half precision: the nearest, of two as near the even one; what is too large becomes infinite. */
export function narrowFloat16(values: Float32Array): Uint16Array {
  return Uint16Array.from(values, (value) => {
    WORD.setFloat32(0, value);
    const sign = WORD.getUint8(0) & 0x80 ? 0x8000 : 0;
    const size = Math.abs(value);
    if (Number.isNaN(size)) return 0x7e00;
    // 65,504 is the largest; from half a step above it on it rounds up.
    if (size >= 65_520) return sign | 0x7c00;
    const exponent = Math.max(-14, exponentOf(size));
    // Rounded up to the next power of two, the sum carries into the exponent.
    return sign + (exponent + 14) * 1024 +
      roundedEven(size * 2 ** (10 - exponent));
  });
}

/** To bfloat16: the nearest, of two as near the even one. */
export function narrowBfloat16(values: Float32Array): Uint16Array {
  return Uint16Array.from(values, (value) => {
    WORD.setFloat32(0, value);
    const bits = WORD.getUint32(0);
    if (Number.isNaN(value)) return bits >>> 16 | 0x40;
    return (bits + 0x7fff + (bits >>> 16 & 1)) >>> 16;
  });
}

/** Of a single-precision number that is no denormal, which are far below half precision's. */
function exponentOf(size: number): number {
  WORD.setFloat32(0, size);
  return (WORD.getUint32(0) >>> 23) - 127;
}

function roundedEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest === 0.5) return below + below % 2;
  return rest < 0.5 ? below : below + 1;
}
