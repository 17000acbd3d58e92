/** Weights as bytes: symmetric, one scale for each output, the largest magnitude at the end of the range. */
import { roundHalfEven } from "../../plain/functions.ts";
import { type PlainTensor, plainTensor } from "../../tensor/plain_tensor.ts";

/** Bytes with what one step of each output is worth: w is about scale x (byte - zero). */
export interface ByteWeight {
  readonly bytes: PlainTensor<"int8" | "uint8">;
  /** One for each output. */
  readonly scales: Float32Array;
}

/** How outputs lie in a weight. */
export type Outputs = "rows" | "columns";

/** What unsigned bytes are more than signed ones. */
export const MIDDLE = 128;

/**
 * Quantises a weight of floats; each becomes the nearest step, halves to even.
 * @param weight [outputs][..], or [k][outputs] where outputs are columns; finite
 * @param bits 8: steps from -127 to 127; 7: from -63 to 63, of which two products fit 16 bits together
 * @param type int8, or uint8 with a zero point of 128
 */
export function byteWeight(
  { dims, data }: PlainTensor<"float32">,
  outputs: Outputs,
  bits: 7 | 8,
  type: "int8" | "uint8",
): ByteWeight {
  const most = bits === 8 ? 127 : 63;
  const count = outputs === "rows" ? dims[0] : dims[1];
  const taps = data.length / count;
  const at = outputs === "rows"
    ? (output: number, i: number) => output * taps + i
    : (output: number, i: number) => i * count + output;
  const zero = type === "int8" ? 0 : MIDDLE;
  const bytes = type === "int8"
    ? new Int8Array(data.length)
    : new Uint8Array(data.length);
  const scales = new Float32Array(count);
  for (let output = 0; output < count; output++) {
    let largest = 0;
    for (let i = 0; i < taps; i++) {
      largest = Math.max(largest, Math.abs(data[at(output, i)]));
    }
    // What is all zeros, or too small for a step that f32 has, is 0 at any scale.
    const scale = Math.fround(largest / most) || 1;
    scales[output] = scale;
    for (let i = 0; i < taps; i++) {
      const steps = roundHalfEven(data[at(output, i)] / scale);
      bytes[at(output, i)] = zero + Math.max(-most, Math.min(most, steps));
    }
  }
  return {
    bytes: plainTensor(type, dims, bytes) as PlainTensor<"int8" | "uint8">,
    scales,
  };
}
