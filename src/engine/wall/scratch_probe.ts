/**
 * Start-up probe: what to give instances of a build on this engine. Which variants of its sweeps are faster,
 * all of equal bits, depends on engine and processor ({@linkcode Variants}).
 */
import {
  checkedOptions,
  type Checks,
  integer,
  nonNegative,
  ofType,
} from "../../base/checked_options.ts";
import {
  instantiateKernels,
  type KernelExports,
} from "../../kernels/module/module.ts";
import { packGemm } from "../../kernels/pack/pack_gemm.ts";
import { packQ8 } from "../../kernels/pack/pack_q8.ts";
import {
  ALL_VARIANTS,
  BLOCKS,
  type Variants,
  WHOLE_DOTS,
} from "../../kernels/module/scratch.ts";
import { wallNs } from "./clock.ts";

const ROWS = 65;
const COLUMNS = 512;
const STEPS = 512;
const MEMORY_PAGES = 48;
/** The optimizing compiler works in the background; it is done when calls have got no faster for so long. */
const STEADY_NS = 15e6;
const GAIN = 0.95;
const PATIENCE_NS = 150e6;
const ROUNDS = 20;
/** A variant has to win by this much: a tie is decided for the simpler way. */
const MARGIN = 0.98;

/** What instances of a build are given. */
export interface ScratchAdvice {
  /** Bytes of scratch memory for each instance. */
  readonly bytes: number;
  /** Second argument of `shoal_use_scratch`. */
  readonly variants: Variants;
}

/** What {@linkcode probeScratch} may be told. */
export interface ScratchProbeOptions {
  /** Whether the build needs a shared memory. */
  shared: boolean;
  /** The variants whose kernels will run; others are not timed. Default: all. */
  variants?: Variants;
  /**
   * How long to time both ways, in all, once they are compiled. A neighbour on the same core can turn
   * the order around, for some hundred milliseconds at a time. No effect on an answer that is kept.
   */
  patienceMs?: number;
}

const PROBE_CHECKS: Checks<ScratchProbeOptions> = {
  shared: ofType("boolean"),
  variants: integer(0, ALL_VARIANTS),
  patienceMs: nonNegative,
};

/** Whether a variant pays, by variant and by whether memory is shared. */
const answers = new Map<string, boolean>();

/**
 * How much scratch memory each instance of a build takes, and which variants pay. Times one GEMM both
 * ways, about 100 ms, where the build has a variant; answers are kept for the thread.
 * @throws {TypeError} or RangeError on an option that is not one
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   createMemory,
 *   instantiateKernels,
 *   probeScratch,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const build = await readKernels("shoal");
 * const { bytes, variants } = probeScratch(build, { shared: false });
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(build, { memory });
 * // Operands come behind it.
 * const address = kernels.shoal_static_end();
 * kernels.shoal_use_scratch(address, variants);
 * assert.equal(bytes, kernels.shoal_scratch_bytes(variants));
 * ```
 */
export function probeScratch(
  source: BufferSource | WebAssembly.Module,
  options: ScratchProbeOptions,
): ScratchAdvice {
  const { shared, variants: wanted = ALL_VARIANTS, patienceMs = 0 } =
    checkedOptions("probeScratch()", options, PROBE_CHECKS, ["shared"]);
  const memory = new WebAssembly.Memory({
    initial: MEMORY_PAGES,
    maximum: MEMORY_PAGES,
    shared,
  });
  const [plain, varied] = [0, 1].map(() =>
    instantiateKernels(source, { memory })
  ) as [KernelExports, KernelExports];
  let variants = 0;
  for (const variant of [BLOCKS, WHOLE_DOTS] as const) {
    if ((plain.shoal_variants() & wanted & variant) === 0) continue;
    const key = `${variant} ${shared}`;
    let answer = answers.get(key);
    if (answer === undefined) {
      answer = pays({ plain, varied, variant, memory }, patienceMs);
      answers.set(key, answer);
    }
    if (answer) variants |= variant;
  }
  return {
    bytes: plain.shoal_scratch_bytes(variants),
    variants: variants as Variants,
  };
}

/** Two instances over one memory, and the variant one of them is to run. */
interface Trial {
  plain: KernelExports;
  varied: KernelExports;
  variant: typeof BLOCKS | typeof WHOLE_DOTS;
  memory: WebAssembly.Memory;
}

