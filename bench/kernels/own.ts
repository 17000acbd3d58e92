/** Our side of a bench: a build over a memory of its own, and a bump allocator for operands. */
import { readFileSync } from "node:fs";
import {
  instantiateKernels,
  type KernelExports,
} from "../../src/kernels/module/module.ts";
import { createMemory } from "../../src/kernels/module/memory.ts";
import { probeScratch } from "../../src/engine/wall/scratch_probe.ts";
import type { Variants } from "../../src/kernels/module/scratch.ts";
import { ROOT } from "./root.ts";

const ALIGN = 64;
/** Rates are best times, so variants are chosen by best times too. */
export const PROBE_MS = 1000;

/** Rows behind a table, contiguous in memory. */
export interface Rows {
  table: number;
  data: number;
  view: Float32Array;
}

/** A build with its memory. */
export class Own {
  readonly kernels: KernelExports;
  readonly name: string;
  readonly memory: WebAssembly.Memory;
  /** First address for operands: behind static data and, where it pays, scratch memory. */
  readonly base: number;
  readonly #buffer: ArrayBuffer;
  #top: number;

  /** @param kernels over `memory`; @param base first address that operands may take */
  constructor(
    name: string,
    memory: WebAssembly.Memory,
    kernels: KernelExports,
    base: number,
    readonly variants: Variants = 0,
  ) {
    this.name = name;
    this.memory = memory;
    this.kernels = kernels;
    this.#buffer = memory.buffer as ArrayBuffer;
    this.base = base;
    this.#top = base;
  }

  /** @param file of build/, over unshared memory; @param megabytes of memory */
  static load(file: string, megabytes: number): Own {
    const memory = createMemory({ bytes: megabytes * 2 ** 20 });
    const bytes = readFileSync(new URL(`build/${file}`, ROOT));
    const kernels = instantiateKernels(new Uint8Array(bytes), { memory });
    const name = file.includes("relaxed") ? "relaxed" : "deterministic";
    const end = kernels.shoal_static_end();
    const scratch = probeScratch(bytes, {
      shared: false,
      patienceMs: PROBE_MS,
    });
    kernels.shoal_use_scratch(end, scratch.variants);
    return new Own(
      name,
      memory,
      kernels,
      end + scratch.bytes,
      scratch.variants,
    );
  }

  /** Forgets all operands. */
  reset(): void {
    this.#top = this.base;
  }

  /** Address of `bytes` fresh bytes, aligned to a cache line. */
  alloc(bytes: number): number {
    const at = Math.ceil(this.#top / ALIGN) * ALIGN;
    this.#top = at + bytes;
    return at;
  }

  /** Places an array. */
  put(data: Float32Array | Int32Array): number {
    const at = this.alloc(data.byteLength);
    new Uint8Array(this.#buffer).set(
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      at,
    );
    return at;
  }

  floats(at: number, length: number): Float32Array {
    return new Float32Array(this.#buffer, at, length);
  }

  /** `count` rows of `width` 4-byte elements, filled from `data` if given. */
  rows(count: number, width: number, data?: Float32Array | Int32Array): Rows {
    const at = data ? this.put(data) : this.alloc(4 * count * width);
    const table = this.put(
      Int32Array.from({ length: count }, (_, i) => at + 4 * width * i),
    );
    return { table, data: at, view: this.floats(at, count * width) };
  }
}
