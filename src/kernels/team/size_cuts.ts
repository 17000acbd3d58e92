import { assert } from "../../base/assert.ts";
import type { SizeCut } from "../spec/kernel_spec.ts";
import {
  type ArrayParameter,
  countOf,
  type Extent,
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

/** Has a part enter an operand, whose own size is `first` at the time: all that lies before the part. */
type Enter = (args: CallArguments, first: number, memory: PartMemory) => void;

/** Cuts along a size: a part enters at its first column, or line, whatever has it as leading dimension. */
export function bySize(
  kernel: KernelArguments,
  { size, grain }: SizeCut,
): Cut {
  const at = kernel.position(size);
  const rows = kernel.rows.filter(({ parameter }) =>
    leads(size, parameter.width)
  );
  const entered: readonly Enter[] = [
    ...kernel.arrays.filter(({ parameter }) => parameter.along === size)
      .map((array) => enterPacked(kernel, array)),
    ...kernel.arrays.filter(({ parameter }) => leads(size, parameter.length))
      .map((array) => enterArray(kernel, array)),
    ...rows.map((table) => enterRows(kernel, table)),
  ];
  const copied = rows.map((table) => copiedRows(kernel, table));
  return {
    pieces(args, { rowsMax }) {
      for (let i = 0; i < copied.length; i++) {
        if (copied[i](args) > rowsMax) return 1;
      }
      return Math.ceil(args[at] / grain);
    },
    narrow(args, { from, to }, memory) {
      const first = from * grain;
      const count = Math.min(args[at], to * grain) - first;
      args[at] = first;
      for (let i = 0; i < entered.length; i++) entered[i](args, first, memory);
      args[at] = count;
    },
  };
}

/** Whether the size is the leading dimension. */
function leads(size: string, extent: Extent): boolean {
  return typeof extent !== "function" && dimensions(extent)[0] === size;
}

function dimensions(extent: Exclude<Extent, CallableFunction>) {
  return typeof extent === "string" ? [extent] : extent;
}

/** Bytes of what belongs to one of the leading dimension: the product of the others. */
function bytesOfOne(
  kernel: KernelArguments,
  extent: Extent,
): (args: CallArguments) => number {
  assert(typeof extent !== "function", "a leading dimension is one of several");
  const others = dimensions(extent).slice(1);
  const positions = others.filter((factor) => typeof factor === "string")
    .map((name) => kernel.position(name));
  const bytes = others.filter((factor) => typeof factor === "number")
    .reduce((product, factor) => product * factor, WORD);
  return (args) => {
    let product = bytes;
    for (let i = 0; i < positions.length; i++) product *= args[positions[i]];
    return product;
  };
}

function enterPacked(
  { sizes }: KernelArguments,
  { at, parameter: { length } }: Placed<ArrayParameter>,
): Enter {
  return (args, _first, memory) => {
    args[at] += WORD *
      countOf(length, sizes.of(args, memory.words), memory.kernels);
  };
}

function enterArray(
  kernel: KernelArguments,
  { at, parameter }: Placed<ArrayParameter>,
): Enter {
  const bytes = bytesOfOne(kernel, parameter.length);
  return (args, first) => {
    if (args[at] !== 0) args[at] += first * bytes(args);
  };
}

function enterRows(
  kernel: KernelArguments,
  { at, parameter }: Placed<RowsParameter>,
): Enter {
  const { name, type, width, transposed } = parameter;
  assert(type === "f32" || type === "i32", `${name} can be entered anywhere`);
  const bytes = bytesOfOne(kernel, width);
  const rows = kernel.position(parameter.count as string ?? "m");
  const flag = transposed === undefined ? -1 : kernel.position(transposed);
  return (args, first, memory) => {
    args[at] = flag >= 0 && args[flag] !== 0
      // Then it is rows that are cut.
      ? args[at] + WORD * first
      : shifted(args[at], args[rows], first * bytes(args), memory);
  };
}

/** Rows of a table of which a part has a changed copy. */
function copiedRows(
  kernel: KernelArguments,
  { parameter: { count, transposed } }: Placed<RowsParameter>,
): (args: CallArguments) => number {
  const rows = kernel.position(count as string ?? "m");
  const flag = transposed === undefined ? -1 : kernel.position(transposed);
  return (args) => flag >= 0 && args[flag] !== 0 ? 0 : args[rows];
}
