/** Operands in linear memory with their types and shapes, placed one after the other. */
import { describe } from "../../base/describe.ts";
import { PAGE_BYTES, PAGES_MAX } from "../module/memory.ts";
import type { OperandType } from "../spec/signature.ts";
import { rowBytes } from "../spec/signature.ts";

/** Operands start at cache lines. */
const LINE_BYTES = 64;

/** Rows behind a table. */
export interface Rows {
  /** Tells it from a {@linkcode Block}. */
  readonly kind: "rows";
  /** Of its elements. */
  readonly type: OperandType;
  /** How many rows there are. */
  readonly count: number;
  /** Elements of a row. */
  readonly width: number;
  /** Address of the table of row addresses. */
  readonly table: number;
}

/** One array: packed weights, scratch memory, a table of indices. */
export interface Block {
  /** Tells it from {@linkcode Rows}. */
  readonly kind: "block";
  /** Of its elements. */
  readonly type: OperandType;
  /** Elements. */
  readonly length: number;
  /** Byte address, 64-byte aligned. */
  readonly address: number;
}

const TYPES: readonly OperandType[] = ["f32", "i32", "q8", "byte", "address"];

/** Of numbers as they are given: bytes of others would be taken for numbers that they are not. */
function typeOf(what: unknown): OperandType {
  const named = TYPES.find((type) => type === what);
  if (named !== undefined) return named;
  if (what instanceof Float32Array) return "f32";
  if (what instanceof Int32Array) return "i32";
  throw new TypeError(
    `An operand is a Float32Array, an Int32Array or one of ${
      TYPES.join(", ")
    }, got ${describe(what)}`,
  );
}

function checkCount(what: string, count: number): void {
  if (Number.isSafeInteger(count) && count >= 0) return;
  throw new RangeError(
    `An operand has a whole number of ${what}, got ${describe(count)}`,
  );
}

/**
 * Operands with their types and shapes, placed one after the other in a memory that the host owns, each at a
 * cache line. It keeps no list of them: {@linkcode Arena.reset} forgets all at once.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import {
 *   Arena,
 *   createMemory,
 *   instantiateKernels,
 *   readKernels,
 * } from "@shoal/core/kernels";
 *
 * const memory = createMemory({ bytes: 1 << 20 });
 * const kernels = instantiateKernels(await readKernels("shoal"), { memory });
 * const arena = new Arena(memory, kernels.shoal_static_end());
 * const a = arena.rows(2, 3, Float32Array.of(1, 2, 3, 4, 5, 6));
 * const out = arena.rows(2, 1, "i32");
 * kernels.argmax_rows_f32(2, 3, a.table, out.table);
 * assert.deepEqual([...arena.read(out)], [2, 2]);
 * ```
 */
export class Arena {
  /** In which operands are placed. */
  readonly memory: WebAssembly.Memory;
  readonly #base: number;
  #top: number;

  /**
   * Nothing is placed yet.
   * @param base first free byte, `kernels.shoal_static_end()` or more
   */
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
    if (at + bytes > Math.min(byteLength, PAGES_MAX * PAGE_BYTES)) {
      const pages = Math.ceil((at + bytes) / PAGE_BYTES);
      throw new RangeError(
        `Cannot place ${bytes} bytes at ${at} in a memory of ${byteLength} bytes; ` +
          (pages <= PAGES_MAX
            ? `give it ${pages} pages of 64 KiB`
            : "WebAssembly addresses 4 GiB, of which kernels leave the last page alone: split the work"),
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

  /**
   * An array of the given numbers.
   * @throws {TypeError} if they are no such array
   * @throws {RangeError} if memory ends before
   */
  block(data: Float32Array | Int32Array): Block;
  /** An array of `length` fresh elements, whatever they are. */
  block(type: OperandType, length: number): Block;
  block(what: Float32Array | Int32Array | OperandType, length = 0): Block {
    const type = typeOf(what);
    if (typeof what === "string") {
      checkCount("elements", length);
      const address = this.reserve(rowBytes(what, length));
      return { kind: "block", type, length, address };
    }
    return {
      kind: "block",
      type,
      length: what.length,
      address: this.#put(what),
    };
  }

  /**
   * `count` rows of `width` of the given numbers, one after the other.
   * @throws {TypeError} if they are no such array
   * @throws {RangeError} if there are not as many, or memory ends before
   */
  rows(count: number, width: number, data: Float32Array | Int32Array): Rows;
  /** `count` rows of `width` fresh elements, whatever they are. */
  rows(count: number, width: number, type: OperandType): Rows;
  rows(
    count: number,
    width: number,
    what: Float32Array | Int32Array | OperandType,
  ): Rows {
    const type = typeOf(what);
    checkCount("rows", count);
    checkCount("elements in a row", width);
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

  /**
   * Rows whose addresses a kernel has written, as gather_rows does.
   * @throws {TypeError} if the block's elements are no addresses
   */
  rowsBehind(block: Block, width: number, type: OperandType): Rows {
    if (block.type !== "address") {
      throw new TypeError(`A block of ${block.type} holds no addresses`);
    }
    const { address: table, length: count } = block;
    return { kind: "rows", type, count, width, table };
  }

  /**
   * Byte address of row i.
   * @throws {RangeError} if there is no such row
   */
  addressOf({ table, count }: Rows, i: number): number {
    if (!Number.isInteger(i) || i < 0 || i >= count) {
      throw new RangeError(`There are rows 0 to ${count - 1}, not ${i}`);
    }
    return new Uint32Array(this.memory.buffer)[table / 4 + i];
  }

  /** A copy of i32 rows, count x width. */
  read(rows: Rows & { type: "i32" }): Int32Array;
  /**
   * A copy of f32 rows, count x width; of i32 rows an Int32Array.
   * @throws {TypeError} if their elements are neither
   */
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

  #put(data: Float32Array | Int32Array): number {
    const at = this.reserve(data.byteLength);
    new Uint8Array(this.memory.buffer).set(
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      at,
    );
    return at;
  }
}
