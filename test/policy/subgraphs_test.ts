/** Subgraphs of a graph that frames of a stream have, one after the other. */
import assert from "node:assert/strict";
import { FrameGraph } from "../../src/graph/frame_graph.ts";
import {
  type CellularRequest,
  type Subgraph,
  type SubgraphQueue,
  subgraphsOf,
} from "../../src/policy/cellular_batching/subgraph.ts";
import { fragileStream } from "../engine/stream_models.ts";

function emptyQueue(): SubgraphQueue {
  return {
    first: undefined,
    last: undefined,
    readyAnywhere: 0,
    readyPinned: [],
  };
}

/** What a subgraph is before anything of it has run. */
function stateOf(subgraph: Subgraph) {
  const { externals, feedsOthers, released, dead, pinned } = subgraph;
  const { tasks, readyCount, firstReady } = subgraph;
  return {
    ...{ externals, feedsOthers, released, dead, pinned },
    ...{ tasks, readyCount, firstReady },
  };
}

Deno.test("frames of a stream have the subgraphs of its first one, as they were then", () => {
  const frame = new FrameGraph<CellularRequest>(fragileStream);
  const graph = frame.graph as CellularRequest["graph"];
  const begun = () => {
    frame.begin({} as CellularRequest);
    const subgraphs = subgraphsOf(graph);
    for (const subgraph of subgraphs) subgraph.queue = emptyQueue();
    return subgraphs;
  };
  const first = begun();
  assert.equal(first.length, 2);
  const states = first.map(stateOf);
  assert.deepEqual(states.map(({ externals }) => externals), [0, 1]);
  const tags = graph.nodes.map(({ tag }) => tag);

  // It ends early: one ran, the other one was about to.
  const [before, behind] = first;
  before.addReady(graph.nodes[0]);
  before.release();
  before.pin(1);
  before.tasks++;
  before.withdraw();
  behind.externals--;
  behind.addReady(graph.nodes[1]);
  for (const subgraph of first) subgraph.dead = true;

  const second = begun();
  assert.equal(second, first);
  assert.deepEqual(second.map(stateOf), states);
  assert.deepEqual(graph.nodes.map(({ tag }) => tag), tags);

  assert.notEqual(
    subgraphsOf(new FrameGraph(fragileStream).graph as typeof graph),
    first,
    "another stream has its own",
  );
});
