/**
 * Which sizes of models suit a machine. Results of like machines are compared, so classes are as wide as
 * can be: a machine has to be a class away, not a little faster or busier for a while.
 */
import { Prng } from "../base/prng.ts";
import { wallNs } from "../engine/wall/clock.ts";
import { readKernels } from "../engine/wall/runtime.ts";
import { Arena } from "../kernels/host/arena.ts";
import { createMemory } from "../kernels/module/memory.ts";
import { instantiateKernels } from "../kernels/module/module.ts";
import { packGemm } from "../kernels/pack/pack_gemm.ts";
import type { SizeClass } from "../models/registry.ts";

/** The class of models' sizes that a bench runs at, and the reason. */
export interface ChosenSize {
  readonly size: SizeClass;
  readonly why: string;
}

/**
 * What machines do that the class `medium` is made for, in 10^9 floating-point operations per second of one
 * thread: of 2015 to 2025, desktop and cloud, 16 to 60 with 128-bit SIMD and no fused multiply-add.
 */
const TYPICAL_GFLOPS = 32;

/** How far from it a machine has to be for another class: the quotient of two classes' work. */
const CLASS_FACTOR = 4;
const LOW = TYPICAL_GFLOPS / CLASS_FACTOR;
const HIGH = TYPICAL_GFLOPS * CLASS_FACTOR;

const ROWS = 64;
const WIDTH = 256;
const FLOPS = 2 * ROWS * WIDTH * WIDTH;
const MEMORY_BYTES = 2 ** 22;

/** A call takes a tenth of a time slice, so that some calls are whole on a busy machine, too. */
const MEASURED_NS = 400e6;

/** On a busy machine the optimizing compiler may come late: nobody is called slow before this is over. */
const PATIENCE_NS = 3e9;

/**
 * The class of this machine, by the fastest of many small matrix products on one thread. Takes 0.4 s, more
 * where the machine seems slow.
 */
export async function machineSize(): Promise<ChosenSize> {
  return sizeFor(await gflops());
}

/** @param gflops 10^9 floating-point operations per second of one thread */
export function sizeFor(gflops: number): ChosenSize {
  const size = gflops < LOW ? "small" : gflops > HIGH ? "large" : "medium";
  const range = {
    small: `below ${LOW}`,
    medium: `from ${LOW} to ${HIGH}`,
    large: `above ${HIGH}`,
  }[size];
  return {
    size,
    why: `one thread does ${
      Number(gflops.toPrecision(2))
    } GFLOP/s, ${size} is ${range}`,
  };
}

async function gflops(): Promise<number> {
  const memory = createMemory({ bytes: MEMORY_BYTES });
  const kernels = instantiateKernels(await readKernels("shoal"), { memory });
  const arena = new Arena(memory, kernels.shoal_static_end() >>> 0);
  const prng = new Prng(1);
  const random = (count: number) =>
    Float32Array.from({ length: count }, () => 2 * prng.float() - 1);
  const a = arena.rows(ROWS, WIDTH, random(ROWS * WIDTH)).table;
  const out = arena.rows(ROWS, WIDTH, "f32").table;
  const weight = random(WIDTH * WIDTH);
  const w = arena.block(packGemm({ n: WIDTH, k: WIDTH, weight, layout: "nk" }));
  let bestNs = Infinity;
  const startNs = wallNs();
  const isEnough = (tookNs: number) =>
    tookNs >= (FLOPS / bestNs < LOW ? PATIENCE_NS : MEASURED_NS);
  for (let nowNs = startNs; !isEnough(nowNs - startNs);) {
    kernels.gemm_f32(ROWS, WIDTH, WIDTH, a, 0, 0, w.address, out, 0);
    const doneNs = wallNs();
    bestNs = Math.min(bestNs, doneNs - nowNs);
    nowNs = doneNs;
  }
  return FLOPS / bestNs;
}
