import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { checkedKernels } from "../../src/kernels/host/checked_kernels.ts";
import { KernelHost } from "../../src/kernels/host/kernel_host.ts";
import { instantiateKernels } from "../../src/kernels/module/module.ts";
import { supports } from "../../src/kernels/module/features.ts";
import { shapeWords } from "../../src/kernels/pack/image_words.ts";
import { packQ8, Q8_K_MAX } from "../../src/kernels/pack/pack_q8.ts";
import { imageShape } from "../../src/tensor/image_shape.ts";
import {
  integerSum,
  type QuantizedRow,
  quantizedWords,
} from "./reference/q8.ts";
import { propertyRuns } from "../property_runs.ts";
import {
  type Build,
  loadBuild,
  readBuild,
  release,
  withScratch,
} from "./builds.ts";

const COLUMN_WORDS = 32;
const NONE = 0xffff;

/** The list of exceptions of the first panel. */
function exceptionsOf(n: number, k: number, values: Int8Array): number[] {
  const words = packQ8({ n, k, values, scale: new Float32Array(n).fill(1) });
  return [...new Uint16Array(words.buffer, 4 * COLUMN_WORDS, 16)];
}

function padded(list: number[]): number[] {
  return [...list, ...new Array<number>(16 - list.length).fill(NONE)];
}

Deno.test("packQ8() lists the pairs of steps that could overflow 16 bits", () => {
  const k = 40;
  const values = new Int8Array(3 * k);
  // 127 * 258 = 32766 fits, 127 * 259 does not; nor -128 four times.
  values.set([127, 127, 0, 0, 4, 0], 0);
  assert.deepEqual(exceptionsOf(3, k, values), padded([]));
  values.set([127, 127, 0, 0, 5, 0], 0);
  assert.deepEqual(exceptionsOf(3, k, values), padded([0]));
  // The third column, numbers 18, 19, 22 and 23 of k: pair 2.
  values.set([-128, -128, 0, 0, -128, -128], 2 * k + 18);
  assert.deepEqual(exceptionsOf(3, k, values), padded([0, 2]));
  // Signs do not make up for each other, and what is large in different lanes does not add.
  values.fill(0).set([127, 127, -128, -128, 4, 0, -2, 0], k + 8);
  assert.deepEqual(exceptionsOf(3, k, values), padded([]));
  values.fill(0).set([127, 127, -128, -128, 5, -5, -2, 0], k + 8);
  assert.deepEqual(exceptionsOf(3, k, values), padded([1]));
});

Deno.test("packQ8() lists at most 16 exceptions and no half pair", () => {
  const k = 8 * 20 + 4;
  const values = new Int8Array(8 * k).fill(127);
  assert.deepEqual(
    exceptionsOf(8, k, values),
    Array.from({ length: 16 }, (_, i) => i),
  );
  assert.deepEqual(
    exceptionsOf(8, 4, new Int8Array(32).fill(127)),
    padded([]),
  );
});

Deno.test("packQ8() refuses sums that may not fit 32 bits", () => {
  const k = 65_794;
  const options = {
    n: 1,
    k,
    values: new Int8Array(k),
    scale: Float32Array.of(1),
  };
  assert.throws(() => packQ8(options), /k = 65794 is more than 65793/);
  assert.throws(
    () => packQ8({ ...options, zero: Int32Array.of(128) }),
    /k = 65794 is more than 32896/,
  );
});

/** Weights of which each pair of steps is large with some probability, and a batch of rows. */
const chains = fc.record({
  rows: fc.integer({ min: 1, max: 11 }),
  n: fc.integer({ min: 1, max: 70 }),
  k: fc.integer({ min: 1, max: 420 }),
  large: fc.constantFrom(0, 0.01, 0.05, 0.4, 1),
  full: fc.boolean(),
  seed: fc.nat(),
});

type Chain = typeof chains extends fc.Arbitrary<infer Value> ? Value : never;

function operands({ rows, n, k, large, full, seed }: Chain) {
  const prng = new Prng(seed);
  const values = new Int8Array(n * k);
  for (let pair = 0; pair < k; pair += 8) {
    for (let j = 0; j < n; j++) {
      const sign = prng.int(2) === 0 ? 127 : -128;
      const isLarge = prng.float() < large / n * 4;
      for (let i = pair; i < Math.min(k, pair + 8); i++) {
        values[j * k + i] = isLarge ? sign : prng.int(129) - 64;
      }
    }
  }
  const quantized = Array.from({ length: rows }, (): QuantizedRow => ({
    scale: 1,
    zero: prng.int(128),
    q: Array.from({ length: k }, () => full ? 127 : prng.int(128)),
  }));
  return { values, quantized };
}

/** gemm_q8_i32 of 7 bits. */
function sums(
  { kernels, memory, base }: Build,
  { n, k, rows }: Chain,
  { values, quantized }: ReturnType<typeof operands>,
): number[] {
  let top = Math.ceil(base / 16) * 16;
  const put = (data: Int32Array): number => {
    const at = top;
    new Int32Array(memory.buffer).set(data, at / 4);
    top += Math.ceil(data.byteLength / 16) * 16;
    return at;
  };
  const w = put(packQ8({ n, k, values, scale: new Float32Array(n).fill(1) }));
  const q = quantized.map((row) => put(quantizedWords(row)));
  const c = Array.from({ length: rows }, () => put(new Int32Array(n)));
  const [qRows, cRows] = [q, c].map((table) => put(Int32Array.from(table)));
  kernels.gemm_q8_i32(rows, n, k, 1, qRows, w, cRows);
  return c.flatMap((at) => [...new Int32Array(memory.buffer, at, n)]);
}

