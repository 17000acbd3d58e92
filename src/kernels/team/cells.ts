/** Cuts of recurrent cells by hidden units, computed by the kernels that take a range of them. */
import {
  type Arguments,
  type Cut,
  type KernelName,
  type PartMemory,
  shifted,
  WORD,
} from "./cut.ts";

/** Units of a whole group of panels in every cell's layout. */
const UNITS = 16;

interface UnitsOptions {
  /** Takes the step's arguments with `first, units` inserted before the third. */
  kernel: KernelName;
  /** Positions, in the kernel's arguments, of tables whose rows start at the first unit. */
  tables: readonly number[];
  /** What else becomes of the kernel's arguments, before the tables are seen to. */
  more?(args: Arguments, bytes: number, memory: PartMemory): void;
}

function byUnits({ kernel, tables, more }: UnitsOptions): Cut {
  return {
    kernel,
    pieces: (args, { rowsMax }) =>
      args[0]! > rowsMax ? 1 : Math.ceil(args[1]! / UNITS),
    narrow(args, { from, to }, memory) {
      const first = from * UNITS;
      args.copyWithin(4, 2);
      args[2] = first;
      args[3] = Math.min(args[1]!, to * UNITS) - first;
      more?.(args, WORD * first, memory);
      for (let i = 0; i < tables.length; i++) {
        const at = tables[i]!;
        args[at] = shifted(args[at]!, args[0]!, WORD * first, memory);
      }
    },
  };
}

/** lstm_units_f32: m, hidden, first, units, kx, x, h, c, w, hOut, cOut. */
export const lstmUnits = byUnits({
  kernel: "lstm_units_f32",
  tables: [7, 9, 10],
});

/** gru_units_f32: m, hidden, first, units, kx, x, h, hUnits, w, hOut. */
export const gruUnits = byUnits({
  kernel: "gru_units_f32",
  tables: [7, 9],
  more(args) {
    args.copyWithin(8, 7);
    args[7] = args[6]!;
  },
});

/** tree_leaf_units_f32: m, hidden, first, units, kx, x, w, hOut, cOut. */
export const treeLeafUnits = byUnits({
  kernel: "tree_leaf_units_f32",
  tables: [7, 8],
});

/** tree_internal_units_f32: m, hidden, first, units, arity, hTables, cTables, w, hOut, cOut. */
export const treeInternalUnits = byUnits({
  kernel: "tree_internal_units_f32",
  tables: [8, 9],
  more(args, bytes, memory) {
    args[6] = shiftedList(args, 6, bytes, memory);
  },
});

/** An array of the addresses of tables whose rows start `bytes` later. */
function shiftedList(
  args: Arguments,
  at: number,
  bytes: number,
  memory: PartMemory,
): number {
  const [rows, arity] = [args[0]!, args[4]!];
  const list = memory.take(arity);
  for (let child = 0; child < arity; child++) {
    memory.words[(list >>> 2) + child] = shifted(
      memory.words[(args[at]! >>> 2) + child]!,
      rows,
      bytes,
      memory,
    );
  }
  return list;
}

/** tree_internal_f32 (m, hidden, arity, hTables, cTables, w, hOut, cOut) by rows. */
export const treeInternalRows: Cut = {
  pieces: (args) => args[0]!,
  narrow(args, { from, to }, memory) {
    const bytes = WORD * from;
    args[0] = to - from;
    args[3] = enteredList(args, 3, bytes, memory);
    args[4] = enteredList(args, 4, bytes, memory);
    args[6] = args[6]! + bytes;
    args[7] = args[7]! + bytes;
  },
};

/** An array of the addresses of tables, each entered `bytes` further on. */
function enteredList(
  args: Arguments,
  at: number,
  bytes: number,
  memory: PartMemory,
): number {
  const arity = args[2]!;
  const list = memory.take(arity);
  for (let child = 0; child < arity; child++) {
    memory.words[(list >>> 2) + child] =
      memory.words[(args[at]! >>> 2) + child]! + bytes;
  }
  return list;
}
