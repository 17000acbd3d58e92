import assert from "node:assert/strict";
import {
  packedGruFloats,
  packedLstmFloats,
  packedTreeInternalFloats,
  packedTreeLeafFloats,
  packGru,
  packLstm,
  packTreeInternal,
  packTreeLeaf,
} from "../../src/kernels/pack/pack_cells.ts";
import {
  packedGemmFloats,
  packGemm,
} from "../../src/kernels/pack/pack_gemm.ts";

/** 1, 2, 3, ... */
function count(length: number, first = 1): Float32Array {
  return Float32Array.from({ length }, (_, i) => first + i);
}

Deno.test("packGemm() lays panels of 8 biases and K rows of 8 weights, padded with zeros", () => {
  const options = { n: 3, k: 2, bias: Float32Array.of(7, 8, 9) };
  const nk = packGemm({
    ...options,
    layout: "nk",
    weight: Float32Array.of(1, 2, 3, 4, 5, 6),
  });
  // deno-fmt-ignore
  assert.deepEqual([...nk], [
    7, 8, 9, 0, 0, 0, 0, 0,
    1, 3, 5, 0, 0, 0, 0, 0,
    2, 4, 6, 0, 0, 0, 0, 0,
  ]);
  const kn = packGemm({
    ...options,
    layout: "kn",
    weight: Float32Array.of(1, 3, 5, 2, 4, 6),
  });
  assert.deepEqual(kn, nk);
});

Deno.test("packGemm() starts a new panel every 8 columns", () => {
  const packed = packGemm({
    n: 9,
    k: 1,
    layout: "nk",
    weight: count(9),
    bias: count(9, 11),
  });
  assert.equal(packed.length, packedGemmFloats({ n: 9, k: 1 }));
  assert.deepEqual([...packed.subarray(0, 16)], [...count(8, 11), ...count(8)]);
  assert.deepEqual([...packed.subarray(16)], [
    19,
    ...Array(7).fill(0),
    9,
    ...Array(7).fill(0),
  ]);
});

Deno.test("packGemm() lays a long K in pieces, 16 panels' at a time", () => {
  const [n, k] = [140, 1101];
  const weight = Float32Array.from({ length: n * k }, (_, i) => i);
  const bias = count(n, -n);
  const packed = packGemm({ n, k, layout: "nk", weight, bias });
  const [pieces, steps] = [4, 280];
  const panelFloats = 8 * (1 + pieces * steps);
  assert.equal(packed.length, 18 * panelFloats);
  assert.equal(packed.length, packedGemmFloats({ n, k }));
  const expected = new Float32Array(packed.length);
  for (let j = 0; j < n; j++) {
    const panel = Math.floor(j / 8);
    const group = Math.floor(panel / 16);
    const panels = group === 0 ? 16 : 2;
    const start = group * 16 * panelFloats;
    expected[start + j % 128] = bias[j];
    for (let i = 0; i < k; i++) {
      const piece = Math.floor(i / steps);
      const block = piece * panels + panel % 16;
      const at = (block * steps + i % steps) * 8 + j % 8;
      expected[start + 8 * panels + at] = weight[j * k + i];
    }
  }
  assert.ok(packed.every((value, i) => value === expected[i]));
});

Deno.test("packLstm() orders gates i, g, f, o and adds the two biases", () => {
  // One unit: gates i, o, f, c in ONNX order.
  const packed = packLstm({
    hidden: 1,
    inputSize: 1,
    w: Float32Array.of(1, 2, 3, 4),
    r: Float32Array.of(5, 6, 7, 8),
    b: Float32Array.of(10, 20, 30, 40, 1, 2, 3, 4),
  });
  const first = packed.filter((_, i) => i % 8 === 0);
  assert.deepEqual([...first], [11, 1, 5, 44, 4, 8, 33, 3, 7, 22, 2, 6]);
  assert(packed.every((weight, i) => i % 8 === 0 || weight === 0));
});

Deno.test("packGru() keeps the candidate's two products apart", () => {
  // One unit: gates z, r, h in ONNX order.
  const packed = packGru({
    hidden: 1,
    inputSize: 1,
    w: Float32Array.of(1, 2, 3),
    r: Float32Array.of(4, 5, 6),
    b: Float32Array.of(10, 20, 30, 1, 2, 3),
  });
  const first = packed.filter((_, i) => i % 8 === 0);
  assert.deepEqual([...first], [22, 2, 5, 3, 6, 30, 3, 11, 1, 4]);
});

Deno.test("packTreeLeaf() and packTreeInternal() order their gates as the kernels finish them", () => {
  const leaf = packTreeLeaf({
    hidden: 1,
    inputSize: 1,
    w: count(3),
    b: count(3, 11),
  });
  const firsts = (packed: Float32Array) => packed.filter((_, i) => i % 8 === 0);
  assert.deepEqual([...firsts(leaf)], [11, 1, 13, 3, 12, 2]);
  // Gates i, f1, f2, o, u; each reads two children.
  const inner = packTreeInternal({
    hidden: 1,
    arity: 2,
    r: count(10),
    b: count(5, 21),
  });
  assert.deepEqual(
    [...firsts(inner)],
    [[21, 1, 2], [25, 9, 10], [22, 3, 4], [23, 5, 6], [24, 7, 8]].flat(),
  );
});

Deno.test("packed sizes match what the packers return", () => {
  for (const hidden of [1, 3, 4, 5, 8, 9, 16, 17]) {
    for (const inputSize of [1, 6]) {
      const w = (gates: number) => new Float32Array(gates * hidden * inputSize);
      const r = (gates: number) => new Float32Array(gates * hidden * hidden);
      const size = { hidden, inputSize };
      assert.equal(
        packLstm({ ...size, w: w(4), r: r(4) }).length,
        packedLstmFloats(size),
      );
      assert.equal(
        packGru({ ...size, w: w(3), r: r(3) }).length,
        packedGruFloats(size),
      );
      assert.equal(
        packTreeLeaf({ ...size, w: w(3) }).length,
        packedTreeLeafFloats(size),
      );
    }
    for (const arity of [1, 2, 8]) {
      const r = new Float32Array((3 + arity) * hidden * arity * hidden);
      const size = { hidden, arity };
      assert.equal(
        packTreeInternal({ ...size, r }).length,
        packedTreeInternalFloats(size),
      );
    }
  }
});

Deno.test("packers name the array whose length is wrong", () => {
  const none = new Float32Array(0);
  const size = { hidden: 2, inputSize: 3 };
  assert.throws(
    () => packGemm({ n: 2, k: 3, weight: none, layout: "nk" }),
    new RangeError("Cannot pack weights: weight must have 6 elements, has 0"),
  );
  assert.throws(
    () => packGemm({ n: 0, k: 3, weight: none, layout: "nk" }),
    new RangeError("Cannot pack weights: n must be an integer >= 1, is 0"),
  );
  assert.throws(
    () => packLstm({ ...size, w: none, r: none }),
    /w must have 24 elements/,
  );
  assert.throws(
    () => packGru({ ...size, w: count(18), r: none }),
    /r must have 12 elements/,
  );
  assert.throws(
    () => packTreeLeaf({ ...size, w: count(18), b: none }),
    /b must have 6 elements/,
  );
  assert.throws(
    () => packTreeInternal({ hidden: 1, arity: 9, r: none }),
    /arity must be at most 8/,
  );
});
