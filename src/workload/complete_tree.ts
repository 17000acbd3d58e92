import { describe } from "../base/describe.ts";
import { log2 } from "../base/elementary/logarithm.ts";
import type { ParseTree } from "../graph/parse_tree.ts";

/** A complete binary tree; the shape of Cellular Batching's Fig. 15 with 16 leaves. */
export function completeTree(
  leaves: number,
  leaf: () => number = () => 0,
): ParseTree {
  if (
    !(Number.isInteger(leaves) && leaves >= 1 &&
      Number.isInteger(log2(leaves)))
  ) {
    throw new RangeError(
      `A complete binary tree has 1, 2, 4, 8, ... leaves, got ${
        describe(leaves)
      }`,
    );
  }
  if (leaves === 1) return leaf();
  return [completeTree(leaves / 2, leaf), completeTree(leaves / 2, leaf)];
}
