/**
 * WAV files: RIFF chunks (Multimedia Programming Interface and Data Specifications 1.0, IBM and Microsoft 1991) of
 * 16-bit integers or 32-bit floats, of any number of channels.
 */

/** Sound as numbers from -1 to 1. */
export interface Wav {
  /** Samples a second. */
  readonly rateHz: number;
  /** The samples of each channel, all of one length. */
  readonly channels: readonly Float32Array[];
}

/** How samples are stored. */
export type WavFormat = "int16" | "float32";

const [PCM, FLOAT, EXTENSIBLE] = [1, 3, 0xfffe];
const BYTES: Readonly<Record<WavFormat, number>> = { int16: 2, float32: 4 };
/** What 1 would be as an integer of 16 bits. */
const FULL = 32768;
const HEADER_BYTES = 44;

/**
 * Reads a file. Chunks other than format and data are skipped; data that a file cut off lacks are left out, and where
 * nothing says how many there are, all that follows are data.
 * @throws RangeError when it is no WAV file, or one of other samples, or a sample is no number
 */
export function readWav(bytes: Uint8Array): Wav {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isThere = (at: number, count: number) => at + count <= bytes.length;
  const name = (at: number) =>
    String.fromCharCode(...bytes.subarray(at, at + 4));
  if (!isThere(0, 12) || name(0) !== "RIFF" || name(8) !== "WAVE") {
    throw new RangeError(
      "This is no WAV file: it does not begin with RIFF and WAVE",
    );
  }
  /** Whether what lies from a place to the end are chunks. */
  const areChunks = (at: number) => {
    while (isThere(at, 8) && /^[ -~]{4}$/.test(name(at))) {
      const size = view.getUint32(at + 4, true);
      at += 8 + size + size % 2;
    }
    // Some leave out the byte that makes the last one even.
    return at === bytes.length || at === bytes.length + 1;
  };
  let format: { rateHz: number; count: number; of: WavFormat } | undefined;
  for (let at = 12; isThere(at, 8);) {
    const size = view.getUint32(at + 4, true);
    const from = at + 8;
    if (name(at) === "fmt ") {
      if (size < 16 || !isThere(from, size)) {
        throw new RangeError("This WAV file's format chunk is cut off");
      }
      format = readFormat(view, from, size);
    } else if (name(at) === "data") {
      if (!format) {
        throw new RangeError(
          "This WAV file has data before it says of what format",
        );
      }
      // A recorder that was stopped has not written how much there is: the size is the largest, or still 0.
      const isOpen = size === 0 && !areChunks(from);
      const end = isOpen ? bytes.length : Math.min(from + size, bytes.length);
      return {
        rateHz: format.rateHz,
        channels: readChannels(view, from, end, format),
      };
    }
    at = from + size + size % 2;
  }
  throw new RangeError("This WAV file has no data");
}

function readFormat(view: DataView, at: number, size: number) {
  const tag = view.getUint16(at, true);
  // The first two bytes of an extensible format's GUID are such a number again.
  const code = tag === EXTENSIBLE && size >= 40
    ? view.getUint16(at + 24, true)
    : tag;
  const count = view.getUint16(at + 2, true);
  const rateHz = view.getUint32(at + 4, true);
  const bits = view.getUint16(at + 14, true);
  const of: WavFormat | undefined = code === PCM && bits === 16
    ? "int16"
    : code === FLOAT && bits === 32
    ? "float32"
    : undefined;
  if (of === undefined || count === 0 || rateHz === 0) {
    throw new RangeError(
      `This WAV file has ${count} channels of format ${code}, ${bits} bits, at ${rateHz} Hz; ` +
        "read are integers of 16 bits (format 1) and floats of 32 (format 3)",
    );
  }
  return { rateHz, count, of };
}

function readChannels(
  view: DataView,
  from: number,
  end: number,
  { count, of }: { count: number; of: WavFormat },
): Float32Array[] {
  const step = BYTES[of];
  const length = Math.floor((end - from) / (step * count));
  return Array.from({ length: count }, (_, channel) => {
    const samples = new Float32Array(length);
    for (let i = 0; i < length; i++) {
      const at = from + (i * count + channel) * step;
      samples[i] = of === "int16"
        ? view.getInt16(at, true) / FULL
        : view.getFloat32(at, true);
      if (!Number.isFinite(samples[i])) {
        throw new RangeError(
          `This WAV file's sample ${i} of channel ${channel} is ${
            samples[i]
          } (both count from 0)`,
        );
      }
    }
    return samples;
  });
}

/**
 * Writes a file. Integers are rounded to the nearest, what is out of range becomes the largest there is.
 * @throws RangeError when channels are none, or of several lengths
 */
export function writeWav(
  { rateHz, channels }: Wav,
  format: WavFormat = "int16",
): Uint8Array<ArrayBuffer> {
  const count = channels.length;
  const length = channels[0]?.length ?? 0;
  if (count === 0 || channels.some((channel) => channel.length !== length)) {
    throw new RangeError(
      "A WAV file has one channel or more, all of one length",
    );
  }
  const step = BYTES[format];
  const size = length * count * step;
  const bytes = new Uint8Array(HEADER_BYTES + size);
  const view = new DataView(bytes.buffer);
  const put = (at: number, name: string) =>
    bytes.set([...name].map((letter) => letter.charCodeAt(0)), at);
  put(0, "RIFF");
  view.setUint32(4, HEADER_BYTES - 8 + size, true);
  put(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, format === "int16" ? PCM : FLOAT, true);
  view.setUint16(22, count, true);
  view.setUint32(24, rateHz, true);
  view.setUint32(28, rateHz * count * step, true);
  view.setUint16(32, count * step, true);
  view.setUint16(34, 8 * step, true);
  put(36, "data");
  view.setUint32(40, size, true);
  channels.forEach((samples, channel) => {
    for (let i = 0; i < length; i++) {
      const at = HEADER_BYTES + (i * count + channel) * step;
      if (format === "float32") view.setFloat32(at, samples[i], true);
      else {
        const value = Math.round(samples[i] * FULL);
        view.setInt16(at, Math.max(-FULL, Math.min(FULL - 1, value)), true);
      }
    }
  });
  return bytes;
}
