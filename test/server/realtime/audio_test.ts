/** From bytes to samples at the detector's rate. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { decodeAudio } from "../../../src/server/realtime/audio_formats.ts";
import { Resampler } from "../../../src/server/realtime/resampler.ts";
import { propertyRuns } from "../../property_runs.ts";

Deno.test("PCM is 16 bits, little-endian, and whole samples", () => {
  const bytes = Uint8Array.of(0, 0x80, 0xff, 0x7f, 0, 0, 1, 0);
  assert.deepEqual([...decodeAudio(bytes, "audio/pcm")], [
    -1,
    32767 / 32768,
    0,
    1 / 32768,
  ]);
  assert.throws(() => decodeAudio(Uint8Array.of(1), "audio/pcm"), RangeError);
});

Deno.test("G.711 has the values of the recommendation's tables at the ends of their segments", () => {
  // Table 2b: character signals of mu-law and their decoder outputs (14 bits, four times as many here).
  const mu = (code: number) =>
    decodeAudio(Uint8Array.of(code), "audio/pcmu")[0] * 32768 / 4;
  assert.equal(mu(0b1000_0000), 8031);
  assert.equal(mu(0b1000_1111), 4191);
  assert.equal(mu(0b1001_1111), 2079);
  assert.equal(mu(0b1110_1111), 33);
  assert.equal(mu(0b1111_1110), 2);
  assert.equal(mu(0b1111_1111), 0);
  assert.equal(mu(0b0000_0000), -8031);
  // Table 1b: of A-law, even bits inverted (13 bits, eight times as many here).
  const a = (code: number) =>
    decodeAudio(Uint8Array.of(code ^ 0x55), "audio/pcma")[0] * 32768 / 8;
  assert.equal(a(0b1111_1111), 4032);
  assert.equal(a(0b1111_0000), 2112);
  assert.equal(a(0b1010_0000), 66);
  assert.equal(a(0b1000_0000), 1);
  assert.equal(a(0b0000_0000), -1);
});

function sine(rate: number, hertz: number, seconds: number): Float32Array {
  return Float32Array.from(
    { length: rate * seconds },
    (_, i) => Math.sin(2 * Math.PI * hertz * i / rate),
  );
}

for (
  const [from, to] of [
    [24_000, 16_000],
    [8_000, 16_000],
    [48_000, 16_000],
    [24_000, 8_000],
    [16_000, 16_000],
  ]
) {
  Deno.test(`a tone is the same tone, at the same place, from ${from} to ${to} samples a second`, () => {
    const made = new Resampler(from, to).push(sine(from, 440, 0.25));
    const expected = sine(to, 440, 0.25);
    assert(made.length > 0.9 * expected.length);
    for (let i = 100; i < made.length; i++) {
      assert(Math.abs(made[i] - expected[i]) < 1e-3, `sample ${i}`);
    }
  });
}

Deno.test("samples of the detector's own rate are taken as they are", () => {
  const given = sine(16_000, 7_900, 0.01);
  assert.deepEqual(new Resampler(16_000, 16_000).push(given), given);
});

Deno.test("what the lower rate cannot have is left out", () => {
  const made = new Resampler(24_000, 16_000).push(sine(24_000, 10_000, 0.25));
  const loudest = Math.max(...made.slice(100).map(Math.abs));
  assert(loudest < 1e-3, `${loudest}`);
});

Deno.test("however a stream is cut, its samples are the same bits", () => {
  const given = sine(24_000, 700, 0.05);
  const whole = new Resampler(24_000, 16_000).push(given);
  fc.assert(
    fc.property(
      fc.array(fc.nat(given.length), { maxLength: 20 }),
      (cuts) => {
        const resampler = new Resampler(24_000, 16_000);
        const ends = [...cuts, given.length].sort((a, b) => a - b);
        const made = ends.flatMap((end, i) => [
          ...resampler.push(given.subarray(i === 0 ? 0 : ends[i - 1], end)),
        ]);
        assert.deepEqual(made, [...whole]);
      },
    ),
    { numRuns: propertyRuns(50) },
  );
});
