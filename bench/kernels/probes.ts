/**
 * Register-only probes: what this engine on this machine can do when nothing but
 * arithmetic is in the way. Kernels are quoted against them.
 */
// @ts-types="../../src/cli/asc.d.ts"
import asc from "assemblyscript/asc";
import { compileReader } from "./reading.ts";
import { bestTimesNs } from "./timing.ts";

const TURNS = 20_000;
const FLOPS_PER_LANE = 2;
const LANES = 4;

/** Peak rates in GFLOP/s, one thread; relaxed is missing where the engine has no relaxed SIMD. */
export interface Peaks {
  mulAdd: number;
  relaxedMadd?: number;
  /** i32x4.dot_i16x8_s + add, GOP/s. */
  dot16: number;
  /** relaxed int8 dot product, GOP/s. */
  relaxedDot8?: number;
  /** The same in 16 bits first, two products' sums at once (assembly/q8_exceptions.ts), GOP/s. */
  chainedDot8?: number;
  /** Reading 32 MiB, as a 4096 x 2048 matrix is read at M = 1, GB/s. */
  readGBps: number;
}

const READ_MEGABYTES = 32;

/** A module whose probe() repeats `steps` for `turns` turns on accumulators a0, a1, ... */
function source(
  accumulators: number,
  factors: number,
  steps: readonly string[],
): string {
  const each = (count: number, write: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => write(i)).join("\n");
  return `export function probe(turns: i32): f32 {
    let x = f32x4.splat(0.5), y = f32x4.splat(-0.5), last = x;
    ${each(factors, (i) => `const z${i} = f32x4.splat(1.${i + 1});`)}
    ${each(accumulators, (i) => `let a${i} = f32x4.splat(${i}.5);`)}
    for (let i = 0; i < turns; ++i) { ${steps.join("\n")} }
    ${each(accumulators - 1, (i) => `a0 = f32x4.add(a0, a${i + 1});`)}
    return f32x4.extract_lane(a0, 0);
  }`;
}

async function compile(
  text: string,
  features: string,
): Promise<(turns: number) => number> {
  const { binary, stderr } = await asc.compileString(text, {
    optimizeLevel: 1,
    runtime: "stub",
    noAssert: true,
    enable: ["simd", ...features ? [features] : []],
  });
  if (!binary) throw new Error(`Cannot compile a probe: ${stderr}`);
  const { instance } = await WebAssembly.instantiate(
    binary as Uint8Array<ArrayBuffer>,
    {
      env: { abort() {} },
    },
  );
  return instance.exports.probe as (turns: number) => number;
}

/** Measures the probes; `relaxed` says whether the engine has relaxed SIMD. */
export async function measurePeaks(relaxed: boolean): Promise<Peaks> {
  const rate = async (probe: (turns: number) => number, chains: number) => {
    const [ns] = await bestTimesNs([() => void probe(TURNS)], { rounds: 50 });
    return FLOPS_PER_LANE * LANES * chains * TURNS / ns;
  };
  // x and y change places every turn, so that no product is the same as in the turn before.
  const sums = Array.from(
    { length: 8 },
    (_, i) =>
      `a${i} = f32x4.add(a${i}, f32x4.mul(${i % 2 ? "x" : "y"}, z${i >> 1}));`,
  );
  const swap = "last = x; x = y; y = last;";
  const mulAdd = await compile(source(8, 4, [...sums, swap]), "");
  const dots = Array.from(
    { length: 8 },
    (_, i) =>
      `a${i} = i32x4.add(a${i}, i32x4.dot_i16x8_s(${i % 2 ? "x" : "y"}, z${
        i >> 1
      }));`,
  );
  // Integer sums are quick enough to show it when unrolled turns share their products.
  const drift = "x = i32x4.add(x, z0); y = i32x4.sub(y, z1);";
  const bytes = READ_MEGABYTES * 2 ** 20;
  const memory = new WebAssembly.Memory({ initial: bytes / 2 ** 16 });
  // Untouched memory is one page of zeros: it has to be written first.
  new Uint8Array(memory.buffer).fill(1);
  const read = await compileReader(memory);
  const [readNs] = await bestTimesNs([() => read(0, bytes)], { rounds: 15 });
  const peaks: Peaks = {
    mulAdd: await rate(mulAdd, 8),
    // Two products and two sums a lane instead of one of each.
    dot16: 2 * await rate(await compile(source(8, 4, [...dots, drift]), ""), 8),
    readGBps: bytes / readNs,
  };
  if (relaxed) {
    const fused = Array.from(
      { length: 12 },
      (_, i) => `a${i} = f32x4.relaxed_madd(x, y, a${i});`,
    );
    peaks.relaxedMadd = await rate(
      await compile(source(12, 0, fused), "relaxed-simd"),
      12,
    );
    const dots8 = Array.from(
      { length: 12 },
      (_, i) => `a${i} = i32x4.relaxed_dot_i8x16_i7x16_add_s(x, y, a${i});`,
    );
    peaks.relaxedDot8 = 4 * await rate(
      await compile(source(12, 0, dots8), "relaxed-simd"),
      12,
    );
    const product = (i: number) =>
      `i16x8.relaxed_dot_i8x16_i7x16_s(z${i % 4}, ${i < 4 ? "x" : "y"})`;
    const chains = Array.from(
      { length: 4 },
      (_, i) =>
        `a${i} = i32x4.add(a${i}, i32x4.dot_i16x8_s(i16x8.add(${product(i)}, ${
          product(4 + (i + 1) % 4)
        }), ones));`,
    );
    peaks.chainedDot8 = 4 * await rate(
      await compile(
        source(4, 4, ["const ones = i16x8.splat(1);", ...chains, drift]),
        "relaxed-simd",
      ),
      8,
    );
  }
  return peaks;
}
