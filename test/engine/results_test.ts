/** Results as callers get them: their names, types and shapes, and what is told of their time. */
import assert from "node:assert/strict";
import { constantCost } from "../../src/cost/table_cost.ts";
import { BATCHES_KEPT, BatchLog } from "../../src/engine/core/batch_log.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { defineCell, f32, i32, image } from "../../src/graph/cell_builder.ts";
import type { CellGraph } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import type { OutputTypes } from "../../src/graph/result.ts";
import { bert } from "../../src/models/bert.ts";
import { lstm } from "../../src/models/lstm.ts";
import { resnet50 } from "../../src/models/resnet.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { unet } from "../../src/models/unet.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import type { TaskRecord } from "../../src/policy/records.ts";
import type { Request } from "../../src/policy/request.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { endings, runRequests } from "../run_requests.ts";
import { runPaired } from "./harness.ts";

const small = { hidden: 8, vocabulary: 9 };
const tokens = [1, 2, 3];

/** Types and shapes of a request's results. */
function shapesOf<Input>(model: Model<Input>, input: Input) {
  const [result] = runRequests(model, [input]);
  return Object.fromEntries(
    Object.entries(result).map(([name, { shape, data }]) => {
      assert.equal(data.length, shape.reduce((a, b) => a * b, 1));
      const dtype = data instanceof Int32Array ? "i32" : "f32";
      assert.equal(model.outputs![name], dtype, "as the model declares");
      return [name, shape];
    }),
  );
}

Deno.test("results have the shapes that their models say", () => {
  const pixels = (size: number) => ({ image: new Float32Array(size ** 2) });
  assert.deepEqual(shapesOf(lstm(small), { tokens }), { h: [8] });
  assert.deepEqual(
    shapesOf(lstm({ ...small, head: "classifier", classes: 4 }), { tokens }),
    { h: [8], logits: [4] },
  );
  assert.deepEqual(
    shapesOf(lstm({ ...small, head: "language-model" }), { tokens }),
    { h: [8], next: [] },
  );
  assert.deepEqual(
    shapesOf(treeLstm({ ...small, classes: 4 }), { tree: [1, 2] }),
    { h: [8], logits: [4] },
  );
  assert.deepEqual(
    shapesOf(
      bert({ ...small, heads: 2, layers: 1, inner: 8, classes: 4 }),
      { tokens },
    ),
    { pooled: [8], logits: [4] },
  );
  const translation = seq2seq({ hidden: 8, sourceVocabulary: 9, eos: null });
  for (const maxSteps of [1, 5]) {
    assert.deepEqual(shapesOf(translation, { tokens, maxSteps }), {
      tokens: [maxSteps],
    });
  }
  assert.deepEqual(
    shapesOf(
      unet({
        size: 8,
        depth: 1,
        channels: 1,
        base: 2,
        classes: 3,
        padding: "same",
      }),
      pixels(8),
    ),
    { logits: [8, 8, 3] },
  );
  assert.deepEqual(
    shapesOf(
      resnet50({ size: 8, channels: 1, width: 2, blocks: [1], classes: 3 }),
      pixels(8),
    ),
    { logits: [3] },
  );
});

const cell = defineCell({
  name: "double",
  inputs: { x: f32(2), id: i32(), picture: image(2, 1, 1) },
  body: (op, { x, id, picture }) => ({
    x: op.Add(x, x),
    id: op.ArgMax(op.Gather(tensor([2, 2], Float32Array.of(1, 0, 0, 1)), id)),
    picture: op.Relu(picture),
  }),
});

/** Runs a cell of three outputs once for every row; `name` says what becomes of them. */
function doubling<Outputs extends OutputTypes>(
  name: (graph: CellGraph, node: ReturnType<CellGraph["node"]>) => void,
  outputs?: Outputs,
): Model<number[], Outputs> {
  return {
    name: "doubling",
    cells: [cell],
    shape: "dag",
    ...(outputs && { outputs }),
    check() {},
    unfold(rows, graph) {
      const data = graph.rows(rows.flatMap((x) => [x, x + 1]));
      const ids = graph.ids([1]);
      rows.forEach((_, i) => {
        name(
          graph,
          graph.node(cell, {
            x: graph.row(data, i, 2),
            id: graph.id(ids, 0),
            picture: graph.row(data, i, 2),
          }),
        );
      });
    },
  };
}

