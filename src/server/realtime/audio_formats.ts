/** Audio as clients send it: bytes of samples to numbers from -1 to 1. */

/** How samples are written. */
export type AudioEncoding = "audio/pcm" | "audio/pcmu" | "audio/pcma";

/** Samples of one channel. */
export interface AudioFormat {
  readonly encoding: AudioEncoding;
  readonly samplesPerSecond: number;
}

/** @throws RangeError when there is a part of a sample */
export function decodeAudio(
  bytes: Uint8Array,
  encoding: AudioEncoding,
): Float32Array<ArrayBuffer> {
  if (encoding !== "audio/pcm") {
    const table = encoding === "audio/pcmu" ? MU_LAW : A_LAW;
    return Float32Array.from(bytes, (code) => table[code] / 32768);
  }
  if (bytes.length % 2 !== 0) {
    throw new RangeError(
      `a sample is 2 bytes of 16-bit PCM, got ${bytes.length} bytes`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const samples = new Float32Array(bytes.length / 2);
  for (let i = 0; i < samples.length; i++) {
    samples[i] = view.getInt16(2 * i, true) / 32768;
  }
  return samples;
}

/** ITU-T G.711, table 2b, scaled to 16 bits: sign, three bits of exponent, four of mantissa, all inverted. */
const MU_LAW = Int16Array.from({ length: 256 }, (_, code) => {
  const bits = ~code & 0xff;
  const exponent = (bits >> 4) & 7;
  const magnitude = ((((bits & 15) << 3) + 132) << exponent) - 132;
  return bits & 128 ? -magnitude : magnitude;
});

/** ITU-T G.711, table 1b, scaled to 16 bits: as above, every second bit inverted, the lowest segment linear. */
const A_LAW = Int16Array.from({ length: 256 }, (_, code) => {
  const bits = code ^ 0x55;
  const exponent = (bits >> 4) & 7;
  const mantissa = ((bits & 15) << 4) + 8;
  const magnitude = exponent === 0
    ? mantissa
    : (mantissa + 256) << (exponent - 1);
  return bits & 128 ? magnitude : -magnitude;
});
