/** Planning a slot takes work in proportion to the graph, whatever its shape. Work is counted, not timed. */
import assert from "node:assert/strict";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import { CellGraph, type CellNode } from "../../src/graph/cell_graph.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import { SlotPlan } from "../../src/graph/slot_plan.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { shapesOnly } from "../../src/tensor/weights.ts";

const start = defineCell({
  name: "start",
  inputs: {},
  body: (op) => ({ y: op.Constant([1, 2]) }),
});
const one = defineCell({
  name: "one",
  inputs: { a: f32(2) },
  body: (op, { a }) => ({ y: op.Relu(a) }),
});
/** Rows of two sizes: what is freed has to be joined and cut up. */
const two = defineCell({
  name: "two",
  inputs: { a: f32(2), b: f32(2) },
  body: (op, { a, b }) => ({
    y: op.Add(a, b),
    z: op.Concat(a, b, a, b, a, b),
  }),
});
const trees = treeLstm({
  hidden: 2,
  vocabulary: 2,
  leavesMax: 1 << 17,
  weights: shapesOnly(),
});

function ofTree(tree: ParseTree): CellGraph {
  const graph = new CellGraph(trees);
  trees.unfold({ tree }, graph);
  return graph;
}

/** A tree as deep as it has leaves. */
function deep(leaves: number, isLeft: boolean): ParseTree {
  let tree: ParseTree = 1;
  for (let i = 1; i < leaves; i++) tree = isLeft ? [tree, 1] : [1, tree];
  return tree;
}

function balanced(depth: number): ParseTree {
  return depth === 0 ? 1 : [balanced(depth - 1), balanced(depth - 1)];
}

/** Appends nodes to a graph that begins with one of `start`. */
function graphOf(
  append: (
    first: CellNode,
    node: (...reads: CellNode[]) => CellNode,
  ) => void,
): CellGraph {
  const graph = new CellGraph({ name: "shapes", cells: [start, one, two] });
  append(graph.node(start, {}), (a, b) => {
    const source = graph.output(a, "y");
    return b
      ? graph.node(two, { a: source, b: graph.output(b, "y") })
      : graph.node(one, { a: source });
  });
  return graph;
}

const shapes: Record<string, (size: number) => CellGraph> = {
  "trees that lean to the left": (size) => ofTree(deep(size, true)),
  "trees that lean to the right": (size) => ofTree(deep(size, false)),
  "balanced trees": (size) => ofTree(balanced(Math.log2(size))),
  "chains that all read the first node": (size) =>
    graphOf((first, node) => {
      let last = node(first);
      for (let i = 0; i < size; i++) last = node(last, first);
    }),
  "fans of which every branch goes on": (size) =>
    graphOf((first, node) => {
      for (let i = 0; i < size; i++) node(node(first));
    }),
  "fans that are gathered one by one": (size) =>
    graphOf((first, node) => {
      const branches = Array.from({ length: size }, () => node(first));
      branches.reduce((sum, branch) => node(sum, branch));
    }),
  "fans behind chains, of a row that a dead end reads as well": (size) =>
    graphOf((first, node) => {
      node(first);
      let last = node(first);
      for (let i = 0; i < size / 4; i++) last = node(last);
      const hub = node(last, first);
      for (let i = 0; i < size / 4; i++) node(hub);
    }),
};

/** Elements of neighbours' lists that planning looks at, and pieces that nodes hand on. */
function workOf(graph: CellGraph): number {
  let work = 0;
  const counted = (nodes: readonly CellNode[]): readonly CellNode[] =>
    new Proxy(nodes, {
      get(list, key) {
        if (typeof key === "string" && /^\d/.test(key)) work++;
        return Reflect.get(list, key);
      },
    });
  for (const node of graph.nodes) {
    node.predecessors = counted(node.predecessors);
    node.successors = counted(node.successors);
    let reusable: unknown;
    Object.defineProperty(node, "reusable", {
      get: () => reusable,
      set(pieces: readonly unknown[] | undefined) {
        work += pieces?.length ?? 0;
        reusable = pieces;
      },
    });
  }
  new SlotPlan(graph);
  return work;
}

for (const [what, build] of Object.entries(shapes)) {
  Deno.test(`SlotPlan works in proportion to ${what}`, () => {
    const [half, whole] = [workOf(build(2048)), workOf(build(4096))];
    assert(half > 2048);
    assert(whole <= 2.1 * half, `${half}, of twice the size ${whole}`);
  });
}

Deno.test("SlotPlan plans trees of 2^16 leaves and of a depth of 100,000", () => {
  for (const tree of [balanced(16), deep(100_000, true)]) {
    const graph = ofTree(tree);
    const { bytes } = new SlotPlan(graph);
    assert(bytes < 2 * 16 * graph.nodes.length);
  }
});
