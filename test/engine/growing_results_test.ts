/** A request that grows ends with its last step: results that some schedules would lose are refused. */
import assert from "node:assert/strict";
import { defineCell, i32 } from "../../src/graph/cell_builder.ts";
import type { CellGraph, CellNode } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { endings } from "../run_requests.ts";

const table = tensor([4, 1], Float32Array.of(0, 1, 2, 3));

const side = defineCell({
  name: "side",
  inputs: { id: i32() },
  body: (op, { id }) => ({ y: op.Gather(table, id) }),
});

const decoder = defineCell({
  name: "decoder",
  recurrent: true,
  phase: "decoder",
  inputs: { id: i32() },
  body(op, { id }) {
    const logits = op.Gather(
      tensor([4, 4], Float32Array.from({ length: 16 }, (_, i) => i % 4)),
      id,
    );
    return { next: op.ArgMax(logits) };
  },
  stop: { output: "next", token: 3 },
});

/** @param declare what it results in besides its tokens */
function growing(
  declare: (graph: CellGraph, aside: CellNode, first: CellNode) => void,
): Model<number> {
  return {
    name: "growing",
    cells: [side, decoder],
    shape: "dag",
    check() {},
    unfold(id, graph) {
      const ids = graph.ids([id]);
      const aside = graph.node(side, { id: graph.id(ids, 0) });
      const first = graph.node(decoder, { id: graph.id(ids, 0) });
      graph.collect("tokens", graph.output(first, "next"));
      graph.grows(10);
      declare(graph, aside, first);
    },
    grow(node, graph) {
      const next = graph.node(decoder, { id: graph.output(node, "next") });
      graph.collect("tokens", graph.output(next, "next"));
    },
  };
}

/** Policies that take such a model. */
function policies(model: Model<number>) {
  return Object.values(POLICIES).map(({ build }) => build())
    .filter((policy) => policy.supports(model) === undefined);
}

Deno.test("a result that the first step does not wait for is refused, whatever the schedule", () => {
  const alone = growing((graph, aside) =>
    graph.result("y", graph.output(aside, "y"))
  );
  const listed = growing((graph, aside) =>
    graph.collect("y", graph.output(aside, "y"))
  );
  for (const model of [alone, listed]) {
    assert(policies(model).length > 1);
    for (const policy of policies(model)) {
      assert.throws(
        () => endings(model, [1], { policy, workers: 2 }),
        /RangeError: .* result "y" from cell "side", which the first step of cell "decoder" does not wait for/,
      );
    }
  }
});

Deno.test("a single result of a step behind the first is refused: it may lie behind the end", () => {
  const model = growing((graph, _aside, first) => {
    const second = graph.node(decoder, { id: graph.output(first, "next") });
    graph.result("second", graph.output(second, "next"));
  });
  assert.throws(
    () => endings(model, [1]),
    /RangeError: .* result "second" from cell "decoder"/,
  );
});

Deno.test("results of the first step, and of what it reads, are there under every policy", () => {
  const model = growing((graph, _aside, first) =>
    graph.result("first", graph.output(first, "next"))
  );
  for (const workers of [1, 2]) {
    for (const policy of policies(model)) {
      const [ending] = endings(model, [1], { policy, workers });
      assert(!(ending instanceof Error), `${ending}`);
      assert.deepEqual([...ending["first"].data], [3]);
      assert.deepEqual(ending["tokens"].shape, [1]);
    }
  }
});
