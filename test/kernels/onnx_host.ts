/** A small host for single kernel calls: plain arrays in, plain arrays out. */
import { type Build, loadBuild } from "./builds.ts";

/** Rows in memory behind a table. */
export interface Rows {
  table: number;
  read(): Float32Array;
  words(): Int32Array;
}

/** Places operands one after the other; `fresh()` forgets them. */
export class OnnxHost {
  readonly #build: Build = loadBuild("shoal.debug.wasm");
  readonly kernels = this.#build.kernels;
  #top = this.#build.base;

  fresh(): this {
    this.#top = this.#build.base;
    return this;
  }

  alloc(bytes: number): number {
    const at = (this.#top + 15) & ~15;
    this.#top = at + bytes;
    return at;
  }

  put(data: ArrayLike<number> | Int32Array): number {
    const words = data instanceof Int32Array
      ? data
      : new Int32Array(Float32Array.from(data).buffer);
    const at = this.alloc(words.byteLength);
    new Int32Array(this.#build.memory.buffer).set(words, at / 4);
    return at;
  }

  rows(count: number, width: number, data?: ArrayLike<number>): Rows {
    const at = data ? this.put(data) : this.alloc(4 * count * width);
    const addresses = Int32Array.from(
      { length: count },
      (_, i) => at + 4 * width * i,
    );
    const { buffer } = this.#build.memory;
    return {
      table: this.put(addresses),
      read: () => new Float32Array(buffer, at, count * width).slice(),
      words: () => new Int32Array(buffer, at, count * width).slice(),
    };
  }
}
