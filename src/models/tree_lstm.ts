/**
 * N-ary TreeLSTM over a parse tree: leaf cells read words, internal cells combine children.
 * Source: Tai, Socher and Manning 2015, section 3.2; Cellular Batching, Fig. 2 and section 7.5
 * (hidden 1024, binary trees, words at the leaves only).
 */
import { defineCell, f32, i32, type PortSpec } from "../graph/cell_builder.ts";
import type { CellNode, Source } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import type { Classified } from "./classified.ts";
import type { ParseTree } from "../graph/parse_tree.ts";
import { nodesMaxFor } from "../graph/nodes_max.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import {
  checkKeys,
  checkObject,
  checkOptionalSize,
  checkOptions,
  checkSize,
  LENGTH_MAX,
} from "./checks.ts";
import { INNER, readTree } from "./tree_input.ts";

/** Sizes are positive integers. */
export interface TreeLstmOptions {
  /** Units of a node's state; default 1024. */
  hidden?: number;
  /** Width of a token's embedding; default: `hidden`. */
  embedding?: number;
  /** Number of token ids; default 30,000. */
  vocabulary?: number;
  /** Children of every internal node, 1 to 8; default 2. */
  arity?: number;
  /** Classes of a classifier over the root; 0 for none. Default 0. */
  classes?: number;
  /** Most leaves of a tree, and most internal nodes; default 16,384. */
  leavesMax?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const TREE_LSTM_OPTIONS = [
  "hidden",
  "embedding",
  "vocabulary",
  "arity",
  "classes",
  "leavesMax",
] as const satisfies readonly (keyof TreeLstmOptions)[];

/** What a request to `treeLstm` brings. */
export interface TreeLstmInput {
  /** Token ids at the leaves, `arity` children at every internal node; at most `leavesMax` leaves. */
  readonly tree: ParseTree;
}

/** What a TreeLSTM's results are, by the number of classes. */
export type TreeLstmOutputs<Classes extends number = number> =
  & { readonly h: "f32" }
  & Classified<Classes>;

/**
 * N-ary TreeLSTM over a parse tree: leaf cells read words, internal cells combine children.
 * Source: Tai, Socher and Manning 2015, section 3.2; Cellular Batching, Fig. 2 and section 7.5.
 *
 * Results: `h` [hidden] of the root, and `logits` [classes] with a classifier.
 *
 * Cells: `tree_leaf`, `tree_node`, `tree_head`. Tensors: `embedding` [vocabulary, embedding], `leaf.W`
 * [3 hidden, embedding], `leaf.b`, gates i, o, u; `node.U` [(3 + arity) hidden, arity hidden], `node.b`, gates i,
 * f_1, ..., f_arity, o, u; `head.W` [classes, hidden], `head.b`.
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { treeLstm, type Model } from "@shoal/core";
 *
 * const model: Model = treeLstm({ hidden: 8, vocabulary: 100, classes: 5 });
 * model.check({ tree: [[4, 8], [15, [16, 23]]] });
 * assert.throws(() => model.check({ tree: [1, 2, 3] }), /3 children, expected 2/);
 * ```
 */
export function treeLstm<Classes extends number = 0>(
  options: TreeLstmOptions & { classes?: Classes } = {},
): Model<TreeLstmInput, TreeLstmOutputs<Classes>> {
  const name = "treelstm";
  checkOptions(name, options, TREE_LSTM_OPTIONS);
  const hidden = checkSize(name, "hidden", options.hidden ?? 1024);
  const embedding = checkSize(name, "embedding", options.embedding ?? hidden);
  const vocabulary = checkSize(
    name,
    "vocabulary",
    options.vocabulary ?? 30_000,
  );
  const arity = checkSize(name, "arity", options.arity ?? 2);
  const classes = checkOptionalSize(name, "classes", options.classes);
  const leavesMax = checkSize(
    name,
    "leavesMax",
    options.leavesMax ?? LENGTH_MAX,
  );
  const limits = { arity, vocabulary, leavesMax };
  const weights = checkedWeights(name, options.weights ?? seededWeights(1));

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
        children.map((k) => ports[`h${k}`]),
        children.map((k) => ports[`c${k}`]),
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
    outputs: {
      h: "f32",
      ...(head && { logits: "f32" }),
    } as TreeLstmOutputs<Classes>,
    nodesMax: nodesMaxFor(2 * leavesMax + 1),
    check(input): asserts input is TreeLstmInput {
      checkObject(name, input);
      checkKeys(name, input, ["tree"]);
      readTree(name, input["tree"], limits);
    },
    unfold({ tree }, graph) {
      const order = readTree(name, tree, limits);
      const ids = graph.ids(order.filter((token) => token !== INNER));
      let leaves = 0;
      const open: CellNode[] = [];
      for (const token of order) {
        if (token !== INNER) {
          open.push(graph.node(leaf, { token: graph.id(ids, leaves++) }));
          continue;
        }
        const inputs: Record<string, Source> = {};
        const first = open.length - arity;
        for (const k of children) {
          inputs[`h${k}`] = graph.output(open[first + k], "h");
          inputs[`c${k}`] = graph.output(open[first + k], "c");
        }
        open.length = first;
        open.push(graph.node(inner, inputs));
      }
      const h = graph.output(open[0], "h");
      graph.result("h", h);
      if (head) {
        graph.result("logits", graph.output(graph.node(head, { h }), "logits"));
      }
    },
  };
}
