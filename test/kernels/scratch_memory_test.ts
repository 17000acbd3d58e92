import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { ACTIVATIONS } from "../../src/kernels/module/activations.ts";
import type { KernelCase } from "./kernel_case.ts";
import { drawFloats, drawName, drawRows, drawWeights } from "./kernel_case.ts";
import { packGemm } from "../../src/kernels/pack/pack_gemm.ts";
import { packLstm } from "../../src/kernels/pack/pack_cells.ts";
import { place } from "./placement.ts";
import { propertyRuns } from "../property_runs.ts";
import { type Build, loadBuild, release, withScratch } from "./builds.ts";

// assembly/blocked.ts takes over from 40 rows, 8 panels and 128 steps of K on, in pieces of 32;
// its blocks have 130 rows and its groups 32 panels. The sizes below lie around these.
const blocked = withScratch(loadBuild("shoal.wasm"), 1);
const debug = withScratch(loadBuild("shoal.debug.wasm"), 1);

const sizes = fc.record({
  rows: fc.oneof(
    fc.integer({ min: 38, max: 60 }),
    fc.integer({ min: 115, max: 135 }),
  ),
  n: fc.integer({ min: 57, max: 330 }),
  k1: fc.oneof(
    fc.constantFrom(32, 128, 130),
    fc.integer({ min: 1, max: 280 }),
    // In pieces.
    fc.integer({ min: 600, max: 800 }),
  ),
  k2: fc.oneof(fc.constantFrom(0, 32, 71), fc.integer({ min: 0, max: 140 })),
  seed: fc.nat(),
});

function gemm({ rows, n, k1, k2, seed }: {
  rows: number;
  n: number;
  k1: number;
  k2: number;
  seed: number;
}): KernelCase {
  const draw = { prng: new Prng(seed), rows, exact: false };
  const act = ACTIVATIONS[drawName(draw, ACTIVATIONS, ["relu"])];
  const k = k1 + k2;
  const weight = drawWeights(draw, n * k, k);
  const bias = drawFloats(draw, n);
  const residual = drawRows(draw, n);
  return {
    label: `m=${rows} n=${n} k=${k1}+${k2}`,
    rows,
    inputs: {
      a: drawRows(draw, k1),
      ...(k2 > 0 && { b: drawRows(draw, k2) }),
      residual,
    },
    blocks: { w: packGemm({ n, k, weight, layout: "nk", bias }) },
    results: { c: { width: n, type: "f32" } },
    call: (kernels, at, m) =>
      kernels.gemm_residual_f32(
        m,
        n,
        k1,
        at.a,
        k2,
        k2 > 0 ? at.b : 0,
        at.w,
        at.residual,
        at.c,
        act,
      ),
    expected: () => ({}),
    tolerance: 0,
  };
}

function lstm(
  { rows, hidden, seed }: { rows: number; hidden: number; seed: number },
): KernelCase {
  const draw = { prng: new Prng(seed), rows, exact: false };
  const inputSize = hidden + 5;
  const k = hidden + inputSize;
  return {
    label: `m=${rows} hidden=${hidden}`,
    rows,
    inputs: {
      x: drawRows(draw, inputSize),
      h: drawRows(draw, hidden),
      c: drawRows(draw, hidden),
    },
    blocks: {
      w: packLstm({
        hidden,
        inputSize,
        w: drawWeights(draw, 4 * hidden * inputSize, k),
        r: drawWeights(draw, 4 * hidden * hidden, k),
      }),
    },
    results: {
      hOut: { width: hidden, type: "f32" },
      cOut: { width: hidden, type: "f32" },
    },
    call: (kernels, { x, h, c, w, hOut, cOut }, m) =>
      kernels.lstm_step_f32(m, hidden, inputSize, x, h, c, w, hOut, cOut),
    expected: () => ({}),
    tolerance: 0,
  };
}

function bits(build: Build, kernelCase: KernelCase): Uint32Array[] {
  const placed = place(build.memory, kernelCase, { base: build.base });
  placed.run(build.kernels);
  placed.checkUntouched();
  return Object.keys(kernelCase.results).map((name) => placed.bits(name));
}

Deno.test("gemm in blocks gives the bits it gives directly", () => {
  fc.assert(
    fc.property(sizes, (size) => {
      const direct = bits(release, gemm(size));
      assert.deepEqual(bits(blocked, gemm(size)), direct);
      assert.deepEqual(bits(debug, gemm(size)), direct);
    }),
    { numRuns: propertyRuns(60) },
  );
});

Deno.test("lstm in blocks gives the bits it gives directly", () => {
  fc.assert(
    fc.property(
      fc.record({
        rows: fc.integer({ min: 38, max: 60 }),
        hidden: fc.oneof(
          fc.integer({ min: 58, max: 130 }),
          fc.integer({ min: 330, max: 350 }),
        ),
        seed: fc.nat(),
      }),
      (size) =>
        assert.deepEqual(bits(blocked, lstm(size)), bits(release, lstm(size))),
    ),
    { numRuns: propertyRuns(30) },
  );
});

// Few rows of a long k wait piece by piece, with and without blocks.
for (
  const { what, variant, size } of [
    {
      what: "blocked",
      variant: 1,
      size: { rows: 130, n: 300, k1: 192, k2: 10, seed: 1 },
    },
    {
      what: "pieced",
      variant: 0,
      size: { rows: 125, n: 300, k1: 700, k2: 10, seed: 1 },
    },
  ] as const
) {
  Deno.test(`scratch memory can be taken away, and is all that a ${what} sweep writes`, () => {
    const build = loadBuild("shoal.wasm");
    const bytes = new Uint8Array(build.memory.buffer);
    const scratch = withScratch(build, variant);
    bytes.fill(0xa5, build.base, scratch.base);
    const piecewise = bits(scratch, gemm(size));
    assert.ok(
      bytes.subarray(build.base, scratch.base).some((byte) => byte !== 0xa5),
      "the case goes piece by piece",
    );
    bytes.fill(0xa5, build.base, scratch.base);
    build.kernels.shoal_use_scratch(0, 0);
    assert.deepEqual(bits(scratch, gemm(size)), piecewise);
    assert.ok(
      bytes.subarray(build.base, scratch.base).every((byte) => byte === 0xa5),
    );
  });
}
