/** Cuts of kernels whose arguments follow no common pattern. */
import { type Cut, shifted, WORD } from "./cut.ts";

const PANEL = 8;
/** Columns of a whole group of panels. */
const GROUP = 32;

/** pack_gemm_f32 by columns: n, k, b, transposed, w. */
export const packColumns: Cut = {
  // Rows of a transposed operand are columns; else every one of k rows is entered further on.
  pieces: (args, { rowsMax }) =>
    args[3] === 0 && args[1]! > rowsMax ? 1 : Math.ceil(args[0]! / GROUP),
  narrow(args, { from, to }, memory) {
    const first = from * GROUP;
    const k = args[1]!;
    args[0] = Math.min(args[0]!, to * GROUP) - first;
    args[2] = args[3] === 0
      ? shifted(args[2]!, k, WORD * first, memory)
      : args[2]! + WORD * first;
    args[4] = args[4]! + first / PANEL * 32 * (1 + k);
  },
};

/** Resizing by lines of the result, `lineBytes` for each in its table. */
export function resizeLines(lineBytes: number): Cut {
  return {
    pieces: (args, { rowsMax }) => args[0]! > rowsMax ? 1 : args[4]!,
    narrow(args, { from, to }, memory) {
      args[4] = to - from;
      args[7] = args[7]! + lineBytes * from;
      const bytes = WORD * from * args[5]! * args[3]!;
      args[9] = shifted(args[9]!, args[0]!, bytes, memory);
    },
  };
}

/**
 * Projection with arg-max by columns: m, n, k, a, w, ids, logits, best. Each part leaves the greatest
 * of its columns; the first of the greatest wins, as in the whole. A row's partial results: a table of
 * the ids' addresses, then ids, then maxima, m words each.
 */
export const projectionColumns: Cut = {
  pieces: (args, { rowsMax }) =>
    args[0]! > rowsMax ? 1 : Math.ceil(args[1]! / GROUP),
  narrow(args, { index, from, to }, memory) {
    const m = args[0]!;
    const first = from * GROUP;
    args[1] = Math.min(args[1]!, to * GROUP) - first;
    args[4] = args[4]! + first / PANEL * 32 * (1 + args[2]!);
    args[6] = shifted(args[6]!, m, WORD * first, memory);
    const table = memory.partials(index);
    const ids = table + WORD * m;
    for (let i = 0; i < m; i++) {
      memory.words[(table >>> 2) + i] = ids + WORD * i;
    }
    args[5] = table;
    args[7] = ids + WORD * m;
  },
  join(args, parts, { words, floats, partials }) {
    const m = args[0]!;
    const [ids, best] = [args[5]! >>> 2, args[7]! >>> 2];
    for (let i = 0; i < m; i++) {
      let greatest = -Infinity;
      let id = 0;
      for (let part = 0; part < parts.length; part++) {
        if (parts[part]!.from === parts[part]!.to) continue;
        const at = (partials(part) >>> 2) + m + i;
        const value = floats[at + m]!;
        if (value > greatest) {
          greatest = value;
          id = parts[part]!.from * GROUP + words[at]!;
        }
      }
      words[words[ids + i]! >>> 2] = id;
      floats[best + i] = greatest;
    }
  },
};
