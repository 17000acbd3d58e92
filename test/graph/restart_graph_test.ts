/** A static graph that was used, for another request. */
import assert from "node:assert/strict";
import { CellGraph, NODE } from "../../src/graph/cell_graph.ts";
import { restartGraph } from "../../src/graph/restart_graph.ts";
import { staticChain } from "../policy/static_chain.ts";

Deno.test("restartGraph() leaves nothing of what engine and policy kept with the nodes", () => {
  const model = staticChain({ cells: ["A", "B"] });
  const unfolded = () => {
    const graph = new CellGraph<string>(model);
    model.unfold({}, graph);
    return graph;
  };
  const kept = ({ owner, remaining, nodes }: CellGraph<string>) => ({
    ...{ owner, remaining },
    nodes: nodes.map(({ state, worker, tag, pending, next }) => ({
      ...{ state, worker, tag, pending, next },
    })),
  });
  const fresh = unfolded();
  fresh.owner = "second";
  const used = unfolded();
  used.owner = "first";
  used.remaining = 0;
  for (const node of used.nodes) {
    node.state = NODE.done;
    node.worker = 1;
    node.tag = "of a policy";
    node.pending = -1;
    node.next = node;
  }
  restartGraph(used, "second");
  assert.deepEqual(kept(used), kept(fresh));
});
