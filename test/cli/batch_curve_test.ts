/** Profiles out of curves that were measured more than once. */
import assert from "node:assert/strict";
import {
  batchCurves,
  curveSizes,
  profiledSizes,
  profileTable,
} from "../../src/cli/batch_curve.ts";
import { buildModel } from "../../src/cli/bench_models.ts";
import { TensorExecutor } from "../../src/engine/wall/tensor_executor.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import { SlotPlan } from "../../src/graph/slot_plan.ts";

Deno.test("of sizes that were measured several times the fastest counts, in the order of their rows", () => {
  const point = (rows: number, ns: number) => ({
    rows,
    rowsPerS: rows / ns * 1e9,
  });
  const curves = [
    { cell: "A", points: [point(8, 900)] },
    { cell: "A", points: [point(1, 200)] },
    { cell: "B", points: [] },
    { cell: "A", points: [point(8, 400), point(1, 100)] },
    { cell: "A", points: [point(1, 150), point(8, 500)] },
  ];
  assert.deepEqual(profileTable(curves), { A: [[1, 100], [8, 400]] });
});

Deno.test("of trees larger batches are profiled, as far as there is room: those of 64 requests have more rows", () => {
  const sizes = [1, 2, 4, 8, 16, 32, 64];
  const of = (name: string, room: number) => {
    const { model } = buildModel(name, "small", 1, { hidden: 4 });
    return profiledSizes(model, 1, (requests) => requests <= room);
  };
  assert.deepEqual(of("lstm", 10_000), sizes);
  assert.deepEqual(of("treelstm", 10_000), [...sizes, 128, 256, 512]);
  assert.deepEqual(of("treelstm", 600), [...sizes, 128, 256]);
});

Deno.test("a curve's batches fit where there is room for so many requests, however many workers have some", async () => {
  const options = { hidden: 4, vocabulary: 10 };
  const { model } = buildModel("lstm", "small", 1, options);
  const graph = new CellGraph(model);
  model.unfold({ tokens: new Array<number>(100).fill(0) }, graph);
  const room = 15;
  const executor = await TensorExecutor.start({
    ...{ models: [model], workers: 2 },
    slotBytes: room * new SlotPlan(graph).bytes,
    onFatal: (error) => {
      throw error;
    },
  });
  try {
    const sizes = curveSizes(room, executor.workers);
    assert.deepEqual(sizes, [1, 2]);
    const fixed = {
      name: "fixed",
      next: () => ({ input: { tokens: new Array<number>(100).fill(0) } }),
    };
    const curves = await batchCurves(model, executor, fixed, sizes, 1);
    assert.deepEqual(curves[0].points.map(({ rows }) => rows), sizes);
    // More are not all there at once.
    await assert.rejects(batchCurves(model, executor, fixed, [4], 1), /room/);
  } finally {
    await executor.close();
  }
  assert.deepEqual(curveSizes(129, 1), [1, 2, 4, 8, 16, 32, 64]);
});
