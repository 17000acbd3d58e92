/**
 * Whether this engine's relaxed dot products are exact for what the int8 kernels give them: weights of 8 bits by
 * activations of 7, from 0 to 127. By the specification they are: engines may differ where the second operand is
 * negative or a sum of two products leaves 16 bits, and the largest is 2 x 127 x 128 = 32,512. An engine that
 * computes them wrongly all the same (Node 20 behind its flag) must not be given the builds that use them.
 */

/** Both dot products of sixteen bytes by sixteen; the second adds four sums to `addend`. */
export type Dots = (
  weights: Int8Array,
  activations: Int8Array,
  addend: Int32Array,
) => { pairs: Int16Array; quads: Int32Array };

/**
 * (memory (export "m") 1) (func (export "f")): 32 = i16x8.relaxed_dot_i8x16_i7x16_s(0, 16);
 * 48 = i32x4.relaxed_dot_i8x16_i7x16_add_s(0, 16, 64)
 */
// deno-fmt-ignore
const MODULE = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0,
  1, 4, 1, 96, 0, 0,
  3, 2, 1, 0,
  5, 3, 1, 0, 1,
  7, 9, 2, 1, 109, 2, 0, 1, 102, 0, 0,
  10, 53, 1, 51, 0,
  65, 32, 65, 0, 253, 0, 4, 0, 65, 16, 253, 0, 4, 0, 253, 146, 2, 253, 11, 4, 0,
  65, 48, 65, 0, 253, 0, 4, 0, 65, 16, 253, 0, 4, 0, 65, 192, 0, 253, 0, 4, 0, 253, 147, 2, 253, 11, 4, 0,
  11,
]);

/** The engine's own. */
function engineDots(): Dots {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(MODULE));
  const { buffer } = exports["m"] as WebAssembly.Memory;
  const run = exports["f"] as () => void;
  return (weights, activations, addend) => {
    new Int8Array(buffer, 0, 16).set(weights);
    new Int8Array(buffer, 16, 16).set(activations);
    new Int32Array(buffer, 64, 4).set(addend);
    run();
    return {
      pairs: new Int16Array(buffer.slice(32, 48)),
      quads: new Int32Array(buffer.slice(48, 64)),
    };
  };
}

const WEIGHTS = [-128, -127, -1, 0, 1, 127];
const ACTIVATIONS = [0, 1, 64, 126, 127];

let known: boolean | undefined;

/**
 * Tries edge values beside each other in every order.
 * @param dots what is tried; by default this engine's, once, which has to accept relaxed SIMD
 */
export function dotsAreExact(dots?: Dots): boolean {
  return dots === undefined ? known ??= areExact(engineDots()) : areExact(dots);
}

function areExact(dots: Dots): boolean {
  const values = WEIGHTS.length * ACTIVATIONS.length;
  for (let turn = 0; turn < values; turn++) {
    // Lane i goes through all pairs of values, its neighbour at another pace.
    const at = (lane: number) => (turn * (lane % 4 + 1) + lane) % values;
    const weights = Int8Array.from(
      { length: 16 },
      (_, i) => WEIGHTS[at(i) % WEIGHTS.length],
    );
    const activations = Int8Array.from(
      { length: 16 },
      (_, i) => ACTIVATIONS[Math.floor(at(i) / WEIGHTS.length)],
    );
    if (!agree(dots, weights, activations)) return false;
  }
  // The largest sums there are.
  return [-128, 127].every((weight) =>
    agree(
      dots,
      new Int8Array(16).fill(weight),
      new Int8Array(16).fill(127),
    )
  );
}

function agree(
  dots: Dots,
  weights: Int8Array,
  activations: Int8Array,
): boolean {
  const addend = Int32Array.of(0, -1, 2 ** 30, -(2 ** 30));
  const { pairs, quads } = dots(weights, activations, addend);
  const product = (i: number) => weights[i] * activations[i];
  return pairs.every((sum, i) => sum === product(2 * i) + product(2 * i + 1)) &&
    quads.every((sum, i) =>
      sum === addend[i] + product(4 * i) + product(4 * i + 1) +
          product(4 * i + 2) + product(4 * i + 3)
    );
}
