/** Graphs of requests that are over, used again by models that say what their requests bring. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import type { ActiveRequest } from "../../src/engine/core/active_request.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import type { CellGraph } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { Launch } from "../../src/policy/launch.ts";
import { IDLE, type Policy } from "../../src/policy/policy.ts";
import type { NodeOf } from "../../src/policy/request.ts";
import { tensor, type TensorData } from "../../src/tensor/tensor.ts";
import { type RunOptions, runPaired } from "./harness.ts";

const NS = 1000;

const double = defineCell({
  name: "double",
  inputs: { x: f32(2) },
  body: (op, { x }) => ({ y: op.Add(x, x) }),
});
const shift = defineCell({
  name: "shift",
  inputs: { x: f32(2), by: f32(2) },
  body: (op, { x, by }) => ({ y: op.Add(x, by) }),
});

/** Twice x, and as much more as is the same for all requests; and the graphs that it was unfolded into. */
function model(
  brings: Model<number[]>["brings"] = (
    x,
  ) => [undefined, Float32Array.from(x)],
): { model: Model<number[]>; graphs: CellGraph[] } {
  const graphs: CellGraph[] = [];
  return {
    graphs,
    model: {
      name: "twice",
      cells: [double, shift],
      shape: "chain",
      check() {},
      brings,
      unfold(x, graph) {
        graphs.push(graph);
        const by = graph.row(graph.rows([100, 200]), 0, 2);
        const twice = graph.node(double, { x: graph.row(graph.rows(x), 0, 2) });
        const y = graph.node(shift, { x: graph.output(twice, "y"), by });
        graph.result("y", graph.output(y, "y"));
      },
    },
  };
}

const answer = ([a, b]: number[]) =>
  tensor([2], Float32Array.of(2 * a + 100, 2 * b + 200));

/** Requests at given times, all of which have to be right. */
function run(
  { model, policy, inputs, ...options }:
    & { model: Model<number[]>; inputs: [atNs: number, x: number[]][] }
    & Pick<RunOptions, "policy" | "observer">,
): void {
  const { endings } = runPaired({
    ...options,
    models: [model],
    policy,
    cost: constantCost(NS),
    arrivals: inputs.map(([arrivalNs, input]) => ({ model, input, arrivalNs })),
  });
  endings.forEach((ending, i) =>
    assert.deepEqual(ending?.result, { y: answer(inputs[i][1]) })
  );
}

/** One request behind the other, each when the one before is over. */
const inTurn = (count: number) =>
  Array.from(
    { length: count },
    (_, i): [number, number[]] => [5 * NS * i, [i, -i]],
  );

Deno.test("a request has the graph of one that is over, with what it brings itself", () => {
  const { model: twice, graphs } = model();
  run({ model: twice, policy: cellular(), inputs: inTurn(20) });
  assert.equal(graphs.length, 1);
  const [graph] = graphs;
  assert.equal(graph.owner, undefined, "what is over is not kept by its graph");
});

Deno.test("requests at once have a graph each", () => {
  const { model: twice, graphs } = model();
  const inputs = Array.from(
    { length: 12 },
    (_, i): [number, number[]] => [Math.floor(i / 4) * 5 * NS, [i, 2 * i]],
  );
  run({ model: twice, policy: cellular(), inputs });
  assert.equal(graphs.length, 4);
});

Deno.test("graphs are unfolded anew where a model does not say what its requests bring", () => {
  const { model: { brings: _, ...twice }, graphs } = model();
  run({ model: twice, policy: cellular(), inputs: inTurn(3) });
  assert.equal(graphs.length, 3);
});

const wrong: Record<string, (x: number[]) => (TensorData | undefined)[]> = {
  "more elements": ([x]) => [undefined, new Float32Array(x < 0 ? 3 : 2)],
  "another type": ([x]) => [
    undefined,
    x < 0 ? new Int32Array(2) : new Float32Array(2),
  ],
};

for (const [what, brings] of Object.entries(wrong)) {
  Deno.test(`a request that brings ${what} than its graph has room for is refused`, () => {
    const { model: twice } = model(brings);
    const inputs: [number, number[]][] = [[0, [0, 0]], [5 * NS, [-1, 0]]];
    assert.throws(
      () => run({ model: twice, policy: cellular(), inputs }),
      /"brings" of model "twice" gave data 1 of another type or length/,
    );
  });
}

type Node = NodeOf<ActiveRequest>;

/** All requests that there are in one launch, node by node, and what it finds in the launch when that is over. */
function nodeByNode(): {
  policy: Policy;
  owners: [before: number[], after: number[]][];
} {
  const owners: [number[], number[]][] = [];
  let ready: Node[] = [];
  let running: { launch: Launch; ids: number[] } | undefined;
  const idsOf = ({ steps }: Launch) =>
    steps.flatMap(({ nodes }) => nodes.map(({ graph }) => graph.owner?.id));
  return {
    owners,
    policy: {
      name: "node by node",
      supports: () => undefined,
      enqueue: (request) =>
        void ready.push(...(request as ActiveRequest).graph.nodes),
      schedule() {
        if (running || ready.length === 0) return IDLE;
        const launch: Launch = {
          worker: 0,
          steps: ready.map((node) => ({ cell: node.cell, nodes: [node] })),
          release: "step",
          why: "all there is",
        };
        ready = [];
        running = { launch, ids: idsOf(launch) };
        return { kind: "launch", launch };
      },
      finished(launch) {
        owners.push([running!.ids, idsOf(launch)]);
        running = undefined;
      },
    },
  };
}

Deno.test("a policy finds the nodes of a launch as they were until it has heard of the launch's end", () => {
  const { model: twice, graphs } = model();
  const { policy, owners } = nodeByNode();
  // The first is over after two of the launch's four nodes, when the third comes.
  const inputs: [number, number[]][] = [
    [0, [1, 2]],
    [0, [3, 4]],
    [NS, [5, 6]],
    [NS, [7, 8]],
    [4 * NS, [9, 10]],
    [20 * NS, [11, 12]],
    [30 * NS, [13, 14]],
  ];
  run({ model: twice, policy, inputs });
  for (const [before, after] of owners) assert.deepEqual(after, before);
  assert(graphs.length < inputs.length, "graphs are used again then");
});
