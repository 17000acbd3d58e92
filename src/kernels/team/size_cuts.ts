import { assert } from "../../base/assert.ts";
import type { SizeCut } from "../spec/kernel_spec.ts";
import {
  type ArrayParameter,
  type Count,
  countOf,
  type RowsParameter,
} from "../spec/signature.ts";
import {
  type CallArguments,
  type Cut,
  type PartMemory,
  shifted,
  WORD,
} from "./cut.ts";
import type { KernelArguments, Placed } from "./kernel_arguments.ts";

/** What has the size that is cut as leading dimension. */
interface Operand {
  /** Rows of a table that a part has a changed copy of; 0: none. */
  copied(args: CallArguments): number;
  /** Has a part enter at its first; the size is `first` meanwhile: all that lies before the part. */
  enter(args: CallArguments, first: number, memory: PartMemory): void;
}

/** Cuts along a size: a part enters at its first column, or line, whatever has it as leading dimension. */
export function cutAlong(
  kernel: KernelArguments,
  { size, grain }: SizeCut,
): Cut {
  const at = kernel.position(size);
  const grainOf = grainsOf(kernel, grain);
  const operands: readonly Operand[] = [
    ...kernel.arrays.filter(({ parameter }) => parameter.along === size)
      .map((array) => packedOperand(kernel, array)),
    ...kernel.arrays.filter(({ parameter }) => leads(size, parameter.length))
      .map((array) => arrayOperand(kernel, array)),
    ...kernel.rows.filter(({ parameter }) => leads(size, parameter.width))
      .map((table) => rowsOperand(kernel, table)),
  ];
  return {
    pieces(args, { rowsMax, words }) {
      for (let i = 0; i < operands.length; i++) {
        if (operands[i].copied(args) > rowsMax) return 1;
      }
      return Math.ceil(args[at] / grainOf(args, words));
    },
    narrow(args, { from, to }, memory) {
      const each = grainOf(args, memory.words);
      const first = from * each;
      const count = Math.min(args[at], to * each) - first;
      args[at] = first;
      for (let i = 0; i < operands.length; i++) {
        operands[i].enter(args, first, memory);
      }
      args[at] = count;
    },
  };
}

/** How many a piece of a call has. */
export function grainsOf(
  { sizes }: KernelArguments,
  grain: SizeCut["grain"],
): (args: CallArguments, words: Uint32Array) => number {
  return typeof grain === "number"
    ? () => grain
    : (args, words) => grain(sizes.of(args, words));
}

function dimensions(count: Count): readonly (string | number)[] {
  if (typeof count === "function") return [];
  return typeof count === "string" ? [count] : count;
}

function leads(size: string, count: Count): boolean {
  return dimensions(count)[0] === size;
}

/** Bytes of what belongs to one of the leading dimension: the product of the others. */
function bytesOfOne(
  kernel: KernelArguments,
  count: Count,
): (args: CallArguments) => number {
  let bytes = WORD;
  const positions: number[] = [];
  for (const factor of dimensions(count).slice(1)) {
    if (typeof factor === "number") bytes *= factor;
    else positions.push(kernel.position(factor));
  }
  return (args) => {
    let product = bytes;
    for (let i = 0; i < positions.length; i++) product *= args[positions[i]];
    return product;
  };
}

const nothing = () => 0;

function packedOperand(
  { sizes }: KernelArguments,
  { at, parameter: { length } }: Placed<ArrayParameter>,
): Operand {
  return {
    copied: nothing,
    enter(args, _first, { words, kernels }) {
      args[at] += WORD * countOf(length, sizes.of(args, words), kernels);
    },
  };
}

function arrayOperand(
  kernel: KernelArguments,
  { at, parameter }: Placed<ArrayParameter>,
): Operand {
  const bytes = bytesOfOne(kernel, parameter.length);
  return {
    copied: nothing,
    enter(args, first) {
      if (args[at] !== 0) args[at] += first * bytes(args);
    },
  };
}

function rowsOperand(
  kernel: KernelArguments,
  { at, parameter }: Placed<RowsParameter>,
): Operand {
  const { name, type, width, count = "m", transposed } = parameter;
  assert(type === "f32" || type === "i32", `${name} can be entered anywhere`);
  assert(typeof count === "string", `${name} are as many as a size says`);
  const bytes = bytesOfOne(kernel, width);
  const m = kernel.position(count);
  const flag = transposed === undefined ? -1 : kernel.position(transposed);
  /** Whether it is rows that are cut. */
  const isTransposed = (args: CallArguments) => flag >= 0 && args[flag] !== 0;
  return {
    copied: (args) => isTransposed(args) ? 0 : args[m],
    enter(args, first, memory) {
      args[at] = isTransposed(args)
        ? args[at] + WORD * first
        : shifted(args[at], args[m], first * bytes(args), memory);
    },
  };
}