Deno.test("rows that are collected have an axis more, however many there are", () => {
  const collecting = doubling((graph, node) => {
    for (const port of ["x", "id", "picture"]) {
      graph.collect(port, graph.output(node, port));
    }
  });
  assert.deepEqual(runRequests(collecting, [[3], [3, 5]]), [
    {
      x: tensor([1, 2], Float32Array.of(6, 8)),
      id: tensor([1], Int32Array.of(1)),
      picture: tensor([1, 2, 1, 1], Float32Array.of(3, 4)),
    },
    {
      x: tensor([2, 2], Float32Array.of(6, 8, 10, 12)),
      id: tensor([2], Int32Array.of(1, 1)),
      picture: tensor([2, 2, 1, 1], Float32Array.of(3, 4, 5, 6)),
    },
  ]);
  const single = doubling((graph, node) => {
    for (const port of ["x", "id", "picture"]) {
      graph.result(port, graph.output(node, port));
    }
  });
  assert.deepEqual(runRequests(single, [[3]]), [{
    x: tensor([2], Float32Array.of(6, 8)),
    id: tensor([], Int32Array.of(1)),
    picture: tensor([2, 1, 1], Float32Array.of(3, 4)),
  }]);
});

Deno.test("a request has the results that its model declares, no more and no less", () => {
  const refused = (
    outputs: OutputTypes,
    result: string,
    message: string,
  ) =>
    assert.throws(
      () =>
        endings(
          doubling(
            (graph, node) => graph.result(result, graph.output(node, "x")),
            outputs,
          ),
          [[1]],
        ),
      { message },
    );
  refused(
    { x: "f32" },
    "y",
    'Model "doubling" declares no result "y"; its "outputs" are x',
  );
  refused(
    { x: "i32" },
    "x",
    'Result "x" of model "doubling" is declared i32, got f32',
  );
  refused(
    { x: "f32", id: "i32" },
    "x",
    'Model "doubling" declares result "id", but unfolded the request without it',
  );
});

Deno.test("the compiler knows the names and types of a model's results", async () => {
  const classifier = lstm({ ...small, head: "classifier" });
  const custom = doubling(
    (graph, node) => graph.result("x", graph.output(node, "x")),
    { x: "f32" } as const,
  );
  const untyped: Model<{ tokens: number[] }> = lstm(small);
  await using engine = await ServingEngine.create({
    models: [classifier, custom, untyped],
    policy: cellular(),
    slotBytes: 2 ** 22,
  });
  const { outputs } = await engine.run(classifier, { tokens });
  const floats: Float32Array = outputs.logits.data;
  assert.equal(floats.length, 5);
  // @ts-expect-error -- there is no such result
  assert.equal(outputs.logitz, undefined);
  // @ts-expect-error -- nor of this head
  assert.equal(outputs.next, undefined);
  // @ts-expect-error -- these are floats
  const integers: Int32Array = outputs.h.data;
  assert.equal(integers.length, 8);
  const doubled = await engine.run(custom, [1]);
  assert.deepEqual(doubled.outputs.x, tensor([2], Float32Array.of(2, 4)));
  // @ts-expect-error -- there is no such result
  assert.equal(doubled.outputs.y, undefined);
  const { outputs: { h, anything } } = await engine.run(untyped, { tokens });
  const numbers: Float32Array | Int32Array = h.data;
  assert.equal(numbers.length, 8);
  assert.equal(anything, undefined);
  // @ts-expect-error -- tokens are numbers
  await assert.rejects(engine.run(classifier, { tokens: ["a"] }), RangeError);
});

