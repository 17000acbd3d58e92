import type { RowsCut } from "../spec/kernel_spec.ts";
import { type CallArguments, type Cut, type PartMemory, WORD } from "./cut.ts";
import type { KernelArguments, Placed } from "./kernel_arguments.ts";
import type { TablesParameter } from "../spec/signature.ts";

/** Cuts the batch: a part enters further on whatever has something for every row. */
export function cutRows(kernel: KernelArguments, { grain }: RowsCut): Cut {
  const m = kernel.position("m");
  const entered = [
    ...kernel.rows.filter(({ parameter }) => parameter.count === undefined),
    ...kernel.arrays.filter(({ parameter }) => parameter.length === "m"),
  ].map(({ at }) => at);
  const lists = kernel.tables.map((list) => enterList(kernel, list));
  return {
    pieces: (args, memory) =>
      kernel.fits(args, memory) ? Math.ceil(args[m] / grain) : 1,
    narrow(args, { from, to }, memory) {
      const first = from * grain;
      args[m] = Math.min(args[m], to * grain) - first;
      for (let i = 0; i < entered.length; i++) {
        const at = entered[i];
        if (args[at] !== 0) args[at] += WORD * first;
      }
      for (let i = 0; i < lists.length; i++) {
        lists[i](args, WORD * first, memory);
      }
      kernel.useScratch(args, memory);
    },
  };
}

/** Replaces an array of tables by one of the same tables, each entered `bytes` further on. */
function enterList(
  kernel: KernelArguments,
  { at, parameter }: Placed<TablesParameter>,
): (args: CallArguments, bytes: number, memory: PartMemory) => void {
  const count = kernel.position(parameter.count);
  return (args, bytes, { words, take }) => {
    const tables = args[at] >>> 2;
    args[at] = take(args[count]);
    for (let i = 0, to = args[at] >>> 2; i < args[count]; i++) {
      words[to + i] = words[tables + i] + bytes;
    }
  };
}
