import type { SizeCut } from "../spec/kernel_spec.ts";
import { type Cut, WORD } from "./cut.ts";
import type { KernelArguments } from "./kernel_arguments.ts";
import { grainsOf } from "./size_cuts.ts";

/**
 * A cut within rows of which each has a greatest element: each part leaves the greatest of its columns;
 * the first of the greatest wins, as in the whole. A row's partial results: a table of the indices'
 * addresses, then indices, then maxima, m words each.
 */
export function bestOfParts(
  kernel: KernelArguments,
  { grain, best }: SizeCut & Required<Pick<SizeCut, "best">>,
  cut: Cut,
): Cut {
  const [rows, index, greatest] = ["m", best.index, best.greatest]
    .map((name) => kernel.position(name));
  const grainOf = grainsOf(kernel, grain);
  return {
    ...cut,
    narrow(args, part, memory) {
      cut.narrow(args, part, memory);
      const m = args[rows];
      const table = memory.partials(part.index);
      const indices = table + WORD * m;
      for (let i = 0; i < m; i++) {
        memory.words[(table >>> 2) + i] = indices + WORD * i;
      }
      args[index] = table;
      args[greatest] = indices + WORD * m;
    },
    join(args, parts, { words, floats, partials }) {
      const m = args[rows];
      const each = grainOf(args, words);
      const [indices, maxima] = [args[index] >>> 2, args[greatest] >>> 2];
      for (let i = 0; i < m; i++) {
        let most = -Infinity;
        let best = 0;
        for (let part = 0; part < parts.length; part++) {
          if (parts[part].from === parts[part].to) continue;
          const at = (partials(part) >>> 2) + m + i;
          const value = floats[at + m];
          if (value > most) {
            most = value;
            best = parts[part].from * each + words[at];
          }
        }
        words[words[indices + i] >>> 2] = best;
        floats[maxima + i] = most;
      }
    },
  };
}
