/**
 * Parse trees with the shapes of the Stanford Sentiment Treebank, from measured counts.
 * A tree's number of leaves follows the treebank's histogram. An internal node over n leaves gives k
 * of them to its left child as often as nodes over n leaves do in the treebank, whatever lies above
 * it. That keeps leaf counts and every node's split exact. Depth is not fitted, it follows: measured
 * over the seeded generator, mean 10.9 and p99 20 against 10.83 and 21.
 */
import { describe } from "../base/describe.ts";
import type { Prng } from "../base/prng.ts";
import type { ParseTree } from "../graph/parse_tree.ts";
import { SST_SHAPES } from "./corpora/sst_shapes.ts";
import { Histogram, JointHistogram } from "./histogram.ts";
import { completeTree } from "./complete_tree.ts";

/** Leaves of a complete tree: the treebank's largest has 52. */
const LEAVES_MAX = 65_536;

export interface TreeSampler {
  readonly name: string;
  /** @param leaf gives the token id of each leaf, left to right */
  sample(prng: Prng, leaf: () => number): ParseTree;
}

/** Trees with the shapes of the treebank: 2 to 52 leaves, mean 19.14. */
export function treebankTrees(): TreeSampler {
  const leaves = new Histogram(SST_SHAPES.leaves);
  const splits = new JointHistogram(SST_SHAPES.splits);
  const grow = (size: number, prng: Prng, leaf: () => number): ParseTree => {
    if (size === 1) return leaf();
    const left = splits.sampleGiven(size, prng);
    return [grow(left, prng, leaf), grow(size - left, prng, leaf)];
  };
  return {
    name: SST_SHAPES.name,
    sample: (prng, leaf) => grow(leaves.sample(prng), prng, leaf),
  };
}

/** The same complete binary tree for every request (Cellular Batching, Fig. 15: 16 leaves). */
export function completeTrees(leaves: number): TreeSampler {
  if (typeof leaves !== "number" || !(leaves <= LEAVES_MAX)) {
    throw new RangeError(
      `A complete binary tree has 1, 2, 4, 8, ... leaves up to ${LEAVES_MAX}, got ${
        describe(leaves)
      }`,
    );
  }
  completeTree(leaves);
  return {
    name: `complete ${leaves}`,
    sample: (_prng, leaf) => completeTree(leaves, leaf),
  };
}

/** Trees as a configuration names them. */
export type TreesSpec = string | { readonly complete: number };

/** @throws TypeError or RangeError naming what the configuration got wrong */
export function treeSampler(spec: TreesSpec): TreeSampler {
  if (spec === SST_SHAPES.name) return treebankTrees();
  if (
    typeof spec === "object" && spec !== null &&
    Object.keys(spec).join() === "complete"
  ) {
    return completeTrees(spec.complete);
  }
  throw new TypeError(
    `Trees are "${SST_SHAPES.name}" or { complete: leaves }, got ${
      describe(spec)
    }`,
  );
}
