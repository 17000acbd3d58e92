import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import {
  drawFloats,
  drawProduct,
  drawSize,
  type KernelCase,
} from "./kernel_case.ts";
import { packGemm } from "../../src/kernels/pack/pack_gemm.ts";
import { place } from "./placement.ts";
import { gemmRounded } from "./reference/gemm.ts";
import { propertyRuns } from "../property_runs.ts";
import { builds } from "./builds.ts";

Deno.test("gemm_f32() rounds as its contract says: bias first, k ascending, product then sum", () => {
  const deterministic = builds.filter(({ name }) => !name.includes("relaxed"));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), (seed) => {
      const draw = { prng: new Prng(seed), rows: 0, exact: false };
      const [m, n, k] = [
        drawSize(draw.prng),
        ...Object.values(drawProduct(draw.prng)),
      ];
      const [a, weight, bias] = [m * k, n * k, n].map((length) =>
        drawFloats(draw, length)
      );
      const kernelCase: KernelCase = {
        label: `m=${m} n=${n} k=${k}`,
        rows: m,
        inputs: { a: { width: k, data: a } },
        blocks: { w: packGemm({ n, k, weight, layout: "nk", bias }) },
        results: { c: { width: n, type: "f32" } },
        call: (kernels, at) =>
          kernels.gemm_f32(m, n, k, at.a, 0, 0, at.w, at.c, 0),
        expected: () => ({ c: gemmRounded({ m, n, k, a, weight, bias }) }),
        tolerance: 0,
      };
      const expected = new Uint32Array(
        gemmRounded({ m, n, k, a, weight, bias }).buffer,
      );
      for (const { kernels, memory, base } of deterministic) {
        const placed = place(memory, kernelCase, { base });
        placed.run(kernels);
        assert.deepEqual(placed.bits("c"), expected, kernelCase.label);
      }
    }),
    { numRuns: propertyRuns(50) },
  );
});

Deno.test("pack_gemm_f32() gives the panels that packGemm() does, padding and all", () => {
  const { kernels, memory, base } = builds[0];
  const sizes = [
    ...Array.from({ length: 21 }, (_, i) => [1 + i, 3]),
    // In pieces: several of a panel, the last one shorter; a group of panels and some more.
    ...[[5, 641], [128, 700], [131, 1101]],
  ];
  for (const transposed of [true, false]) {
    for (const [columns, k] of sizes) {
      const weight = Float32Array.from(
        { length: columns * k },
        (_, i) => 1 + i,
      );
      const expected = packGemm({
        n: columns,
        k,
        weight,
        layout: transposed ? "nk" : "kn",
      });
      // Behind the operand lie numbers that are none of its business.
      const table = base + 15 & ~15;
      const count = transposed ? columns : k;
      const operand = table + 4 * count;
      const w = operand + 4 * (columns * k + 8) + 15 & ~15;
      new Float32Array(memory.buffer, operand, columns * k + 8).fill(-7);
      new Float32Array(memory.buffer, w, expected.length).fill(-7);
      new Float32Array(memory.buffer, operand, weight.length).set(weight);
      const each = transposed ? k : columns;
      new Uint32Array(memory.buffer, table, count).set(
        Array.from({ length: count }, (_, i) => operand + 4 * each * i),
      );
      kernels.pack_gemm_f32(columns, k, table, transposed ? 1 : 0, w);
      assert.deepEqual(
        new Float32Array(memory.buffer, w, expected.length),
        expected,
        `${columns} columns of ${k}${transposed ? ", transposed" : ""}`,
      );
    }
  }
});
