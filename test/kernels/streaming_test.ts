import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import {
  drawFloats,
  drawRows,
  drawWeights,
  type KernelCase,
} from "./kernel_case.ts";
import { packGemm } from "../../src/kernels/pack/pack_gemm.ts";
import { packLstm } from "../../src/kernels/pack/pack_cells.ts";
import { place } from "./placement.ts";
import { gemmRounded } from "./reference/gemm.ts";
import { type Build, loadBuild, release, withScratch } from "./builds.ts";

// Weights above assembly/sweep.ts's FAR_BYTES and STREAM_BYTES take other tiles in another order than
// the small ones of the registry's cases; the bits must not notice.
const FAR_BYTES = 256 << 10;
const ROWS = 130;
const BATCHES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 18, 119, 120, 121, 122, ROWS];

/** Sums of a long k wait in scratch memory between its pieces (assembly/pieces.ts), or stay in registers without any. */
const BUILDS: readonly Build[] = [
  release,
  withScratch(loadBuild("shoal.wasm"), 0),
  withScratch(loadBuild("shoal.wasm"), 1),
];

/** Sizes odd on purpose: partial panels, partial groups of panels, a partial turn of the k loop, a partial piece of k. */
const SIZES = {
  // A tile leads.
  "gemm": { n: 1107, k: 501 },
  // Panels are touched.
  "gemm of a middle k": { n: 1003, k: 635 },
  // One row meets four panels at a time, of the larger ones two, and then the others.
  "gemm of a middle size": { n: 307, k: 501 },
  // Pieces; one row meets two groups of panels at a time, and then the others.
  "gemm in pieces": { n: 1107, k: 1101 },
  // Many pieces and few panels.
  "gemm of a large k": { n: 135, k: 4205 },
} as const;

function largeGemm(
  { n, k }: { n: number; k: number },
): { kernelCase: KernelCase; expected: Float32Array } {
  const draw = { prng: new Prng(3), rows: ROWS, exact: false };
  const a = drawRows(draw, k);
  const weight = drawWeights(draw, n * k, k);
  const bias = drawFloats(draw, n);
  const expected = gemmRounded({ m: ROWS, n, k, a: a.data, weight, bias });
  return {
    expected,
    kernelCase: {
      label: `m=${ROWS} n=${n} k=${k}`,
      rows: ROWS,
      inputs: { a },
      blocks: { w: packGemm({ n, k, weight, layout: "nk", bias }) },
      results: { c: { width: n, type: "f32" } },
      call: (kernels, at, m) =>
        kernels.gemm_f32(m, n, k, at.a, 0, 0, at.w, at.c, 0),
      expected: () => ({ c: expected }),
      tolerance: 0,
    },
  };
}

function largeLstm(hidden: number, inputSize: number): KernelCase {
  const draw = { prng: new Prng(4), rows: ROWS, exact: false };
  const [x, h, c] = [inputSize, hidden, hidden].map((width) =>
    drawRows(draw, width)
  );
  const k = inputSize + hidden;
  const w = drawWeights(draw, 4 * hidden * inputSize, k);
  const r = drawWeights(draw, 4 * hidden * hidden, k);
  return {
    label: `hidden=${hidden} input=${inputSize}`,
    rows: ROWS,
    inputs: { x, h, c },
    blocks: { w: packLstm({ hidden, inputSize, w, r }) },
    results: {
      hOut: { width: hidden, type: "f32" },
      cOut: { width: hidden, type: "f32" },
    },
    call: (kernels, at, m) =>
      kernels.lstm_step_f32(
        m,
        hidden,
        inputSize,
        at.x,
        at.h,
        at.c,
        at.w,
        at.hOut,
        at.cOut,
      ),
    expected: () => ({}),
    tolerance: 0,
  };
}

/** Bits of every result with the named rows in one batch. */
function bits(
  { memory, base, kernels }: Build,
  kernelCase: KernelCase,
  order: readonly number[],
): Uint32Array[] {
  const placed = place(memory, kernelCase, { base, order });
  placed.run(kernels);
  placed.checkUntouched();
  return Object.keys(kernelCase.results).map((name) => placed.bits(name));
}

