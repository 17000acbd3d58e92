import { describe } from "../../src/base/describe.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";

/** Words of a tree. */
export function leafCount(tree: ParseTree): number {
  let leaves = 0;
  for (const { node } of preOrder(tree)) if (typeof node === "number") leaves++;
  return leaves;
}

/** Nodes on the longest path from root to leaf: 1 for a lone leaf. */
export function treeDepth(tree: ParseTree): number {
  let deepest = 0;
  for (const { depth } of preOrder(tree)) deepest = Math.max(deepest, depth);
  return deepest;
}

/** Every node with its depth, from 1; without recursion, so that depth is no limit. */
function* preOrder(
  tree: ParseTree,
): Generator<{ node: ParseTree; depth: number }> {
  const open = [{ node: tree, depth: 1 }];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    yield at;
    const { node, depth } = at;
    if (typeof node === "number") continue;
    for (let k = node.length - 1; k >= 0; k--) {
      open.push({ node: node[k], depth: depth + 1 });
    }
  }
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
      fail(at, `expected ".", "(" or ")", got ${describe(mark)}`);
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
  const text: string[] = [];
  let before = 0;
  for (const { node, depth } of preOrder(tree)) {
    text.push(")".repeat(Math.max(0, before - depth)));
    text.push(typeof node === "number" ? "." : "(");
    before = depth;
  }
  text.push(")".repeat(before - 1));
  return text.join("");
}
