/**
 * Start-up probe: what to do with scratch memory on this engine. Every instance is better off with
 * some; whether it sweeps in blocks (assembly/blocked.ts), which give the same bits, depends on the
 * engine: faster where bounds are checked in code (Deno), slower where a check costs nothing.
 */
import { instantiateKernels, type KernelExports } from "../kernels/module.ts";
import { packGemm } from "../kernels/pack.ts";
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
/** Blocks have to win by this much: a tie is decided for the simpler way. */
const MARGIN = 0.98;

/** What instances of a build are given. */
export interface ScratchAdvice {
  /** Bytes of scratch memory for each instance. */
  readonly bytes: number;
  /** Second argument of `shoal_use_scratch`. */
  readonly blocks: 0 | 1;
}

/** Whether blocks pay, by whether memory is shared. */
const pays = new Map<boolean, boolean>();

/**
 * How much scratch memory each instance of a build takes, and whether blocks pay. Times one GEMM both
 * ways, about 100 ms; answers are kept for the thread. Relaxed builds never sweep in blocks.
 * @param shared whether the build needs a shared memory
 */
export function probeScratch(
  source: BufferSource | WebAssembly.Module,
  shared: boolean,
): ScratchAdvice {
  const memory = new WebAssembly.Memory({
    initial: MEMORY_PAGES,
    maximum: MEMORY_PAGES,
    shared,
  });
  const [direct, blocked] = [0, 1].map(() =>
    instantiateKernels(source, { memory })
  ) as [KernelExports, KernelExports];
  const [least, whole] = [0, 1].map((blocks) =>
    direct.shoal_scratch_bytes(blocks)
  ) as [number, number];
  if (least === whole) return { bytes: least, blocks: 0 };
  let answer = pays.get(shared);
  if (answer === undefined) {
    pays.set(shared, answer = measure(direct, blocked, memory));
  }
  return answer ? { bytes: whole, blocks: 1 } : { bytes: least, blocks: 0 };
}

function measure(
  direct: KernelExports,
  blocked: KernelExports,
  memory: WebAssembly.Memory,
): boolean {
  let top = direct.shoal_static_end();
  const take = (bytes: number): number => {
    const address = Math.ceil(top / 64) * 64;
    top = address + bytes;
    return address;
  };
  const floats = new Float32Array(memory.buffer);
  const addresses = new Uint32Array(memory.buffer);
  const rows = (width: number): number => {
    const data = take(4 * ROWS * width);
    const table = take(4 * ROWS);
    for (let i = 0; i < ROWS; i++) {
      addresses[table / 4 + i] = data + 4 * width * i;
    }
    for (let i = 0; i < ROWS * width; i++) {
      floats[data / 4 + i] = filling(i);
    }
    return table;
  };
  const weight = Float32Array.from(
    { length: COLUMNS * STEPS },
    (_, i) => filling(i),
  );
  const packed = packGemm({
    n: COLUMNS,
    k: STEPS,
    weight,
    layout: "nk",
  });
  const w = take(packed.byteLength);
  floats.set(packed, w / 4);
  const [a, c] = [rows(STEPS), rows(COLUMNS)];
  direct.shoal_use_scratch(take(direct.shoal_scratch_bytes(0)), 0);
  blocked.shoal_use_scratch(take(blocked.shoal_scratch_bytes(1)), 1);
  const time = (kernels: KernelExports): number => {
    const startNs = wallNs();
    kernels.gemm_f32(ROWS, COLUMNS, STEPS, a, 0, 0, w, c, 0);
    return wallNs() - startNs;
  };
  for (const kernels of [direct, blocked]) settle(() => time(kernels));
  let [directNs, blockedNs] = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS; round++) {
    directNs = Math.min(directNs, time(direct));
    blockedNs = Math.min(blockedNs, time(blocked));
  }
  return blockedNs < MARGIN * directNs;
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
