/** What transforms are known for, and what the tables of sines promise. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { packFft } from "../../src/kernels/pack/pack_fft.ts";
import { fftCase } from "./cases/fft.ts";
import type { KernelCase } from "./kernel_case.ts";
import { place } from "./placement.ts";
import { propertyRuns } from "../property_runs.ts";
import { type Build, builds, release } from "./builds.ts";

const lengths = fc.integer({ min: 5, max: 13 }).map((power) => 2 ** power);
const signals = fc.record({ n: lengths, seed: fc.nat() });

function results(
  { kernels, memory, base }: Build,
  kernelCase: KernelCase,
  from?: Float32Array,
): Float32Array {
  const { a } = kernelCase.inputs;
  const placed = place(memory, {
    ...kernelCase,
    inputs: { a: { ...a, data: from ?? a.data } },
  }, { base });
  placed.run(kernels);
  return new Float32Array(placed.bits("out").buffer);
}

const one = (name: "rfft_f32" | "irfft_f32", n: number, seed: number) =>
  fftCase(name).of({ prng: new Prng(seed), rows: 1, exact: false }, { n });

Deno.test("there and back again is the signal, and its energy that of its frequencies (Parseval)", () => {
  fc.assert(
    fc.property(signals, ({ n, seed }) => {
      const forward = one("rfft_f32", n, seed);
      const signal = forward.inputs.a.data;
      const spectrum = results(release, forward);
      const back = results(release, one("irfft_f32", n, seed), spectrum);
      back.forEach((value, i) =>
        assert.ok(Math.abs(value - signal[i]) < 2e-6, `n=${n} [${i}]`)
      );
      const squares = (values: Iterable<number>) =>
        [...values].reduce((sum, value) => sum + value ** 2, 0);
      const bins = n / 2 + 1;
      const parts = [spectrum.subarray(0, bins), spectrum.subarray(bins)];
      const edges = parts.flatMap((part) => [part[0], part[n / 2]]);
      const energy = 2 * squares(spectrum) - squares(edges);
      assert.ok(Math.abs(energy / n / squares(signal) - 1) < 1e-5, `n=${n}`);
    }),
    { numRuns: propertyRuns(40) },
  );
});

Deno.test("a cosine of a whole number of periods is one frequency, an impulse all of them", () => {
  for (const n of [32, 64, 512, 4096]) {
    const forward = one("rfft_f32", n, 1);
    for (const k of [0, 1, 3, n / 4 + 1, n / 2 - 1, n / 2]) {
      const wave = Float32Array.from(
        { length: n },
        (_, j) => Math.cos(2 * Math.PI * (j * k % n) / n),
      );
      const height = k % (n / 2) === 0 ? n : n / 2;
      results(release, forward, wave).forEach((value, i) => {
        const expected = i === k ? height : 0;
        assert.ok(
          Math.abs(value - expected) < 1e-6 * n,
          `n=${n} k=${k} [${i}]`,
        );
      });
    }
    const impulse = new Float32Array(n);
    impulse[0] = 1;
    const flat = results(release, forward, impulse);
    assert.deepEqual(
      flat.map(Math.abs),
      flat.map((_, i) => i <= n / 2 ? 1 : 0),
    );
  }
});

Deno.test("imaginary parts of the first and last frequency are not looked at", () => {
  const back = one("irfft_f32", 64, 3);
  const spectrum = Float32Array.from(back.inputs.a.data);
  const expected = results(release, back, spectrum);
  spectrum[33] = 1e9;
  spectrum[65] = NaN;
  assert.deepEqual(results(release, back, spectrum), expected);
});

Deno.test("transforms have the same bits in every build", () => {
  for (const name of ["rfft_f32", "irfft_f32"] as const) {
    for (const n of [32, 64, 128, 512, 2048]) {
      const kernelCase = fftCase(name).of(
        { prng: new Prng(n), rows: 5, exact: false },
        { n },
      );
      const expected = results(release, kernelCase);
      for (const build of builds) {
        assert.deepEqual(
          results(build, kernelCase),
          expected,
          `${name} n=${n}: ${build.name}`,
        );
      }
    }
  }
});

Deno.test("packFft takes powers of two from 32 to 65536", () => {
  for (const n of [0, 1, 16, 31, 33, 48, 2 ** 17, NaN, 64.5]) {
    assert.throws(() => packFft(n), RangeError, `${n}`);
  }
  assert.ok(packFft(2 ** 16).every((factor) => Math.abs(factor) <= 1));
});
