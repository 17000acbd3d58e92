/** A cell cut anywhere gives the bits of the whole. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { defineCell, f32, image } from "../../src/graph/cell_builder.ts";
import type { Cell } from "../../src/graph/cell.ts";
import type { NodeOutput, Source } from "../../src/graph/cell_graph.ts";
import { cutCell } from "../../src/graph/cut_cell.ts";
import type { Model } from "../../src/graph/model.ts";
import { Prng } from "../../src/base/prng.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";

const prng = new Prng(3);
const drawn = (...shape: number[]) =>
  tensor(
    shape,
    Float32Array.from(
      { length: shape.reduce((a, b) => a * b, 1) },
      () => 2 * prng.float() - 1,
    ),
  );

/** Values that are read late, twice, or by nobody; results that are an input, a constant or only another shape. */
const whole = defineCell({
  name: "whole",
  inputs: { x: image(4, 4, 3), y: f32(8) },
  body: (op, { x, y }) => {
    const first = op.Conv(x, drawn(5, 3, 3, 3), { pads: 1 });
    const scaled = op.Mul(first, op.Constant([0.5]));
    const second = op.Conv(scaled, drawn(5, 5, 1, 1));
    op.Tanh(second);
    const sum = op.Relu(op.Add(second, first));
    const means = op.Reshape(op.GlobalAveragePool(sum), [5]);
    const joined = op.Concat(means, op.Constant([1, 2]), y);
    return {
      z: op.Reshape(op.Gemm(joined, drawn(6, 15)), [2, 3]),
      y,
      one: op.Constant([7]),
      map: sum,
    };
  },
});

/** A cell cut at some of its operators, as a model. */
function modelOf(cell: Cell, starts: readonly number[]): Model {
  const cut = cutCell(cell, starts, (from, to) => `${from} to ${to}`);
  return {
    name: "cut",
    cells: cut.parts.map(({ cell }) => cell),
    shape: "chain",
    check() {},
    unfold({ x, y }, graph) {
      const given: Source[] = [
        graph.row(graph.data(x), 0, 48),
        graph.row(graph.data(y), 0, 8),
      ];
      const made: NodeOutput[][] = [];
      for (const { cell, inputs } of cut.parts) {
        const sources = inputs.map(({ part, port }, i) => [
          cell.inputs[i].name,
          part < 0 ? given[port] : made[part][port],
        ]);
        const node = graph.node(cell, Object.fromEntries(sources));
        made.push(cell.outputs.map(({ name }) => graph.output(node, name)));
      }
      cut.results.forEach(({ part, port }, i) =>
        graph.result(cell.outputs[i].name, made[part][port])
      );
    },
  };
}

Deno.test("a cell that is cut anywhere gives the bits of the whole", () => {
  const inputs = [{ x: drawn(48).data, y: drawn(8).data }];
  const expected = runRequests(modelOf(whole, []), inputs);
  assert.equal(modelOf(whole, []).cells.length, 1);
  fc.assert(
    fc.property(
      fc.subarray(whole.operators.map((_, at) => at)),
      (starts) => {
        const model = modelOf(whole, starts);
        for (const cell of model.cells) {
          assert(
            cell.operators.every(({ op }) => op !== "Tanh"),
            "nobody reads it",
          );
        }
        assert.deepStrictEqual(runRequests(model, inputs), expected);
      },
    ),
    { numRuns: propertyRuns(100) },
  );
});
