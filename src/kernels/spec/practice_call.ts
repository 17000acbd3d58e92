/** Small calls of any kernel, made from its signature: something to run where results do not matter. */
import type { Arena } from "../host/arena.ts";
import { imageShape } from "../../tensor/image_shape.ts";
import { shapeWords } from "../pack/image_words.ts";
import type { KernelExports } from "../module/exports.ts";
import type { KernelName, Parameter, Sizes } from "./signature.ts";
import { rowBytes } from "./signature.ts";
import { SIGNATURES } from "./signatures.ts";

/** Sizes by name; one full group of panels, a panel beyond it, and K of some unrolled steps. */
const SIZES: Sizes = {
  n: 40,
  k: 64,
  k1: 64,
  k2: 0,
  hidden: 40,
  first: 0,
  units: 40,
  kx: 24,
  arity: 2,
  zero: 64,
  heads: 2,
  kvHeads: 2,
  headSize: 40,
  capacity: 64,
  keyWidth: 40,
  valueWidth: 40,
  bytes: 160,
  rowBytes: 160,
  count: 4,
  lines: 4,
  pieces: 4,
  aLine: 640,
  aPiece: 160,
  outLine: 640,
  outPiece: 160,
  height: 4,
  width: 4,
  channels: 40,
  outHeight: 6,
  outWidth: 6,
};

/** topk_rows_f32 asks for fewer than there are. */
const TOP = 4;

function sizeOf(
  kernel: KernelName,
  name: string,
  { rows, sizes }: Practice,
): number {
  if (name === "m") return rows;
  if (name === "k" && kernel === "topk_rows_f32") return TOP;
  const value = sizes?.[name] ?? SIZES[name];
  if (value === undefined) {
    throw new Error(`No size to practise ${kernel} with: ${name}`);
  }
  return value;
}

/** Where and how to make a practice call. */
export interface Practice {
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
  const signature: readonly Parameter[] = SIGNATURES[kernel];
  const sizes: Record<string, number> = {};
  for (const parameter of signature) {
    const { kind, name } = parameter;
    if (kind === "size") sizes[name] = sizeOf(kernel, name, practice);
    if (kind === "choice") {
      const values = Object.values(parameter.choices);
      sizes[name] = values[choice % values.length]!;
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
      Object.assign(sizes, {
        ...shape,
        kernelHeight: 3,
        kernelWidth: 3,
        strideHeight: 1,
        strideWidth: 1,
      });
    }
  }
  // What lengths and positions are at most, and here everywhere.
  sizes.each = sizes.longest = SIZES.capacity! - 1;
  // Zeros are numbers and indices alike.
  const zeros = (bytes: number): number => {
    const at = arena.reserve(bytes);
    new Uint8Array(arena.memory.buffer, at, bytes).fill(0);
    return at;
  };
  const table = (bytes: number, count: number): number =>
    arena.rowsAt(
      Array.from({ length: count }, () => zeros(bytes)),
      bytes / 4,
      "f32",
    ).table;
  return signature.map((parameter) => {
    const { kind, name } = parameter;
    switch (kind) {
      case "size":
      case "choice":
      case "shape":
        return sizes[name]!;
      case "float":
        return 1;
      case "rows": {
        const { type, width, count } = parameter;
        const bytes = Math.ceil(rowBytes(type, width(sizes, kernels)) / 4) * 4;
        return table(bytes, count ? count(sizes, kernels) : rows);
      }
      case "array": {
        const length = parameter.length(sizes, kernels);
        if (parameter.greatest === undefined) {
          return zeros(rowBytes(parameter.type, length));
        }
        const lengths = new Int32Array(length).fill(sizes.each!);
        return arena.block(lengths).address;
      }
      case "tables": {
        const { count, width } = parameter;
        const bytes = 4 * width(sizes, kernels);
        const tables = Array.from(
          { length: count(sizes, kernels) },
          () => table(bytes, rows),
        );
        return arena.block(Int32Array.from(tables)).address;
      }
    }
  });
}
