/**
 * N-ary TreeLSTM over a parse tree: leaf cells read words, internal cells combine children.
 * Source: Tai, Socher and Manning 2015, section 3.2; Cellular Batching, Fig. 2 and section 7.5
 * (hidden 1024, binary trees, words at the leaves only).
 */
import { defineCell, f32, i32, type PortSpec } from "../graph/cell_builder.ts";
import type { CellNode, Source } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import type { ParseTree } from "../graph/parse_tree.ts";
import { seededWeights, type WeightSource } from "../tensor/weights.ts";
import {
  checkKeys,
  checkObject,
  checkSize,
  checkToken,
  describe,
} from "./checks.ts";

export interface TreeLstmOptions {
  /** Default 1024. */
  hidden?: number;
  /** Default: `hidden`. */
  embedding?: number;
  /** Default 30,000. */
  vocabulary?: number;
  /** Children of every internal node; default 2. */
  arity?: number;
  /** Classes of a classifier over the root; 0 for none. Default 0. */
  classes?: number;
  /** Default: seeded with 1. */
  weights?: WeightSource;
}

export interface TreeLstmInput {
  readonly tree: ParseTree;
}

/** Results: `h` [hidden] of the root, and `logits` [classes] with a classifier. */
export function treeLstm(options: TreeLstmOptions = {}): Model<TreeLstmInput> {
  const name = "treelstm";
  const hidden = checkSize(name, "hidden", options.hidden ?? 1024);
  const embedding = checkSize(name, "embedding", options.embedding ?? hidden);
  const vocabulary = checkSize(
    name,
    "vocabulary",
    options.vocabulary ?? 30_000,
  );
  const arity = checkSize(name, "arity", options.arity ?? 2);
  const classes = options.classes
    ? checkSize(name, "classes", options.classes)
    : 0;
  const weights = options.weights ?? seededWeights(1);

  const table = weights("embedding", [vocabulary, embedding], hidden);
  const leafW = weights("leaf.W", [3 * hidden, embedding], hidden);
  const leafB = weights("leaf.b", [3 * hidden], hidden);
  const leaf = defineCell({
    name: "tree_leaf",
    inputs: { token: i32() },
    body: (op, { token }) =>
      op.TreeLSTMLeaf(op.Gather(table, token), { w: leafW, b: leafB }),
  });

  const gates = 3 + arity;
  const u = weights("node.U", [gates * hidden, arity * hidden], arity * hidden);
  const b = weights("node.b", [gates * hidden], hidden);
  const children = Array.from({ length: arity }, (_, k) => k);
  const inner = defineCell<string, "h" | "c">({
    name: "tree_node",
    recurrent: true,
    // Section 4.3: internal nodes are given preference over leaf nodes.
    priority: 1,
    inputs: Object.fromEntries(
      children.flatMap((
        k,
      ): [string, PortSpec][] => [[`h${k}`, f32(hidden)], [
        `c${k}`,
        f32(hidden),
      ]]),
    ),
    body: (op, ports) =>
      op.TreeLSTMNode(
        children.map((k) => ports[`h${k}`]!),
        children.map((k) => ports[`c${k}`]!),
        { u, b },
      ),
  });
  const head = classes === 0 ? undefined : defineCell({
    name: "tree_head",
    priority: 2,
    inputs: { h: f32(hidden) },
    body: (op, { h }) => ({
      logits: op.Gemm(
        h,
        weights("head.W", [classes, hidden], hidden),
        weights("head.b", [classes], hidden),
      ),
    }),
  });

  return {
    name,
    cells: head ? [leaf, inner, head] : [leaf, inner],
    shape: "dag",
    check(input): asserts input is TreeLstmInput {
      checkObject(name, input);
      checkKeys(name, input, ["tree"]);
      checkTree(name, input["tree"], arity, vocabulary);
    },
    unfold({ tree }, graph) {
      const leaves: number[] = [];
      for (const at of postOrder(tree)) {
        if (typeof at === "number") leaves.push(at);
      }
      const ids = graph.ids(leaves);
      let leafIndex = 0;
      const open: CellNode[] = [];
      for (const at of postOrder(tree)) {
        if (typeof at === "number") {
          open.push(graph.node(leaf, { token: graph.id(ids, leafIndex++) }));
          continue;
        }
        const inputs: Record<string, Source> = {};
        open.splice(open.length - at.length).forEach((child, k) => {
          inputs[`h${k}`] = graph.output(child, "h");
          inputs[`c${k}`] = graph.output(child, "c");
        });
        open.push(graph.node(inner, inputs));
      }
      const h = graph.output(open[0]!, "h");
      graph.result("h", h);
      if (head) {
        graph.result("logits", graph.output(graph.node(head, { h }), "logits"));
      }
    },
  };
}

/** Children before parents, left to right; without recursion, so that depth is no limit. */
function* postOrder(tree: ParseTree): Generator<ParseTree> {
  const stack: { tree: ParseTree; next: number }[] = [{ tree, next: 0 }];
  while (stack.length > 0) {
    const top = stack[stack.length - 1]!;
    if (typeof top.tree === "number" || top.next === top.tree.length) {
      stack.pop();
      yield top.tree;
    } else {
      stack.push({ tree: top.tree[top.next++]!, next: 0 });
    }
  }
}

/** @throws TypeError or RangeError naming the node by its path from the root */
function checkTree(
  model: string,
  tree: unknown,
  arity: number,
  vocabulary: number,
): void {
  const seen = new Set<unknown>();
  const stack: { node: unknown; path: string }[] = [{
    node: tree,
    path: "tree",
  }];
  while (stack.length > 0) {
    const { node, path } = stack.pop()!;
    if (!Array.isArray(node)) {
      if (typeof node !== "number") {
        throw new TypeError(
          `${path} of a request to "${model}" is neither a token id nor an array of children, got ${
            describe(node)
          }`,
        );
      }
      checkToken(model, node, vocabulary, path);
    } else {
      if (node.length !== arity) {
        throw new RangeError(
          `${path} of a request to "${model}" has ${node.length} children, expected ${arity}`,
        );
      }
      if (seen.has(node)) {
        // Also what keeps a small object from unfolding into an exponentially large graph.
        throw new RangeError(
          `${path} of a request to "${model}" occurs twice or contains itself: not a tree`,
        );
      }
      seen.add(node);
      // Last child first, so that errors name the first offender; by index, as forEach skips holes.
      for (let k = arity - 1; k >= 0; k--) {
        stack.push({ node: node[k], path: `${path}[${k}]` });
      }
    }
  }
}
