import { readFileSync } from "node:fs";
import {
  instantiateKernels,
  type KernelExports,
} from "../../src/kernels/module/module.ts";
import type { Variants } from "../../src/kernels/module/scratch.ts";
import { supports } from "../../src/kernels/module/features.ts";

/** Pages of 64 KiB a test's memory has: room for the largest case. */
const PAGES = 256;

/** A build over a fresh memory. */
export interface Build {
  name: string;
  kernels: KernelExports;
  memory: WebAssembly.Memory;
  /** First byte a test may use. */
  base: number;
}

/** Bytes of build/`file`, which the test task has compiled before. */
export function readBuild(file: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    readFileSync(new URL(`../../build/${file}`, import.meta.url)),
  );
}

/** Loads one build over a memory of its own. */
export function loadBuild(file: string, shared = false): Build {
  const memory = new WebAssembly.Memory(
    shared ? { initial: PAGES, maximum: PAGES, shared } : { initial: PAGES },
  );
  const kernels = instantiateKernels(readBuild(file), { memory });
  return { name: file, kernels, memory, base: kernels.shoal_static_end() };
}

const VARIANTS = [
  "",
  ", in blocks",
  ", whole dots",
  ", in blocks, whole dots",
] as const;

/** A build that has scratch memory, and variants. */
export function withScratch(build: Build, variant: Variants): Build {
  const { kernels, base } = build;
  kernels.shoal_use_scratch(base, variant);
  return {
    ...build,
    name: `${build.name} with scratch memory${VARIANTS[variant]}`,
    base: base + kernels.shoal_scratch_bytes(variant),
  };
}

/** The deterministic release build. */
export const release = loadBuild("shoal.wasm");

/** Every build this engine can run, the release build first. */
export const builds: readonly Build[] = [
  release,
  withScratch(loadBuild("shoal.wasm"), 1),
  loadBuild("shoal.debug.wasm"),
  withScratch(loadBuild("shoal.debug.wasm"), 0),
  loadBuild("shoal.shared.wasm", true),
  loadBuild("shoal.debug-shared.wasm", true),
  ...(supports("relaxed-simd")
    ? [
      loadBuild("shoal.dot.wasm"),
      withScratch(loadBuild("shoal.dot.wasm"), 3),
      loadBuild("shoal.dot-shared.wasm", true),
      loadBuild("shoal.relaxed.wasm"),
      withScratch(loadBuild("shoal.relaxed.wasm"), 2),
      loadBuild("shoal.relaxed-shared.wasm", true),
    ]
    : []),
];
