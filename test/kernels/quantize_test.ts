/** Roundings and saturations of int8, which drawn numbers hardly ever meet. */
import assert from "node:assert/strict";
import { type Build, builds, loadBuild, release } from "./builds.ts";

/** Numbers of steps and what they become before the zero point is added. */
const CASES = [
  [0, 0],
  [-0, 0],
  [0.5, 0],
  [1.5, 2],
  [2.5, 2],
  [-0.5, 0],
  [-1.5, -2],
  [-2.5, -2],
  [3.4999998, 3],
  [126.5, 126],
  [127.5, 128],
  [254.5, 254],
  [255.5, 256],
  [65535.6, 65536],
  [-65536.5, -65536],
  [4194303.5, 65536],
  [1e30, 65536],
  [-1e30, -65536],
  [Infinity, 65536],
  [-Infinity, -65536],
  [NaN, 0],
] as const;

function bytesOf(
  { kernels, memory, base }: Build,
  row: readonly number[],
  zero: number,
): number[] {
  const tables = Math.ceil(base / 16) * 16;
  const a = tables + 16;
  const q = a + 4 * row.length;
  new Uint32Array(memory.buffer, tables, 2).set([a, q]);
  new Float32Array(memory.buffer, a, row.length).set(row);
  kernels.quantize_static_rows_f32(1, row.length, 1, zero, tables, tables + 4);
  return [...new Uint8Array(memory.buffer, q + 16, row.length)];
}

for (const build of [release, loadBuild("shoal.debug.wasm")]) {
  Deno.test(`${build.name} rounds half to even, saturates, and takes NaN to the zero point`, () => {
    for (const zero of [0, 100, 128, 255]) {
      const expected = CASES.map(([, steps]) =>
        Math.max(0, Math.min(255, steps + zero))
      );
      const row = CASES.map(([x]) => x);
      assert.deepEqual(bytesOf(build, row, zero), expected);
      // The last numbers of a row are stored one by one.
      row.forEach((x, i) =>
        assert.deepEqual(bytesOf(build, [x], zero), [expected[i]], `${x}`)
      );
    }
  });
}

Deno.test("seven bits end at 127 where both ends of a row round up", () => {
  const { kernels, memory, base } = release;
  const tables = Math.ceil(base / 16) * 16;
  const a = tables + 16;
  // Eight numbers go at once, the last ones one by one.
  for (const zeros of [0, 5, 8]) {
    // A scale of 2: both ends are 63.5 steps away from 0, which is 64 in either direction.
    const row = [-127, 127, ...Array<number>(zeros).fill(0), 127];
    const q = a + 4 * row.length;
    new Uint32Array(memory.buffer, tables, 2).set([a, q]);
    new Float32Array(memory.buffer, a, row.length).set(row);
    kernels.quantize_rows_f32(1, row.length, 127, tables, tables + 4);
    assert.deepEqual([...new Uint8Array(memory.buffer, q + 16, row.length)], [
      ...[0, 127, ...Array<number>(zeros).fill(64), 127],
    ]);
  }
});

Deno.test("a row with a NaN has no scale, one of infinities and of what overflows a sum has", () => {
  const huge = 3e38;
  for (const { kernels, memory, base } of builds) {
    const tables = Math.ceil(base / 16) * 16;
    const a = tables + 16;
    const quantized = (row: readonly number[]) => {
      const q = a + 4 * row.length;
      new Uint32Array(memory.buffer, tables, 2).set([a, q]);
      new Float32Array(memory.buffer, a, row.length).set(row);
      kernels.quantize_rows_f32(1, row.length, 255, tables, tables + 4);
      return {
        scale: new Float32Array(memory.buffer, q, 1)[0],
        zero: new Int32Array(memory.buffer, q, 2)[1],
        bytes: [...new Uint8Array(memory.buffer, q + 16, row.length)],
      };
    };
    for (let length = 1; length <= 19; length++) {
      for (let at = 0; at < length; at++) {
        const row = Array<number>(length).fill(1).with(at, NaN);
        assert.deepEqual(quantized(row), {
          scale: NaN,
          zero: 0,
          bytes: row.map(() => 0),
        });
      }
    }
    const infinities = Array<number>(16).fill(Infinity).with(9, -Infinity);
    assert.equal(quantized(infinities).scale, Infinity);
    const { scale } = quantized(Array<number>(40).fill(huge));
    assert.equal(scale, Math.fround(Math.fround(huge) / 255));
  }
});
