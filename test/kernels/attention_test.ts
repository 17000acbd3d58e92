import assert from "node:assert/strict";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { BIAS_BEHIND } from "../../src/kernels/spec/attention.ts";
import { propertyRuns } from "../property_runs.ts";
import { loadBuild } from "./builds.ts";

interface Sizes {
  kvHeads: number;
  heads: number;
  headSize: number;
  capacity: number;
  /** Of scores; 0: none. */
  cap: number;
  /** Whether one is added to scores. */
  biased: boolean;
}

function drawSizes(prng: Prng): Sizes {
  const kvHeads = 1 + prng.int(2);
  return {
    kvHeads,
    heads: kvHeads * (1 + prng.int(2)),
    headSize: [4, 8, 12, 16, 33, 40][prng.int(6)],
    capacity: 8 * (2 + prng.int(8)),
    cap: [0, 0.5, 30][prng.int(3)],
    biased: prng.int(2) === 1,
  };
}

/** A build with one cache in memory, filled position by position, and room for query rows. */
function setUp(
  file: string,
  prng: Prng,
  { kvHeads, heads, headSize, capacity, cap, biased } = drawSizes(prng),
) {
  const { kernels, memory, base } = loadBuild(file);
  const floats = new Float32Array(memory.buffer);
  const words = new Uint32Array(memory.buffer);
  let top = base;
  const alloc = (count: number) => {
    const at = top;
    top += 4 * count + 15 & ~15;
    return at;
  };
  const draw = (at: number, count: number) => {
    for (let i = 0; i < count; ++i) floats[at / 4 + i] = prng.float() * 2 - 1;
    return at;
  };
  const table = (addresses: readonly number[]) => {
    const at = alloc(addresses.length);
    words.set(addresses, at / 4);
    return at;
  };
  const width = kvHeads * headSize;
  const keys = alloc(capacity * width);
  const values = alloc(capacity * width);
  for (let t = 0; t < capacity; ++t) {
    kernels.attention_append_f32(
      1,
      width,
      width,
      table([draw(alloc(width), width)]),
      table([draw(alloc(width), width)]),
      table([t]),
      table([keys]),
      table([values]),
    );
  }
  const scratch = alloc(kernels.attention_scratch_bytes(capacity) / 4);
  const qWidth = heads * headSize;
  const biases = heads * capacity + BIAS_BEHIND;
  const bias = biased ? draw(alloc(biases), biases) : 0;
  /** Bits of the results of query rows at q with these lengths, in one call. */
  const attend = (q: readonly number[], lengths: readonly number[]) => {
    const out = q.map(() => alloc(qWidth));
    kernels.attention_f32(
      q.length,
      heads,
      kvHeads,
      headSize,
      capacity,
      Math.fround(1 / Math.sqrt(headSize)),
      cap,
      table(q),
      table(q.map(() => keys)),
      table(q.map(() => values)),
      table(lengths),
      bias,
      table(out),
      scratch,
    );
    return out.map((at) => words.slice(at / 4, at / 4 + qWidth));
  };
  const queries = Array.from(
    { length: 11 },
    () => draw(alloc(qWidth), qWidth),
  );
  return { attend, queries, capacity };
}

for (const file of ["shoal.wasm", "shoal.debug.wasm"]) {
  Deno.test(`attention_f32() gives query rows of one cache the same bits together and alone (${file})`, () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), (seed) => {
        const prng = new Prng(seed);
        const { attend, queries, capacity } = setUp(file, prng);
        const start = prng.int(
          capacity - queries.length > 0 ? capacity - queries.length : 1,
        );
        const causal = prng.int(2) === 1;
        const lengths = queries.map((_, i) =>
          causal ? Math.min(capacity, start + i) : prng.int(capacity + 1)
        );
        const together = attend(queries, lengths);
        queries.forEach((q, i) => {
          const [alone] = attend([q], [lengths[i]]);
          assert.deepEqual(
            together[i],
            alone,
            `row ${i} of length ${lengths[i]}`,
          );
        });
      }),
      { numRuns: propertyRuns(20) },
    );
  });
}

// A row alone passes the cache in blocks of 32 such positions, and its heads in two groups; four rows do not.
Deno.test("attention_f32() gives a row alone the bits it has among others over long caches of many heads", () => {
  const { attend, queries } = setUp("shoal.wasm", new Prng(7), {
    kvHeads: 17,
    heads: 17,
    headSize: 121,
    capacity: 104,
    cap: 0,
    biased: true,
  });
  for (const length of [1, 31, 32, 33, 64, 70, 104]) {
    const four = queries.slice(0, 4);
    const together = attend(four, four.map(() => length));
    four.forEach((q, i) =>
      assert.deepEqual(attend([q], [length])[0], together[i], `${length}`)
    );
  }
});
