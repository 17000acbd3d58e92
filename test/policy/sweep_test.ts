/** A pass over the cells of a model takes along what becomes ready in it. */
import assert from "node:assert/strict";
import { CellGraph, type CellNode } from "../../src/graph/cell_graph.ts";
import { gnmt } from "../../src/models/gnmt.ts";
import type { Model } from "../../src/graph/model.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import {
  type Advance,
  advanceReady,
  startOf,
  sweep,
} from "../../src/policy/common/frontier.ts";

interface Swept {
  readonly model: Model;
  readonly graph: CellGraph<Swept>;
  tag: Advance<Swept>;
}

const model = treeLstm({ hidden: 1, vocabulary: 1 });

function request(tree: Parameters<typeof model.unfold>[0]["tree"]): Swept {
  const graph = new CellGraph<Swept>(model);
  model.unfold({ tree }, graph);
  const made = { model, graph, tag: startOf(graph) };
  graph.owner = made;
  return made;
}

/** Passes of all until nothing is ready: of each the rows by cell. */
function passes(requests: Swept[]): string[][] {
  const told = [];
  for (;;) {
    const able = requests.filter(({ tag }) => tag.ready.length > 0);
    if (able.length === 0) return told;
    const steps: { nodes: CellNode<Swept>[] }[] = sweep(able);
    told.push(
      steps.map(({ nodes }) => `${nodes[0].cell.name} ${nodes.length}`),
    );
    advanceReady(steps);
  }
}

Deno.test("a node both of whose inputs are in a pass is in it, too", () => {
  assert.deepEqual(passes([request([0, 0])]), [["tree_leaf 2", "tree_node 1"]]);
});

Deno.test("a node one of whose inputs is of its own cell waits for the next pass", () => {
  assert.deepEqual(passes([request([[0, 0], 0])]), [
    ["tree_leaf 3", "tree_node 1"],
    ["tree_node 1"],
  ]);
});

Deno.test("a node one of whose inputs is of an earlier pass goes with the other one", () => {
  const model = gnmt({ hidden: 1, layers: 3, sourceVocabulary: 3 });
  const graph = new CellGraph<Swept>(model);
  model.unfold({ tokens: [0, 1, 2], maxSteps: 1 }, graph);
  const made = { model, graph, tag: startOf(graph) };
  graph.owner = made;
  const encoders = passes([made]).map((steps) =>
    steps.filter((step) => step.startsWith("encoder")).join()
  );
  const both = "encoder_1_forward 1,encoder_1_backward 1";
  assert.deepEqual(encoders, [
    both,
    both,
    // The first token's is read forward two passes earlier, and backward in this one.
    `${both},encoder_2 1,encoder_3 1`,
    "encoder_2 1,encoder_3 1",
    "encoder_2 1,encoder_3 1",
  ]);
});

Deno.test("a pass takes all that is ready of all its requests", () => {
  assert.deepEqual(
    passes([request([[0, 0], [0, 0]]), request(0), request([0, 0])]),
    [
      ["tree_leaf 7", "tree_node 3"],
      ["tree_node 1"],
    ],
  );
});

Deno.test("frames of a stream have one object to begin with, and what it was given besides", () => {
  const { graph } = request([0, 0]);
  graph.again = { tag: undefined };
  const first = startOf<Swept, Advance<Swept> & { mine?: string }>(graph);
  first.mine = "kept";
  graph.owner.tag = first;
  assert.deepEqual(passes([graph.owner]), [["tree_leaf 2", "tree_node 1"]]);
  // A frame that was ended early leaves what it had.
  first.ready.push(...graph.nodes);
  first.underWay = 1;
  const second: Advance<Swept> & { mine?: string } = startOf(graph);
  assert.equal(second, first);
  assert.equal(second.mine, "kept");
  assert.deepEqual(second.ready, graph.nodes.slice(0, 2));
  assert.equal(second.underWay, 0);
});
