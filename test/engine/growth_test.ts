/** What models may get wrong about growing graphs, and what static graphs make of a stop rule. */
import assert from "node:assert/strict";
import { defineCell, i32 } from "../../src/graph/cell_builder.ts";
import type { CellGraph, CellNode } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { runPaired } from "./harness.ts";

/** Counts 0, 1, 2, 3, 3, ...: the id of the next token is the id plus one, at most 3. */
const counter = defineCell({
  name: "counter",
  recurrent: true,
  phase: "decoder",
  inputs: { id: i32() },
  body(op, { id }) {
    const next = [0, 1, 2, 3].flatMap((row) =>
      [0, 1, 2, 3].map((column) => column === Math.min(3, row + 1) ? 1 : 0)
    );
    const oneHot = op.Gather(tensor([4, 4], Float32Array.from(next)), id);
    return { next: op.ArgMax(oneHot) };
  },
  stop: { output: "next", token: 3 },
});

interface CounterOptions {
  unfold?: (graph: CellGraph) => void;
  grow?: Model["grow"];
}

function counting({ unfold, grow }: CounterOptions): Model {
  return {
    name: "counting",
    cells: [counter],
    shape: "chain",
    check(_input: unknown) {},
    unfold: (_input, graph) => unfold ? unfold(graph) : start(graph).grows(8),
    ...(grow && { grow }),
  };
}

function start(graph: CellGraph): CellGraph {
  const first = graph.node(counter, { id: graph.id(graph.ids([0]), 0) });
  graph.collect("ids", graph.output(first, "next"));
  return graph;
}

function growOn(node: CellNode, graph: CellGraph): void {
  const next = graph.node(counter, { id: graph.output(node, "next") });
  graph.collect("ids", graph.output(next, "next"));
}

const policies = Object.entries(POLICIES).filter(([, { build }]) =>
  build().supports(counting({})) === undefined
);

function run(policy: string, models: readonly Model[]) {
  const { endings } = runPaired({
    models,
    policy: POLICIES[policy].build(),
    arrivals: models.map((model) => ({ model, input: {}, arrivalNs: 0 })),
    cost: { latencyNs: () => 100 },
  });
  return endings.map((ending) => ending!);
}

for (const [policy] of policies) {
  Deno.test(`${policy}: growth ends at the stop token`, () => {
    const [ending] = run(policy, [counting({ grow: growOn })]);
    assert.deepEqual(ending.result, {
      ids: tensor([3], Int32Array.from([1, 2, 3])),
    });
  });

  Deno.test(`${policy}: a request whose growth throws fails alone`, () => {
    let calls = 0;
    const broken = counting({
      grow(node, graph) {
        if (++calls === 2) throw new RangeError("no more");
        growOn(node, graph);
      },
    });
    const [failed, done] = run(policy, [broken, counting({ grow: growOn })]);
    assert.equal(failed.outcome, "failed");
    assert.match(failed.error!.message, /no more/);
    assert.deepEqual(done.result, {
      ids: tensor([3], Int32Array.from([1, 2, 3])),
    });
  });

  Deno.test(`${policy}: nothing is executed that a failed growth has appended`, () => {
    let calls = 0;
    const broken = counting({
      grow(node, graph) {
        calls++;
        growOn(node, graph);
        throw new RangeError("no more");
      },
    });
    const [failed, done] = run(policy, [broken, counting({ grow: growOn })]);
    assert.equal(failed.outcome, "failed");
    assert.match(failed.error!.message, /no more/);
    // Whatever is submitted grows.
    assert.equal(calls, 1);
    assert.deepEqual(done.result, {
      ids: tensor([3], Int32Array.from([1, 2, 3])),
    });
  });

  Deno.test(`${policy}: growth that appends nothing ends the request`, () => {
    const [ending] = run(policy, [counting({ grow() {} })]);
    assert.deepEqual(ending.result, {
      ids: tensor([1], Int32Array.from([1])),
    });
  });

  Deno.test(`${policy}: a static graph does not stop at a stop rule`, () => {
    const chain = counting({
      unfold(graph) {
        start(graph);
        for (let i = 0; i < 4; i++) growOn(graph.nodes[i], graph);
      },
    });
    const [ending] = run(policy, [chain]);
    assert.deepEqual(ending.result, {
      ids: tensor([5], Int32Array.from([1, 2, 3, 3, 3])),
    });
  });
}

Deno.test("a request that unfolds into nothing is refused at the boundary", () => {
  assert.throws(
    () => run("serial", [counting({ unfold() {} })]),
    /unfolded the request into no node/,
  );
});

Deno.test("growth without a stop rule is refused at the boundary", () => {
  const plain = defineCell({
    name: "plain",
    inputs: { id: i32() },
    body: (op, { id }) => ({
      row: op.Gather(tensor([1, 1], new Float32Array(1)), id),
    }),
  });
  const model: Model = {
    ...counting({}),
    cells: [plain],
    unfold(_input, graph) {
      graph.node(plain, { id: graph.id(graph.ids([0]), 0) });
      graph.grows(2);
    },
  };
  assert.throws(
    () => run("serial", [model]),
    /no node of the request has a stop rule/,
  );
});
