/** Naive quantisation with the roundings of ONNX's operators, and exact integer sums. */

/** A quantised row: a = (q - zero) * scale. */
export interface QuantizedRow {
  scale: number;
  zero: number;
  q: number[];
}

/** Rounds to the nearest integer, halves to the even one. */
export function roundHalfEven(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}

const clamp = (x: number, levels: number) => Math.max(0, Math.min(levels, x));

/** QuantizeLinear of one row to 0..levels, in f32. */
export function quantizeStatic(
  row: ArrayLike<number>,
  scale: number,
  zero: number,
  levels = 255,
): QuantizedRow {
  const q = Array.from(
    row,
    (x) => clamp(roundHalfEven(Math.fround(x / scale)) + zero, levels),
  );
  return { scale, zero, q };
}

/** DynamicQuantizeLinear of one row. */
export function quantizeDynamic(
  row: ArrayLike<number>,
  levels: number,
): QuantizedRow {
  const low = Math.min(0, ...Array.from(row));
  const high = Math.max(0, ...Array.from(row));
  const scale = high === low
    ? 1
    : Math.fround(Math.fround(high - low) / levels);
  const zero = clamp(roundHalfEven(Math.fround(-low / scale)), levels);
  return quantizeStatic(row, scale, zero, levels);
}

/** A row in the kernels' format: header, bytes, padding; as words. */
export function quantizedWords({ scale, zero, q }: QuantizedRow): Int32Array {
  const words = new Int32Array(4 + Math.ceil(q.length / 4));
  new Float32Array(words.buffer)[0] = scale;
  words[1] = zero;
  words[2] = q.reduce((a, b) => a + b, 0);
  new Uint8Array(words.buffer, 16).set(q);
  return words;
}

/** Sum of (q - zero) (v - weightZero) for one column of k weights. */
export function integerSum(
  { zero, q }: QuantizedRow,
  v: ArrayLike<number>,
  weightZero: number,
): number {
  return q.reduce(
    (sum, value, i) => sum + (value - zero) * (v[i] - weightZero),
    0,
  );
}
