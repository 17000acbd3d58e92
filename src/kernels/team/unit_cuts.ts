import { assert } from "../../base/assert.ts";
import type { UnitsCut } from "../spec/kernel_spec.ts";
import type { TablesParameter } from "../spec/signature.ts";
import {
  type CallArguments,
  type Cut,
  type PartMemory,
  shifted,
  WORD,
} from "./cut.ts";
import { KernelArguments, type Placed } from "./kernel_arguments.ts";

/** Units of a whole group of panels in every cell's layout. */
const UNITS = 16;

/** Cuts a cell's step by hidden units, computed by the kernel that takes a range of them. */
export function cutUnits(
  step: KernelArguments,
  { kernel, from: others }: UnitsCut,
): Cut {
  const range = new KernelArguments(kernel);
  const [m, hidden, first, units] = ["m", "hidden", "first", "units"]
    .map((name) => range.position(name));
  assert(
    step.position("m") === m && step.position("hidden") === hidden,
    `${kernel} starts as ${step.kernel} does`,
  );
  /** Position in the step's arguments of each of the kernel's. */
  const sources = range.parameters.map(({ name }, at) =>
    at === first || at === units ? at : step.position(others[name] ?? name)
  );
  assert(
    sources.every((source, at) => source <= at),
    `${kernel} takes the arguments of ${step.kernel} in their order`,
  );
  const tables = range.rows
    .filter(({ parameter }) => parameter.width === "units")
    .map(({ at }) => at);
  const lists = range.tables
    .filter(({ parameter }) => parameter.width === "units")
    .map((list) => shiftList(range, list));
  return {
    kernel,
    pieces: (args, memory) =>
      args[m] > memory.rowsMax || !step.fits(args, memory)
        ? 1
        : Math.ceil(args[hidden] / UNITS),
    narrow(args, { from, to }, memory) {
      // Nobody's source lies behind it: from the last one on, none is overwritten before it is read.
      for (let at = sources.length - 1; at >= 0; at--) {
        args[at] = args[sources[at]];
      }
      args[first] = from * UNITS;
      args[units] = Math.min(args[hidden], to * UNITS) - args[first];
      const bytes = WORD * args[first];
      for (let i = 0; i < lists.length; i++) lists[i](args, bytes, memory);
      for (let i = 0; i < tables.length; i++) {
        const at = tables[i];
        args[at] = shifted(args[at], args[m], bytes, memory);
      }
      range.useScratch(args, memory);
    },
  };
}

/** Replaces an array of tables by one of tables whose rows start `bytes` later. */
function shiftList(
  kernel: KernelArguments,
  { at, parameter }: Placed<TablesParameter>,
): (args: CallArguments, bytes: number, memory: PartMemory) => void {
  const m = kernel.position("m");
  const count = kernel.position(parameter.count);
  return (args, bytes, memory) => {
    const { words } = memory;
    const tables = args[at] >>> 2;
    args[at] = memory.take(args[count]);
    for (let i = 0, to = args[at] >>> 2; i < args[count]; i++) {
      words[to + i] = shifted(words[tables + i], args[m], bytes, memory);
    }
  };
}