/** Says where the first difference is: all of them, of results of this size, would fill the memory. */
function checkBits(
  got: Uint32Array,
  expected: Uint32Array,
  what: string,
): void {
  const at = got.findIndex((word, i) => word !== expected[i]);
  assert.equal(at, -1, `${what}: element ${at} differs`);
  assert.equal(got.length, expected.length);
}

for (const [name, size] of Object.entries(SIZES)) {
  Deno.test(`${name} on streaming weights rounds as on cached ones`, () => {
    const { kernelCase, expected } = largeGemm(size);
    assert.ok(kernelCase.blocks!.w.byteLength > FAR_BYTES);
    const order = Array.from({ length: ROWS }, (_, i) => i);
    for (const build of BUILDS) {
      checkBits(
        bits(build, kernelCase, order)[0],
        new Uint32Array(expected.buffer),
        `all rows, ${build.name}`,
      );
    }
  });
}

for (
  const [name, kernelCase] of [
    ...Object.entries(SIZES).map(([name, size]) =>
      [name, largeGemm(size).kernelCase] as const
    ),
    ["lstm", largeLstm(262, 253)] as const,
    // Units of several groups of panels; k goes from x to h within a piece.
    ["lstm in pieces", largeLstm(301, 402)] as const,
  ]
) {
  Deno.test(`${name} on streaming weights gives a row the same bits in every batch`, () => {
    assert.ok(kernelCase.blocks!.w.byteLength > FAR_BYTES);
    const together = bits(
      release,
      kernelCase,
      Array.from({ length: ROWS }, (_, i) => i),
    );
    for (const build of BUILDS) {
      for (const rows of BATCHES) {
        // Descending, so that the row which comes first differs from batch to batch.
        const order = Array.from({ length: rows }, (_, i) => rows - 1 - i);
        bits(build, kernelCase, order).forEach((got, result) => {
          const width = got.length / rows;
          order.forEach((row, i) =>
            checkBits(
              got.subarray(i * width, (i + 1) * width),
              together[result].subarray(row * width, (row + 1) * width),
              `row ${row} in a batch of ${rows}, ${build.name}`,
            )
          );
        });
      }
    }
  });
}

// One row meets streaming weights at four places at once: columns of its arg-max come in no order.
Deno.test("projection with arg-max on streaming weights takes the lowest of equal columns", () => {
  const [n, k] = [1107, 501];
  const { kernels, memory, base } = release;
  const floats = new Float32Array(memory.buffer);
  const words = new Uint32Array(memory.buffer);
  // Every logit is the weight that stands alone in its column.
  const run = (logits: Float32Array): { id: number; best: number } => {
    const weight = new Float32Array(n * k);
    logits.forEach((logit, j) => weight[j * k] = logit);
    const packed = packGemm({ n, k, weight, layout: "nk" });
    let top = base;
    const take = (count: number): number => {
      const at = top;
      top = Math.ceil((top + 4 * count) / 64) * 64;
      return at;
    };
    const [w, a, id, best] = [packed.length, k, 1, 1].map(take);
    const [aRows, idRows] = [1, 1].map(take);
    floats.set(packed, w / 4);
    floats.fill(0, a / 4, a / 4 + k);
    floats[a / 4] = 1;
    words[aRows / 4] = a;
    words[idRows / 4] = id;
    kernels.projection_argmax_f32(1, n, k, aRows, w, idRows, 0, best);
    return { id: words[id / 4], best: floats[best / 4] };
  };
  // A quarter of the panels is 34 of them: 272 columns.
  for (
    const equal of [
      [0, 272, 1106],
      [280, 8],
      [1, 273],
      [1100, 5],
      [600, 300],
      [816, 544, 272],
      // Met later than what they win against.
      [272, 8],
      [820, 60, 300],
    ]
  ) {
    const logits = new Float32Array(n).fill(-1);
    for (const column of equal) logits[column] = 2;
    assert.deepEqual(run(logits), { id: Math.min(...equal), best: 2 });
  }
  assert.deepEqual(run(new Float32Array(n).fill(-Infinity)), {
    id: 0,
    best: -Infinity,
  });
});
