/** Requests of tree networks. */
import { describe, isList } from "../base/describe.ts";
import { checkToken } from "./checks.ts";

/** Limits of a model on its trees. */
export interface TreeLimits {
  /** Children of every internal node. */
  readonly arity: number;
  /** Token ids of leaves are below this. */
  readonly vocabulary: number;
  /** Most leaves, and most internal nodes. */
  readonly leavesMax: number;
}

/** Stands for an internal node, whose children are the last ones before it. */
export const INNER = -1;

/** An internal node on the way from the root. */
interface Open {
  readonly children: readonly unknown[];
  /** Children that were taken so far. */
  taken: number;
}

/**
 * A tree's nodes, children before parents, left to right: token ids of leaves, and INNER. Read in one walk,
 * without recursion, so that depth is no limit; in `check`, and again in `unfold`, because what a proxy
 * answers may be something else by then. The walk ends where the tree is larger than it may be.
 * @throws TypeError or RangeError naming the node by its path from the root
 */
export function readTree(
  model: string,
  tree: unknown,
  { arity, vocabulary, leavesMax }: TreeLimits,
): number[] {
  const order: number[] = [];
  /** From the root to the parent of `node`. */
  const open: Open[] = [];
  const seen = new Set<unknown>();
  let leaves = 0;
  for (let node = tree;;) {
    if (isList(node)) {
      checkInner(node);
      open.push({ children: node, taken: 0 });
    } else {
      order.push(checkedLeaf(node));
    }
    while (open.length > 0 && open[open.length - 1].taken === arity) {
      open.pop();
      order.push(INNER);
    }
    const parent = open[open.length - 1];
    if (parent === undefined) return order;
    node = parent.children[parent.taken++];
  }

  function checkInner(node: readonly unknown[]): void {
    if (node.length !== arity) {
      throw new RangeError(
        `${pathOf(open)} of a request to "${model}" has ${
          describe(node.length)
        } children, expected ${arity}`,
      );
    }
    if (seen.has(node)) {
      // Also what keeps a small object from unfolding into an exponentially large graph.
      throw new RangeError(
        `${
          pathOf(open)
        } of a request to "${model}" occurs twice or contains itself: not a tree`,
      );
    }
    seen.add(node);
    if (arity === 1) checkCount(seen.size, "internal nodes");
    // Each internal node adds what it has more of leaves than the one that it stands for.
    else checkCount(1 + seen.size * (arity - 1), "leaves");
  }

  function checkedLeaf(node: unknown): number {
    if (typeof node !== "number") {
      throw new TypeError(
        `${
          pathOf(open)
        } of a request to "${model}" is neither a token id nor an array of children, got ${
          describe(node)
        }`,
      );
    }
    if (!(Number.isInteger(node) && node >= 0 && node < vocabulary)) {
      checkToken(model, node, vocabulary, pathOf(open));
    }
    checkCount(++leaves, "leaves");
    return node;
  }

  function checkCount(count: number, what: string): void {
    if (count <= leavesMax) return;
    throw new RangeError(
      `"tree" of a request to "${model}" has ${count} ${what} or more; ` +
        `the model takes up to ${leavesMax} (its option "leavesMax")`,
    );
  }
}

/** Steps of a path that a message shows at either end. */
const PATH_SHOWN = 8;

/** Where the next node lies, such as `tree[0][1]`; of a long way from the root its two ends. */
function pathOf(open: readonly Open[]): string {
  const steps = (from: number, to: number) =>
    open.slice(from, to).map(({ taken }) => `[${taken - 1}]`).join("");
  const left = open.length - 2 * PATH_SHOWN;
  return left <= 0
    ? `tree${steps(0, open.length)}`
    : `tree${steps(0, PATH_SHOWN)} (${left} levels) ${
      steps(open.length - PATH_SHOWN, open.length)
    }`;
}
