/**
 * Lays a kernel case out in linear memory: rows scattered and in any order, every
 * operand between guard bytes. Used by tests (guards, permutations) and benches.
 */
import { assert } from "../../src/base/assert.ts";
import type { KernelCase } from "./kernel_case.ts";
import type { KernelExports } from "../../src/kernels/module/module.ts";

/** Alignment of operands that lie dense. */
const LINE_BYTES = 64;
const GUARD_BYTES = 32;
const GUARD = 0xa5;

/** Options of {@linkcode place}. */
export interface PlaceOptions {
  /** First free byte. */
  base: number;
  /** Row r of the call is row order[r] of the case; all rows in order by default. */
  order?: readonly number[];
  /**
   * true: rows of an operand lie one after the other and operands at cache lines, as a host
   * lays them that cares for speed, without guards; checkUntouched() is not to be had.
   */
  dense?: boolean;
}

/** A case laid out in memory. */
export interface Placement {
  /** Calls the kernel on all placed rows. */
  run(kernels: KernelExports): void;
  /** Bits of a result, placed rows x width. */
  bits(name: string): Uint32Array;
  /** Throws if any byte between operands, or of an input, changed. */
  checkUntouched(): void;
}

/**
 * @param memory must be large enough for the case
 * @throws {RangeError} if memory ends too early
 */
export function place(
  memory: WebAssembly.Memory,
  kernelCase: KernelCase,
  options: PlaceOptions,
): Placement {
  const order = options.order ??
    Array.from({ length: kernelCase.rows }, (_, i) => i);
  const bytes = new Uint8Array(memory.buffer);
  const words = new Uint32Array(memory.buffer);
  const at: Record<string, number> = {};
  const writable: [from: number, to: number][] = [];
  const rowsOf: Record<string, number[]> = {};
  const { dense = false } = options;
  const guardBytes = dense ? 0 : GUARD_BYTES;
  const start = (options.base + 15) & ~15;
  let top = start;

  function reserve(size: number, least: number): number {
    const alignment = dense ? LINE_BYTES : least;
    const address = Math.ceil((top + guardBytes) / alignment) * alignment;
    const end = address + size + guardBytes;
    if (end > bytes.length) {
      throw new RangeError(
        `The case ${kernelCase.label} needs more than ${bytes.length} bytes`,
      );
    }
    if (!dense) bytes.fill(GUARD, top, end);
    top = end;
    return address;
  }
  function table(name: string, addresses: readonly number[]): void {
    at[name] = reserve(4 * addresses.length, 4);
    words.set(addresses, at[name] / 4);
  }

  for (
    const [name, { width, data, contiguous }] of Object.entries(
      kernelCase.inputs,
    )
  ) {
    const source = new Uint32Array(data.buffer, data.byteOffset, data.length);
    const whole = contiguous || dense
      ? reserve(4 * width * order.length, 4)
      : 0;
    const addresses = order.map((row, i) => {
      const address = contiguous || dense
        ? whole + 4 * width * i
        : reserve(4 * width, 4);
      words.set(source.subarray(row * width, (row + 1) * width), address / 4);
      return address;
    });
    if (contiguous) at[name] = whole;
    else table(name, addresses);
  }
  for (const [name, data] of Object.entries(kernelCase.blocks ?? {})) {
    at[name] = reserve(4 * data.length, 16);
    words.set(
      new Uint32Array(data.buffer, data.byteOffset, data.length),
      at[name] / 4,
    );
  }
  for (
    const [name, { block, width }] of Object.entries(kernelCase.tables ?? {})
  ) {
    const { length } = kernelCase.blocks![block];
    table(
      name,
      Array.from(
        { length: length / width },
        (_, i) => at[block] + 4 * width * i,
      ),
    );
  }
  for (const [name, size] of Object.entries(kernelCase.scratch ?? {})) {
    at[name] = reserve(size, 16);
    writable.push([at[name], at[name] + size]);
  }
  for (
    const [name, { width, contiguous }] of Object.entries(kernelCase.results)
  ) {
    const whole = contiguous || dense
      ? reserve(4 * width * order.length, 4)
      : 0;
    rowsOf[name] = order.map((_, i) =>
      contiguous || dense ? whole + 4 * width * i : reserve(4 * width, 4)
    );
    for (const address of rowsOf[name]) {
      writable.push([address, address + 4 * width]);
    }
    if (contiguous) at[name] = whole;
    else table(name, rowsOf[name]);
  }
  for (const [name, operands] of Object.entries(kernelCase.lists ?? {})) {
    table(name, operands.map((operand) => at[operand]));
  }
  const before = dense ? undefined : bytes.slice(start, top);

  return {
    run: (kernels) => kernelCase.call(kernels, at, order.length),
    bits(name) {
      const { width } = kernelCase.results[name];
      const out = new Uint32Array(order.length * width);
      rowsOf[name].forEach((address, i) =>
        out.set(words.subarray(address / 4, address / 4 + width), i * width)
      );
      return out;
    },
    checkUntouched() {
      assert(before !== undefined, "dense operands have no guards");
      const after = bytes.slice(start, top);
      for (const [from, to] of writable) {
        after.set(before.subarray(from - start, to - start), from - start);
      }
      const changed = after.findIndex((byte, i) => byte !== before[i]);
      assert(
        changed === -1,
        `${kernelCase.label}: byte ${changed + start} was overwritten`,
      );
    },
  };
}