function pays(
  { plain, varied, variant, memory }: Trial,
  patienceMs: number,
): boolean {
  let top = plain.shoal_static_end();
  const take = (bytes: number): number => {
    const address = Math.ceil(top / 64) * 64;
    top = address + bytes;
    return address;
  };
  const call = variant === WHOLE_DOTS
    ? bytesGemm(memory, take)
    : floatsGemm(memory, take);
  plain.shoal_use_scratch(0, 0);
  varied.shoal_use_scratch(take(varied.shoal_scratch_bytes(variant)), variant);
  const time = (kernels: KernelExports): number => {
    const startNs = wallNs();
    call(kernels);
    return wallNs() - startNs;
  };
  for (const kernels of [plain, varied]) settle(() => time(kernels));
  let [plainNs, variedNs] = [Infinity, Infinity];
  const endNs = wallNs() + patienceMs * 1e6;
  for (let round = 0; round < ROUNDS || wallNs() < endNs; round++) {
    plainNs = Math.min(plainNs, time(plain));
    variedNs = Math.min(variedNs, time(varied));
  }
  return variedNs < MARGIN * plainNs;
}

/** Addresses of fresh bytes. */
type Take = (bytes: number) => number;

/** Table of rows of so many bytes each. */
function rowsOf(memory: WebAssembly.Memory, take: Take, bytes: number): number {
  const data = take(ROWS * bytes);
  const table = take(4 * ROWS);
  const addresses = new Uint32Array(memory.buffer, table, ROWS);
  for (let i = 0; i < ROWS; i++) addresses[i] = data + bytes * i;
  return table;
}

function floatsGemm(
  memory: WebAssembly.Memory,
  take: Take,
): (kernels: KernelExports) => void {
  const floats = new Float32Array(memory.buffer);
  const weight = Float32Array.from(
    { length: COLUMNS * STEPS },
    (_, i) => filling(i),
  );
  const packed = packGemm({ n: COLUMNS, k: STEPS, weight, layout: "nk" });
  const w = take(packed.byteLength);
  floats.set(packed, w / 4);
  const a = rowsOf(memory, take, 4 * STEPS);
  const first = new Uint32Array(memory.buffer)[a / 4] / 4;
  for (let i = 0; i < ROWS * STEPS; i++) floats[first + i] = filling(i);
  const c = rowsOf(memory, take, 4 * COLUMNS);
  return (kernels) => kernels.gemm_f32(ROWS, COLUMNS, STEPS, a, 0, 0, w, c, 0);
}

function bytesGemm(
  memory: WebAssembly.Memory,
  take: Take,
): (kernels: KernelExports) => void {
  const packed = packQ8({
    n: COLUMNS,
    k: STEPS,
    // Half of a byte's range: such weights chain everywhere, which is the faster way of the simpler kernel.
    values: Int8Array.from(
      { length: COLUMNS * STEPS },
      (_, i) => Math.round(127 * filling(i)),
    ),
    scale: new Float32Array(COLUMNS).fill(1),
  });
  const w = take(packed.byteLength);
  new Int32Array(memory.buffer).set(packed, w / 4);
  const q = rowsOf(memory, take, 16 + STEPS);
  const bytes = new Uint8Array(memory.buffer);
  for (let row = 0; row < ROWS; row++) {
    const at = new Uint32Array(memory.buffer)[q / 4 + row] + 16;
    for (let i = 0; i < STEPS; i++) bytes[at + i] = (row + i * 31) % 128;
  }
  const c = rowsOf(memory, take, 4 * COLUMNS);
  return (kernels) => kernels.gemm_q8_i32(ROWS, COLUMNS, STEPS, 1, q, w, c);
}

/** Repeats a call until it gets no faster. */
function settle(call: () => number): void {
  const startNs = wallNs();
  let best = Infinity;
  for (let bestNs = startNs, nowNs = startNs; nowNs - bestNs < STEADY_NS;) {
    const ns = call();
    nowNs = wallNs();
    if (nowNs - startNs > PATIENCE_NS) return;
    if (ns < GAIN * best) {
      best = ns;
      bestNs = nowNs;
    }
  }
}

/** Numbers of ordinary size, in [-0.5, 0.5): what they are makes no difference. */
function filling(i: number): number {
  return (i * 7919) % 1021 / 1021 - 0.5;
}
