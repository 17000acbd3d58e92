/** WAV files are read as they were written, and what is none is refused. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  readWav,
  type WavFormat,
  writeWav,
} from "../../examples/streams/wav.ts";
import { propertyRuns } from "../property_runs.ts";

const floats = (values: number[]) => Float32Array.from(values);
const sample = fc.float({ min: -1, max: 1, noNaN: true });

/** A file of one channel, its format chunk changed. */
function changed(edit: (view: DataView, bytes: Uint8Array) => void) {
  const bytes = writeWav({ rateHz: 16000, channels: [floats([0.5, -0.5])] });
  edit(new DataView(bytes.buffer), bytes);
  return bytes;
}

/** The file with a chunk of an odd length before its format and one behind it. */
function withChunks(bytes: Uint8Array): Uint8Array {
  const chunk = [..."junk"].map((letter) => letter.charCodeAt(0));
  const odd = [...chunk, 3, 0, 0, 0, 1, 2, 3, 0];
  return Uint8Array.from([
    ...bytes.subarray(0, 12),
    ...odd,
    ...bytes.subarray(12, 36),
    ...odd,
    ...bytes.subarray(36),
  ]);
}

Deno.test("a WAV file holds the samples of all channels, integers to half a step", () => {
  fc.assert(
    fc.property(
      fc.constantFrom<WavFormat>("int16", "float32"),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.tuple(sample, sample, sample), { maxLength: 40 }),
      fc.integer({ min: 1, max: 192_000 }),
      fc.boolean(),
      (format, count, samples, rateHz, more) => {
        const channels = Array.from(
          { length: count },
          (_, channel) => floats(samples.map((all) => all[channel])),
        );
        const written = writeWav({ rateHz, channels }, format);
        const wav = readWav(more ? withChunks(written) : written);
        assert.equal(wav.rateHz, rateHz);
        assert.equal(wav.channels.length, count);
        wav.channels.forEach((channel, c) => {
          assert.equal(channel.length, samples.length);
          channel.forEach((value, i) => {
            const error = Math.abs(value - channels[c][i]);
            // 1 itself is no integer of 16 bits.
            const allowed = channels[c][i] > 1 - 2 ** -15 ? 2 ** -15 : 2 ** -16;
            assert(error <= (format === "int16" ? allowed : 0), `${i}`);
          });
        });
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});

Deno.test("a WAV file is laid out as others read it", () => {
  const bytes = writeWav({ rateHz: 16000, channels: [floats([1, -1, 0.5])] });
  const view = new DataView(bytes.buffer);
  assert.equal(new TextDecoder("latin1").decode(bytes.subarray(0, 4)), "RIFF");
  assert.equal(view.getUint32(4, true), bytes.length - 8);
  // Format 1, one channel, rate, bytes a second, bytes of all channels' sample, bits of one.
  assert.deepEqual(
    [20, 22, 32, 34].map((at) => view.getUint16(at, true)),
    [1, 1, 2, 16],
  );
  assert.deepEqual(
    [24, 28, 40].map((at) => view.getUint32(at, true)),
    [16000, 32000, 6],
  );
  assert.deepEqual(
    [44, 46, 48].map((at) => view.getInt16(at, true)),
    [32767, -32768, 16384],
  );
});

Deno.test("an extensible format, and data of a length that was never written, are read", () => {
  const plain = writeWav({ rateHz: 8000, channels: [floats([0.25, -0.25])] });
  const bytes = Uint8Array.from([
    ...plain.subarray(0, 36),
    ...new Uint8Array(24),
    ...plain.subarray(36),
  ]);
  const view = new DataView(bytes.buffer);
  view.setUint32(16, 40, true);
  view.setUint16(20, 0xfffe, true);
  view.setUint16(44, 1, true);
  view.setUint32(64, 0xffffffff, true);
  assert.deepEqual(readWav(bytes).channels, [floats([0.25, -0.25])]);
});

Deno.test("data behind a size of 0 are read, other chunks behind it are none", () => {
  const signal = [0, 0, 0, 0, 0, 0.25, -0.25];
  const plain = writeWav({ rateHz: 8000, channels: [floats(signal)] });
  const stopped = plain.slice();
  new DataView(stopped.buffer).setUint32(40, 0, true);
  for (const size of [0, 36, plain.length - 8, 0xffffffff]) {
    new DataView(stopped.buffer).setUint32(4, size, true);
    assert.deepEqual(readWav(stopped).channels, [floats(signal)], `${size}`);
  }
  const empty = writeWav({ rateHz: 8000, channels: [floats([])] });
  const name = [..."LIST"].map((letter) => letter.charCodeAt(0));
  for (
    const behind of [
      [],
      [...name, 2, 0, 0, 0, 1, 2],
      // Without the byte that makes it even.
      [...name, 1, 0, 0, 0, 1],
    ]
  ) {
    const { channels } = readWav(Uint8Array.from([...empty, ...behind]));
    assert.deepEqual(channels, [floats([])], `${behind.length}`);
  }
});

Deno.test("a sample that is no number is refused, with its place", () => {
  for (const value of [NaN, Infinity, -Infinity]) {
    const bytes = writeWav({
      rateHz: 8000,
      channels: [floats([1, 2, 3]), floats([0, value, 0])],
    }, "float32");
    assert.throws(() => readWav(bytes), {
      name: "RangeError",
      message: new RegExp(`sample 1 of channel 1 is ${value} `),
    });
  }
});

Deno.test("what is no WAV file, or of other samples, is refused with a word", () => {
  const refuses = (bytes: Uint8Array, message: RegExp) =>
    assert.throws(
      () => readWav(bytes),
      (error: Error) =>
        error instanceof RangeError && message.test(error.message),
    );
  refuses(new Uint8Array(0), /no WAV file/);
  refuses(changed((_, bytes) => bytes[0] = 0), /no WAV file/);
  refuses(changed((view) => view.setUint16(34, 24, true)), /format 1, 24 bits/);
  refuses(changed((view) => view.setUint16(20, 7, true)), /format 7, 16 bits/);
  refuses(changed((view) => view.setUint16(22, 0, true)), /0 channels/);
  refuses(changed((view) => view.setUint32(24, 0, true)), /at 0 Hz/);
  refuses(changed((view) => view.setUint32(16, 99, true)), /is cut off/);
  refuses(changed((_, bytes) => bytes[12] = 0), /data before it says/);
  refuses(changed((_, bytes) => bytes[36] = 0), /has no data/);
  for (const channels of [[], [floats([0]), floats([])]]) {
    assert.throws(() => writeWav({ rateHz: 1, channels }), RangeError);
  }
});

Deno.test("a file that is cut off anywhere has fewer samples, or is refused", () => {
  const whole = writeWav({ rateHz: 1, channels: [floats([0.5, 0.25, -1])] });
  for (let length = 0; length < whole.length; length++) {
    let samples: Float32Array;
    try {
      [samples] = readWav(whole.slice(0, length)).channels;
    } catch (error) {
      assert(error instanceof RangeError, `${length}: ${error}`);
      assert(length < 44);
      continue;
    }
    assert.equal(samples.length, Math.floor((length - 44) / 2));
  }
});