const tried: Build[] = [
  release,
  loadBuild("shoal.debug.wasm"),
  ...(supports("relaxed-simd")
    ? [
      loadBuild("shoal.dot.wasm"),
      withScratch(loadBuild("shoal.dot.wasm"), 2),
      loadBuild("shoal.relaxed.wasm"),
      withScratch(loadBuild("shoal.relaxed.wasm"), 2),
    ]
    : []),
];

Deno.test("int8 sums are exact wherever chains of 16 bits break", () => {
  fc.assert(
    fc.property(chains, (chain) => {
      const given = operands(chain);
      const { n, k } = chain;
      const expected = given.quantized.flatMap((row) =>
        Array.from(
          { length: n },
          (_, j) => integerSum(row, given.values.subarray(j * k, j * k + k), 0),
        )
      );
      for (const build of tried) {
        assert.deepEqual(sums(build, chain, given), expected, build.name);
      }
    }),
    { numRuns: propertyRuns(150) },
  );
});

Deno.test("debug builds notice a list of exceptions that is not true", () => {
  const build = loadBuild("shoal.debug.wasm");
  const k = 16;
  const words = packQ8({
    n: 1,
    k,
    values: new Int8Array(k).fill(127),
    scale: Float32Array.of(1),
  });
  new Uint16Array(words.buffer, 4 * COLUMN_WORDS, 16).fill(NONE);
  const at = Math.ceil(build.base / 16) * 16;
  const view = new Int32Array(build.memory.buffer);
  view.set(words, at / 4);
  const rows = at + words.byteLength;
  view.set([rows + 16, rows + 64], rows / 4);
  assert.throws(
    () => build.kernels.gemm_q8_i32(1, 1, k, 1, rows, at, rows + 4),
    /int8 sums could overflow 16 bits/,
  );
});

Deno.test("int8 sums of a row at the end of 4 GiB come to an end", (t) => {
  if (!supports("relaxed-simd")) return;
  let memory: WebAssembly.Memory;
  try {
    memory = new WebAssembly.Memory({ initial: 65536, maximum: 65536 });
  } catch {
    console.log(`skipped, no room for 4 GiB of addresses: ${t.name}`);
    return;
  }
  const kernels = instantiateKernels(readBuild("shoal.relaxed.wasm"), {
    memory,
  });
  const k = 800;
  const base = Math.ceil(kernels.shoal_static_end() / 16) * 16;
  const words = packQ8({
    n: 8,
    k,
    values: new Int8Array(8 * k).fill(1),
    scale: new Float32Array(8).fill(1),
  });
  const view = new Int32Array(memory.buffer);
  view.set(words, base / 4);
  const tables = base + words.byteLength;
  const row = 2 ** 32 - 2048;
  const row0: QuantizedRow = {
    scale: 1,
    zero: 0,
    q: new Array<number>(k).fill(2),
  };
  view.set([row, tables + 64], tables / 4);
  view.set(quantizedWords(row0), row / 4);
  kernels.gemm_q8_i32(1, 8, k, 1, tables, base, tables + 4);
  assert.deepEqual(
    [...view.subarray(tables / 4 + 16, tables / 4 + 24)],
    new Array<number>(8).fill(2 * k),
  );
});

Deno.test("convolutions of int8 take windows whose sums fit 32 bits, and no greater ones", () => {
  for (
    const { name, kernels, memory } of [release, loadBuild("shoal.debug.wasm")]
  ) {
    const guarded = name.includes("debug")
      ? kernels
      : checkedKernels(kernels, memory);
    const run = (channels: number) => {
      const host = new KernelHost(kernels, memory);
      const shape = imageShape({
        ...{ height: 1, width: 1, channels, outChannels: 1, kernel: 1 },
      });
      const values = new Int8Array(channels).fill(-128);
      // Packed by hand, as packQ8() refuses what is too long.
      const w = new Int32Array(40 + 8 * Math.ceil(channels / 4));
      w[0] = -128 * channels;
      const bytes = new Int8Array(w.buffer);
      values.forEach((value, i) =>
        bytes[160 + 32 * (i >> 2) + (i & 3)] = value
      );
      const image = host.rows(1, channels, "q8");
      const q = host.addressOf(image, 0);
      new Uint8Array(memory.buffer, q, 16 + channels + 3 & ~3).fill(0);
      new Uint8Array(memory.buffer, q + 16, channels).fill(255);
      const out = host.rows(1, 1, "i32");
      guarded.conv_q8_i32(
        1,
        host.block(shapeWords(shape)).address,
        0,
        image.table,
        host.block(w).address,
        out.table,
        host.convQ8Scratch(shape).address,
      );
      return host.read(out)[0];
    };
    assert.equal(run(Q8_K_MAX), -128 * 255 * Q8_K_MAX, name);
    assert.throws(
      () => run(Q8_K_MAX + 1),
      /windows have 65794 numbers|too many products for 32 bits/,
      name,
    );
  }
});
