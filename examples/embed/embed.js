/**
 * One GEMM and one LSTM sequence on the embeddable module, without Shoal's TypeScript: everything
 * a host has to do is in this file, and it runs unchanged in Deno, Node, Bun and browsers. The
 * same work is done by embed.cc. See docs/abi.md for the layouts.
 */
import { int8 } from "./int8.js";
import { hash, hex, value } from "./numbers.js";

const ABI_VERSION = 12;
const GEMM = { m: 5, n: 19, k: 37, sigmoid: 2 };
const LSTM = { batch: 3, hidden: 20, inputSize: 12, steps: 10 };

/**
 * Runs both and returns the hashes of their result bits.
 * @param {BufferSource} bytes build/shoal.wasm
 */
export async function run(bytes) {
  // The host owns the memory: 16 pages of 64 KiB, all above the module's constants is ours.
  const memory = new WebAssembly.Memory({ initial: 16 });
  const { instance } = await WebAssembly.instantiate(bytes, {
    env: { memory },
  });
  const shoal = /** @type {any} */ (instance.exports);
  if (shoal.shoal_abi_version() !== ABI_VERSION) {
    throw new Error(
      `ABI version ${shoal.shoal_abi_version()}, expected ${ABI_VERSION}`,
    );
  }
  const f32 = new Float32Array(memory.buffer);
  const u32 = new Uint32Array(memory.buffer);
  let top = shoal.shoal_static_end();
  /** @param {number} size */
  const alloc = (size) => {
    const at = top;
    top = at + size + 15 & ~15;
    return at;
  };
  /** Rows of `width` floats and the table that names them.
   * @param {number} count @param {number} width @param {(i: number) => number} fill */
  const rows = (count, width, fill = () => 0) => {
    const data = alloc(4 * count * width);
    const table = alloc(4 * count);
    for (let i = 0; i < count * width; ++i) f32[data / 4 + i] = fill(i);
    for (let i = 0; i < count; ++i) u32[table / 4 + i] = data + 4 * i * width;
    return { data, table, width, count };
  };
  /** @param {{ data: number, count: number, width: number }} block */
  const bytesOf = ({ data, count, width }) =>
    new Uint8Array(memory.buffer, data, 4 * count * width);

  return { gemm: hex(gemm()), lstm: hex(lstm()) };

  function gemm() {
    const { m, n, k, sigmoid } = GEMM;
    const a = rows(m, k, (i) => value(1, i));
    // Panels of 8 columns: 8 biases, then for every k its 8 weights. weight[j][l], bias[j].
    const panels = Math.ceil(n / 8);
    const w = alloc(panels * 32 * (1 + k));
    for (let j = 0; j < panels * 8; ++j) {
      const at = w / 4 + (j >> 3) * 8 * (1 + k) + (j & 7);
      f32[at] = j < n ? value(3, j) : 0;
      for (let l = 0; l < k; ++l) {
        f32[at + 8 * (1 + l)] = j < n ? value(2, j * k + l) : 0;
      }
    }
    const c = rows(m, n);
    shoal.gemm_f32(m, n, k, a.table, 0, 0, w, c.table, sigmoid);
    return hash(bytesOf(c));
  }

  function lstm() {
    const { batch, hidden, inputSize, steps } = LSTM;
    const k = inputSize + hidden;
    // Panels of 8 units for each gate, filled up with zeros; k runs over x, then h.
    const panels = Math.ceil(hidden / 8);
    const w = alloc(4 * panels * 32 * (1 + k));
    for (let unit = 0; unit < hidden; ++unit) {
      for (let gate = 0; gate < 4; ++gate) { // i, g, f, o
        const panel = gate * panels + (unit >> 3);
        const at = w / 4 + panel * 8 * (1 + k) + (unit & 7);
        const j = gate * hidden + unit;
        f32[at] = value(5, j);
        for (let l = 0; l < k; ++l) {
          f32[at + 8 * (1 + l)] = value(4, j * k + l) / 4;
        }
      }
    }
    // Two sets of state rows: a step never writes over its own inputs.
    let [h, c, hNext, cNext] = [0, 0, 0, 0].map(() => rows(batch, hidden));
    let sum;
    for (let step = 0; step < steps; ++step) {
      const x = rows(batch, inputSize, (i) => value(6 + step, i));
      shoal.lstm_step_f32(
        ...[
          batch,
          hidden,
          inputSize,
          x.table,
          h.table,
          c.table,
          w,
          hNext.table,
          cNext.table,
        ],
      );
      [h, c, hNext, cNext] = [hNext, cNext, h, c];
      sum = hash(bytesOf(c), hash(bytesOf(h), sum));
    }
    return sum ?? 0;
  }
}

/**
 * What the example prints: the results on the plain build, and on the one with relaxed SIMD's dot product, where
 * the engine has that: the same.
 * @param {BufferSource} plain build/shoal.wasm
 * @param {BufferSource} dot build/shoal.dot.wasm
 */
export async function report(plain, dot) {
  const results = await resultsOf(plain);
  const again = WebAssembly.validate(dot)
    ? await resultsOf(dot) === results ? "the same" : "different"
    : "not in this engine";
  return `${results}\nrelaxed dot: ${again}`;
}

/** @param {BufferSource} bytes */
async function resultsOf(bytes) {
  const { gemm, lstm } = await run(bytes);
  return `gemm ${gemm}\nlstm ${lstm}\nint8 ${await int8(bytes)}`;
}
