/**
 * An int8 GEMM on the embeddable modules: activations quantised per row to 7 bits, weights packed
 * here. Integers are the same in every build, variant and engine. See docs/abi.md for the layouts.
 */
import { hash, hex, value } from "./numbers.js";

const SIZE = { m: 5, n: 19, k: 250, levels: 127 };
const WHOLE_DOTS = 2;

/**
 * Hash of the integer sums on one build, the same for each of its variants.
 * @param {BufferSource} bytes build/shoal.wasm or build/shoal.dot.wasm
 */
export async function int8(bytes) {
  const { m, n, k, levels } = SIZE;
  const memory = new WebAssembly.Memory({ initial: 16 });
  const { instance } = await WebAssembly.instantiate(bytes, {
    env: { memory },
  });
  const shoal = /** @type {any} */ (instance.exports);
  const f32 = new Float32Array(memory.buffer);
  const i32 = new Int32Array(memory.buffer);
  let top = shoal.shoal_static_end();
  /** A table of m rows of so many bytes. @param {number} size */
  const rows = (size) => {
    const data = top;
    const table = data + m * size;
    for (let i = 0; i < m; ++i) i32[table / 4 + i] = data + i * size;
    top = table + 4 * m + 15 & ~15;
    return { data, table };
  };
  const a = rows(4 * k);
  for (let i = 0; i < m * k; ++i) f32[a.data / 4 + i] = value(1, i);
  const q = rows(16 + (k + 3 & ~3));
  const c = rows(4 * n);
  const w = top;
  const end = pack(memory.buffer, w);
  shoal.quantize_rows_f32(m, k, levels, a.table, q.table);
  const hashes = [0, shoal.shoal_variants() & WHOLE_DOTS].map((variants) => {
    const bytes = shoal.shoal_scratch_bytes(variants);
    const scratch = bytes === 0 ? 0 : end + 15 & ~15;
    if (scratch + bytes > memory.buffer.byteLength) {
      throw new Error(`No room for ${bytes} bytes of scratch memory`);
    }
    shoal.shoal_use_scratch(scratch, variants);
    shoal.gemm_q8_i32(m, n, k, 1, q.table, w, c.table);
    return hex(hash(new Uint8Array(memory.buffer, c.data, 4 * m * n)));
  });
  if (hashes[0] !== hashes[1]) throw new Error(`int8 differs: ${hashes}`);
  return hashes[0];
}

/**
 * Panels of 8 columns: their sums, zero points, scales and biases; exceptions; the weights by
 * steps of 4 numbers of k.
 * @param {ArrayBuffer} buffer @param {number} w
 * @returns {number} where they end
 */
function pack(buffer, w) {
  const { n, k } = SIZE;
  const steps = Math.ceil(k / 4);
  for (let first = 0; first < n; first += 8, w += 160 + 32 * steps) {
    const words = new Int32Array(buffer, w, 40);
    const weights = new Int8Array(buffer, w + 160, 32 * steps);
    for (let j = first; j < Math.min(n, first + 8); ++j) {
      for (let i = 0; i < k; ++i) {
        // Nearly all small, as trained weights are.
        const v = Math.round(value(2, j * k + i) ** 3 * 127);
        weights[32 * (i >> 2) + 4 * (j - first) + (i & 3)] = v;
        words[j - first] += v;
      }
    }
    const exceptions = new Uint16Array(buffer, w + 128, 16).fill(0xffff);
    for (let pair = 0, count = 0; pair < steps >> 1 && count < 16; ++pair) {
      if (overflows(weights, 64 * pair)) exceptions[count++] = pair;
    }
  }
  return w;
}

/** Whether four products could be too large for 16 bits. @param {Int8Array} weights @param {number} pair */
function overflows(weights, pair) {
  for (let at = pair; at < pair + 32; at += 2) {
    const four = [0, 1, 32, 33].map((i) => weights[at + i]);
    for (const sign of [1, -1]) {
      const sum = four.reduce((s, v) => s + Math.max(0, sign * v), 0);
      if (sum > 258) return true;
    }
  }
  return false;
}