for (const [name, { build }] of Object.entries(POLICIES)) {
  Deno.test(`${name}: a request that asks hears of the batches that it was in, and nobody else costs anything`, () => {
    const tasks: TaskRecord[] = [];
    const requests: Request[] = [];
    const cells = new Set<string>();
    const model = lstm({ ...small, head: "classifier" });
    const { add } = BatchLog.prototype;
    let added = 0;
    BatchLog.prototype.add = function (...args) {
      added++;
      return add.apply(this, args);
    };
    try {
      runPaired({
        models: [model],
        policy: build(),
        arrivals: [4, 2, 7].map((length, i) => ({
          model,
          input: { tokens: new Array(length).fill(1) },
          arrivalNs: 0,
          ...(i === 1 && { logBatches: true }),
        })),
        cost: constantCost(1000),
        observer: {
          task: (_, record) => void tasks.push(record),
          request: (request) => {
            requests[request.id] = request;
            if (request.id !== 1) return;
            for (const { cell } of request.graph.nodes) cells.add(cell.name);
          },
        },
      });
    } finally {
      BatchLog.prototype.add = add;
    }
    assert.equal(added, 3, "once for each of its nodes");
    const { log } = requests[1] as unknown as { log: BatchLog };
    assert.equal(log.count, 3);
    assert.deepEqual(
      log.batches,
      tasks.filter(({ requests, cell }) =>
        requests.includes(1) && cells.has(cell)
      ).map(({ cell, rows, worker, startNs, endNs }) => ({
        ...{ cell, rows, worker, startNs, endNs },
      })),
    );
  });
}

Deno.test("several rows of a request in one task are one batch", () => {
  const model = treeLstm(small);
  const requests: Request[] = [];
  runPaired({
    models: [model],
    policy: cellular(),
    arrivals: [{
      model,
      input: { tree: [[1, 2], [3, 4]] },
      arrivalNs: 0,
      logBatches: true,
    }],
    cost: constantCost(1000),
    observer: { request: (request) => void requests.push(request) },
  });
  const { log } = requests[0] as unknown as { log: BatchLog };
  assert.deepEqual(log.batches.map(({ cell, rows }) => [cell, rows]), [
    ["tree_leaf", 4],
    ["tree_node", 2],
    ["tree_node", 1],
  ]);
});

Deno.test("ServingEngine tells how long a request waited and ran, and in which batches", async () => {
  const model = lstm(small);
  await using engine = await ServingEngine.create({
    models: [model],
    policy: graph({ windowNs: 50e6 }),
    slotBytes: 2 ** 22,
  });
  const startMs = performance.now();
  const { timing } = await engine.run(model, { tokens }, { batches: true });
  const tookMs = performance.now() - startMs;
  assert(timing.queuedMs >= 49 && timing.queuedMs <= tookMs);
  assert(timing.ranMs > 0 && timing.queuedMs + timing.ranMs <= tookMs + 1);
  assert.equal(timing.batchCount, 3);
  assert.deepEqual(
    timing.batches!.map(({ cell, batchSize, worker }) => [
      ...[cell, batchSize, worker],
    ]),
    Array(3).fill(["lstm_step", 1, 0]),
  );
  const [first, , last] = timing.batches!;
  assert.equal(first.startedMs, timing.queuedMs);
  const endedMs = last.startedMs + last.ranMs;
  assert(Math.abs(endedMs - timing.queuedMs - timing.ranMs) < 1e-6);

  const plain = await engine.run(model, { tokens });
  assert.deepEqual(Object.keys(plain.timing), ["queuedMs", "ranMs"]);
});

Deno.test("a log of batches ends, its count goes on", async () => {
  const model = lstm(small);
  await using engine = await ServingEngine.create({
    models: [model],
    policy: cellular(),
    slotBytes: 2 ** 22,
  });
  const steps = BATCHES_KEPT + 10;
  const { timing } = await engine.run(
    model,
    { tokens: new Array(steps).fill(1) },
    { batches: true },
  );
  assert.equal(timing.batches!.length, BATCHES_KEPT);
  assert.equal(timing.batchCount, steps);
});
