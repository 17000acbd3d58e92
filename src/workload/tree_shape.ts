import type { ParseTree } from "../graph/parse_tree.ts";

/** Words of a tree. */
export function leafCount(tree: ParseTree): number {
  if (typeof tree === "number") return 1;
  return tree.reduce<number>((sum, child) => sum + leafCount(child), 0);
}

/** Nodes on the longest path from root to leaf: 1 for a lone leaf. */
export function treeDepth(tree: ParseTree): number {
  if (typeof tree === "number") return 1;
  return 1 + Math.max(...tree.map(treeDepth));
}

/** A complete binary tree; the shape of Cellular Batching's Fig. 15 with 16 leaves. */
export function completeTree(
  leaves: number,
  leaf: () => number = () => 0,
): ParseTree {
  if (
    !(Number.isInteger(leaves) && leaves >= 1 &&
      Number.isInteger(Math.log2(leaves)))
  ) {
    throw new RangeError(
      `A complete binary tree has 1, 2, 4, 8, ... leaves, got ${leaves}`,
    );
  }
  if (leaves === 1) return leaf();
  return [completeTree(leaves / 2, leaf), completeTree(leaves / 2, leaf)];
}

/**
 * Reads a shape in one line: `.` is a leaf, `(` children `)` an internal node, e.g. `(.(..))`.
 * @param leaf gives the token id of each leaf, left to right; default 0
 * @throws SyntaxError naming the column (from 1) where the text stops being a tree
 */
export function parseTreeShape(
  text: string,
  leaf: () => number = () => 0,
): ParseTree {
  const fail = (column: number, what: string): never => {
    throw new SyntaxError(`Tree shape, column ${column + 1}: ${what}`);
  };
  const open: ParseTree[][] = [];
  let root: ParseTree | undefined;
  for (let at = 0; at < text.length; at++) {
    const mark = text[at];
    if (root !== undefined) fail(at, `"${mark}" after the end of the tree`);
    let done: ParseTree | undefined;
    if (mark === "(") {
      open.push([]);
    } else if (mark === ".") {
      done = leaf();
    } else if (mark === ")") {
      done = open.pop() ?? fail(at, '")" without "("');
      if ((done as readonly ParseTree[]).length === 0) {
        fail(at, "an internal node has children");
      }
    } else {
      fail(at, `expected ".", "(" or ")", got ${JSON.stringify(mark)}`);
    }
    if (done === undefined) continue;
    const parent = open.at(-1);
    if (parent === undefined) root = done;
    else parent.push(done);
  }
  if (root === undefined) {
    return fail(
      text.length,
      open.length > 0 ? `${open.length} "(" not closed` : "no tree",
    );
  }
  return root;
}

/** The shape of a tree in one line; inverse of `parseTreeShape`. */
export function formatTreeShape(tree: ParseTree): string {
  return typeof tree === "number"
    ? "."
    : `(${tree.map(formatTreeShape).join("")})`;
}
