/** Operands in linear memory with their types and shapes, placed one after the other. */
import { PAGE_BYTES } from "../module/memory.ts";
import type { OperandType } from "../spec/signature.ts";
import { rowBytes } from "../spec/signature.ts";

/** Operands start at cache lines. */
const LINE_BYTES = 64;

/** Rows behind a table. */
export interface Rows {
  readonly kind: "rows";
  readonly type: OperandType;
  readonly count: number;
  /** Elements of a row. */
  readonly width: number;
  /** Address of the table of row addresses. */
  readonly table: number;
}

/** One array: packed weights, scratch memory, a table of indices. */
export interface Block {
  readonly kind: "block";
  readonly type: OperandType;
  /** Elements. */
  readonly length: number;
  readonly address: number;
}

/** Numbers that fill operands. */
export type Numbers = Float32Array | Int32Array;

function typeOf(data: Numbers): "f32" | "i32" {
  return data instanceof Float32Array ? "f32" : "i32";
}

/** A bump allocator over a memory that the host owns. */
export class Arena {
  readonly memory: WebAssembly.Memory;
  readonly #base: number;
  #top: number;

  /** @param base first free byte, `kernels.shoal_static_end()` or more */
  constructor(memory: WebAssembly.Memory, base: number) {
    this.memory = memory;
    this.#base = base;
    this.#top = base;
  }

  /** Forgets all operands. */
  reset(): void {
    this.#top = this.#base;
  }

  /**
   * Address of `bytes` fresh bytes at a cache line; their contents are of no meaning.
   * @throws {RangeError} if memory ends before
   */
  reserve(bytes: number): number {
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      throw new RangeError(`Cannot reserve ${bytes} bytes`);
    }
    const at = Math.ceil(this.#top / LINE_BYTES) * LINE_BYTES;
    const { byteLength } = this.memory.buffer;
    if (at + bytes > byteLength) {
      const pages = Math.ceil((at + bytes) / PAGE_BYTES);
      throw new RangeError(
        `Cannot place ${bytes} bytes at ${at} in a memory of ${byteLength} bytes; ` +
          (pages <= PAGE_BYTES
            ? `give it ${pages} pages of 64 KiB`
            : "WebAssembly addresses 4 GiB: split the work"),
      );
    }
    this.#top = at + bytes;
    return at;
  }

  /** Runs `work` and forgets the operands it placed. */
  temporarily<Value>(work: () => Value): Value {
    const top = this.#top;
    try {
      return work();
    } finally {
      this.#top = top;
    }
  }

  /** An array of fresh elements, or of the given numbers. */
  block(data: Numbers): Block;
  block(type: OperandType, length: number): Block;
  block(what: Numbers | OperandType, length = 0): Block {
    if (typeof what === "string") {
      const address = this.reserve(rowBytes(what, length));
      return { kind: "block", type: what, length, address };
    }
    return {
      kind: "block",
      type: typeOf(what),
      length: what.length,
      address: this.#put(what),
    };
  }

  /** `count` rows of `width` elements one after the other, fresh or of the given numbers. */
  rows(count: number, width: number, data: Numbers): Rows;
  rows(count: number, width: number, type: OperandType): Rows;
  rows(count: number, width: number, what: Numbers | OperandType): Rows {
    const type = typeof what === "string" ? what : typeOf(what);
    const bytes = Math.ceil(rowBytes(type, width) / 4) * 4;
    let first: number;
    if (typeof what === "string") first = this.reserve(count * bytes);
    else {
      if (what.length !== count * width) {
        throw new RangeError(
          `${count} rows of ${width} are ${
            count * width
          } numbers, got ${what.length}`,
        );
      }
      first = this.#put(what);
    }
    return this.rowsAt(
      Array.from({ length: count }, (_, i) => first + bytes * i),
      width,
      type,
    );
  }

  /** Rows that lie somewhere already. */
  rowsAt(addresses: readonly number[], width: number, type: OperandType): Rows {
    const table = this.#put(Int32Array.from(addresses, (at) => at | 0));
    return { kind: "rows", type, count: addresses.length, width, table };
  }

  /** Rows whose addresses a kernel has written, as gather_rows does. */
  rowsBehind(block: Block, width: number, type: OperandType): Rows {
    if (block.type !== "address") {
      throw new TypeError(`A block of ${block.type} holds no addresses`);
    }
    const { address: table, length: count } = block;
    return { kind: "rows", type, count, width, table };
  }

  /** Address of row i. */
  addressOf({ table, count }: Rows, i: number): number {
    if (!Number.isInteger(i) || i < 0 || i >= count) {
      throw new RangeError(`There are rows 0 to ${count - 1}, not ${i}`);
    }
    return new Uint32Array(this.memory.buffer)[table / 4 + i];
  }

  /** A copy of f32 or i32 rows, count x width. */
  read(rows: Rows & { type: "i32" }): Int32Array;
  read(rows: Rows): Float32Array;
  read(rows: Rows): Float32Array | Int32Array {
    const { type, count, width } = rows;
    if (type !== "f32" && type !== "i32") {
      throw new TypeError(`Rows of ${type} are no numbers to copy`);
    }
    const Type = type === "f32" ? Float32Array : Int32Array;
    const out = new Type(count * width);
    for (let i = 0; i < count; ++i) {
      const at = this.addressOf(rows, i);
      out.set(new Type(this.memory.buffer, at, width), i * width);
    }
    return out;
  }

  #put(data: Numbers): number {
    const at = this.reserve(data.byteLength);
    new Uint8Array(this.memory.buffer).set(
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      at,
    );
    return at;
  }
}
