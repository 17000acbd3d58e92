/** Small calls of any kernel, made from its signature: something to run where results do not matter. */
import { imageShape } from "../../tensor/image_shape.ts";
import type { KernelExports } from "../module/exports.ts";
import { shapeSizes, shapeWords } from "../pack/image_words.ts";
import { KERNEL_SPECS } from "../spec/registry.ts";
import {
  countOf,
  type KernelName,
  rowBytes,
  rowCount,
  rowWidth,
  type Sizes,
} from "../spec/signature.ts";
import type { Arena } from "./arena.ts";

/** The usual sizes by name; one full group of panels, a panel beyond it, and K of some unrolled steps. */
const SIZES: Sizes = {
  n: 40,
  k: 64,
  k1: 64,
  k2: 0,
  hidden: 40,
  kx: 24,
  arity: 2,
  zero: 64,
  heads: 2,
  kvHeads: 2,
  headSize: 40,
  capacity: 64,
  keyWidth: 40,
  valueWidth: 40,
  height: 4,
  width: 4,
  channels: 40,
  outHeight: 6,
  outWidth: 6,
};

function sizeOf(
  kernel: KernelName,
  name: string,
  { rows, sizes }: Practice,
): number {
  if (name === "m") return rows;
  const value = sizes?.[name] ?? KERNEL_SPECS[kernel].practice?.[name] ??
    SIZES[name];
  if (value === undefined) {
    throw new Error(`No size to practise ${kernel} with: ${name}`);
  }
  return value;
}

/** Where and how to make a practice call. */
interface Practice {
  kernels: KernelExports;
  /** Takes the operands, some hundred kilobytes: zeros, and lengths. */
  arena: Arena;
  /** Rows of the batch, where the kernel has one. */
  rows: number;
  /** Sizes by name, where they are to be others than usual. */
  sizes?: Sizes;
  /** Which of the values of each choice (activation, bits) to take, modulo their number. */
  choice: number;
}

/** Arguments of one call of a kernel. */
export function practiceCall(
  kernel: KernelName,
  practice: Practice,
): number[] {
  const { kernels, arena, rows, choice } = practice;
  const { parameters } = KERNEL_SPECS[kernel];
  const sizes: Record<string, number> = {};
  for (const parameter of parameters) {
    const { kind, name } = parameter;
    if (kind === "size") sizes[name] = sizeOf(kernel, name, practice);
    if (kind === "choice") {
      const values = Object.values(parameter.choices);
      sizes[name] = values[choice % values.length];
    }
    if (kind === "shape") {
      const shape = imageShape({
        height: 8,
        width: 8,
        channels: 16,
        outChannels: parameter.grouped ? 40 : 16,
        kernel: 3,
        pads: [1, 1, 1, 1],
        groups: 1,
      });
      sizes[name] = arena.block(shapeWords(shape)).address;
      Object.assign(sizes, shapeSizes(shape));
    }
  }
  // What lengths and positions are at most, and here everywhere.
  const own = sizes.longest = (sizes.capacity ?? SIZES.capacity) - 1;
  // Zeros are numbers and indices alike.
  const table = (bytes: number, count: number): number => {
    const words = Math.ceil(bytes / 4);
    return arena.rows(count, words, new Float32Array(count * words)).table;
  };
  return parameters.map((parameter) => {
    switch (parameter.kind) {
      case "size":
      case "choice":
      case "shape":
        return sizes[parameter.name];
      case "float":
        return 1;
      case "rows": {
        const width = rowWidth(parameter, sizes, kernels, own);
        const count = rowCount(parameter, sizes, kernels);
        return table(rowBytes(parameter.type, width), count);
      }
      case "array": {
        const length = countOf(parameter.length, sizes, kernels);
        const words = Math.ceil(rowBytes(parameter.type, length) / 4);
        const value = parameter.greatest === undefined ? 0 : own;
        return arena.block(new Int32Array(words).fill(value)).address;
      }
      case "tables": {
        const { count, width } = parameter;
        const tables = Array.from(
          { length: sizes[count] },
          () => table(4 * sizes[width], rows),
        );
        return arena.block(Int32Array.from(tables)).address;
      }
    }
  });
}
