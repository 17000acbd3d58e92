import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import type { KernelCase } from "../../src/kernels/kernel_case.ts";
import {
  drawFloats,
  drawRows,
  drawWeights,
} from "../../src/kernels/kernel_case.ts";
import { packGemm } from "../../src/kernels/pack.ts";
import { packLstm } from "../../src/kernels/pack_cells.ts";
import { place } from "../../src/kernels/placement.ts";
import { propertyRuns } from "../property_runs.ts";
import { type Build, loadBuild, release, withScratch } from "./builds.ts";

// assembly/blocked.ts takes over from 15 rows, 8 panels and 64 steps of K on; its blocks have
// 120 rows and its groups 16 panels. The sizes below lie around these.
const blocked = withScratch(loadBuild("shoal.wasm"));
const debug = withScratch(loadBuild("shoal.debug.wasm"));

const sizes = fc.record({
  rows: fc.oneof(
    fc.integer({ min: 13, max: 40 }),
    fc.integer({ min: 115, max: 128 }),
  ),
  n: fc.integer({ min: 57, max: 150 }),
  k1: fc.oneof(fc.constant(64), fc.integer({ min: 1, max: 140 })),
  k2: fc.oneof(fc.constant(0), fc.constant(32), fc.integer({ max: 140 })),
  seed: fc.nat(),
}).map((size) => ({ ...size, k2: Math.max(0, size.k2) }));

function gemm({ rows, n, k1, k2, seed }: {
  rows: number;
  n: number;
  k1: number;
  k2: number;
  seed: number;
}): KernelCase {
  const draw = { prng: new Prng(seed), rows, exact: false };
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
        3,
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

Deno.test("gemm with scratch memory gives the bits it gives without", () => {
  fc.assert(
    fc.property(sizes, (size) => {
      const direct = bits(release, gemm(size));
      assert.deepEqual(bits(blocked, gemm(size)), direct);
      assert.deepEqual(bits(debug, gemm(size)), direct);
    }),
    { numRuns: propertyRuns(60) },
  );
});

Deno.test("lstm with scratch memory gives the bits it gives without", () => {
  fc.assert(
    fc.property(
      fc.record({
        rows: fc.integer({ min: 13, max: 40 }),
        hidden: fc.integer({ min: 30, max: 100 }),
        seed: fc.nat(),
      }),
      (size) =>
        assert.deepEqual(bits(blocked, lstm(size)), bits(release, lstm(size))),
    ),
    { numRuns: propertyRuns(30) },
  );
});

Deno.test("scratch memory can be taken away, and is all that a blocked sweep writes", () => {
  const build = loadBuild("shoal.wasm");
  const bytes = new Uint8Array(build.memory.buffer);
  const scratch = withScratch(build);
  const size = { rows: 130, n: 300, k1: 96, k2: 40, seed: 1 };
  bytes.fill(0xa5, build.base, scratch.base);
  const blockwise = bits(scratch, gemm(size));
  assert.ok(
    bytes.subarray(build.base, scratch.base).some((byte) => byte !== 0xa5),
    "the case goes block by block",
  );
  bytes.fill(0xa5, build.base, scratch.base);
  build.kernels.shoal_use_scratch(0);
  assert.deepEqual(bits(scratch, gemm(size)), blockwise);
  assert.ok(
    bytes.subarray(build.base, scratch.base).every((byte) => byte === 0xa5),
  );
});
