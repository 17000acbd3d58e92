/** Our side of a bench: a build over a memory of its own, and a bump allocator for operands. */
import { readFileSync } from "node:fs";
import {
  instantiateKernels,
  type KernelExports,
} from "../../src/kernels/module.ts";
import { probeScratchBytes } from "../../src/engine/scratch_probe.ts";
import { ROOT } from "./root.ts";

const PAGE = 65536;
const ALIGN = 64;

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

  /** @param file of build/; @param megabytes of memory */
  constructor(file: string, megabytes: number) {
    const memory = new WebAssembly.Memory({
      initial: megabytes * 2 ** 20 / PAGE,
    });
    const bytes = readFileSync(
      new URL(`build/${file}`, ROOT),
    );
    this.kernels = instantiateKernels(new Uint8Array(bytes), { memory });
    this.name = file.includes("relaxed") ? "relaxed" : "deterministic";
    this.memory = memory;
    this.#buffer = memory.buffer as ArrayBuffer;
    const end = this.kernels.shoal_static_end();
    const scratch = probeScratchBytes(bytes, false);
    if (scratch > 0) this.kernels.shoal_use_scratch(end);
    this.base = end + scratch;
    this.#top = this.base;
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
