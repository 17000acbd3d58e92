/** Streams on virtual time, under every policy: jitter, bursts and models at once. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { constantCost } from "../../src/cost/table_cost.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { streamArrivals } from "../../src/engine/virtual/stream_arrivals.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import { defineCell, f32 } from "../../src/graph/cell_builder.ts";
import {
  defineStream,
  type StreamModel,
} from "../../src/graph/stream_model.ts";
import { gruStream, lstmStream } from "../../src/models/rnn_stream.ts";
import { auto } from "../../src/policy/auto/auto.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { streamLoad } from "../../src/workload/stream_load.ts";

import { anyOptions } from "./arbitraries.ts";
import { propertyRuns } from "../property_runs.ts";

const MODELS = [
  lstmStream({ hidden: 2, features: 2 }),
  gruStream({ hidden: 2, features: 2 }),
];

const A = defineCell({
  name: "a",
  inputs: { x: f32(2), s: f32(2) },
  body: (op, { x, s }) => ({ y: op.Add(x, s) }),
});
const B = defineCell({
  name: "b",
  inputs: { x: f32(2) },
  body: (op, { x }) => ({ y: op.Relu(x) }),
});
/** Its frames come by A twice, so that one's last row and another's first may be of one task, with B behind it. */
const RETURNING = defineStream({
  name: "returning",
  shape: "dag",
  cells: [A, B],
  inputs: { x: f32(2) },
  states: { s: { ...f32(2), from: "y" } },
  outputs: { y: "f32" },
  frame(graph, given) {
    const [x, s] = [given.x, given.s].map((data) => graph.row(data, 0, 2));
    const first = graph.output(graph.node(A, { x, s }), "y");
    const second = graph.output(graph.node(B, { x: first }), "y");
    graph.result("y", graph.output(graph.node(A, { x: second, s }), "y"));
  },
});

interface Ended {
  readonly outcome: string;
  readonly endNs: number;
}

/** What became of every frame, by stream, in the order in which they ended. */
function simulated(
  policy: string,
  options: Record<string, unknown>,
  load: Parameters<typeof streamLoad>[0],
  { pendingMax = 4, finishNs = Infinity, workers = 1, rowNs = 1000 } = {},
  models: readonly StreamModel[] = MODELS,
): { ended: Map<string, Ended>; order: number[][]; refused: number } {
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    workers,
    cost: { latencyNs: (_cell, rows) => 10_000 + rowNs * rows },
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models,
    policy: POLICIES[policy].build(options),
    executor,
  });
  const ended = new Map<string, Ended>();
  const order: number[][] = [];
  let refused = 0;
  driveVirtual(
    engine,
    timeline,
    streamArrivals(engine, streamLoad(load), {
      models,
      pendingMax,
      finishNs,
      each: ({ stream, frame }) => ({
        onEnd({ outcome }, endNs) {
          const key = `${stream}/${frame}`;
          assert(!ended.has(key), "a frame ends once");
          ended.set(key, { outcome, endNs });
          if (outcome === "done") (order[stream] ??= []).push(frame);
        },
      }),
    }),
    () => refused++,
  );
  return { ended, order, refused };
}

for (const name of Object.keys(POLICIES)) {
  Deno.test(`${name}: every frame of streams ends once, in its stream's order`, () => {
    fc.assert(
      fc.property(
        anyOptions(name),
        fc.record({
          streams: fc.integer({ min: 1, max: 12 }),
          jitterNs: fc.constantFrom(0, 30_000),
          stallEveryNs: fc.constantFrom(Infinity, 400_000),
          finishNs: fc.constantFrom(Infinity, 60_000),
          pendingMax: fc.constantFrom(1, 4, 100),
          workers: fc.constantFrom(1, 2),
          seed: fc.nat(),
        }),
        (options, drawn) => {
          const { streams, jitterNs, stallEveryNs, seed, ...limits } = drawn;
          const network = { jitterNs, stallEveryNs, stallNs: 200_000 };
          const load = {
            sources: [
              { streams, periodNs: 50_000, ...network },
              { streams: 2, periodNs: 80_000, ...network },
            ],
            durationNs: 1e6,
            seed,
          };
          const frames = [...streamLoad(load)];
          const { ended, order, refused } = simulated(
            name,
            options,
            load,
            limits,
          );
          assert.equal(ended.size + refused, frames.length);
          for (const done of order) {
            if (done === undefined) continue;
            assert.deepEqual(done, [...done].sort((a, b) => a - b));
          }
          for (const { stream, frame, atNs } of frames) {
            const end = ended.get(`${stream}/${frame}`);
            if (end === undefined) continue;
            assert(end.endNs >= atNs);
            if (end.outcome === "done") {
              assert(end.endNs <= atNs + limits.finishNs);
            } else assert.equal(end.outcome, "expired");
          }
        },
      ),
      { numRuns: propertyRuns(40) },
    );
  });
}

for (const [name, { build }] of Object.entries(POLICIES)) {
  if (build({}).supports(RETURNING) !== undefined) continue;
  Deno.test(`${name}: frames that come by a cell twice are all done`, () => {
    fc.assert(
      fc.property(
        fc.record({
          streams: fc.integer({ min: 2, max: 8 }),
          workers: fc.constantFrom(1, 2),
          rowNs: fc.constantFrom(0, 1000, 5000),
          seed: fc.nat(),
        }),
        ({ streams, seed, ...rest }) => {
          const source = { streams, periodNs: 60_000, jitterNs: 30_000 };
          const load = { sources: [source], durationNs: 5e5, seed };
          const frames = [...streamLoad(load)];
          const { ended } = simulated(
            name,
            {},
            load,
            { ...rest, pendingMax: frames.length },
            [RETURNING],
          );
          assert.equal(ended.size, frames.length);
          for (const { outcome } of ended.values()) {
            assert.equal(outcome, "done");
          }
        },
      ),
      { numRuns: propertyRuns(20) },
    );
  });
}

Deno.test("a frame that ends ahead of its launch is followed when that is over", () => {
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost: constantCost(1000),
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [RETURNING],
    policy: auto(),
    executor,
  });
  const sessions = [0, 1].map(() => engine.sessions.open(RETURNING, 8));
  const ended: [string, number][] = [];
  const frame = (session: number, name: string, arrivalNs: number) => ({
    model: RETURNING,
    session: sessions[session],
    input: { x: [1, 1] },
    arrivalNs,
    onEnd: (_: unknown, endNs: number) => void ended.push([name, endNs]),
  });
  // From 2000 on x0's second A runs with y0's first, and y0's B behind them: x1 begins at 4000.
  driveVirtual(engine, timeline, [
    frame(0, "x0", 0),
    frame(0, "x1", 1),
    frame(1, "y0", 500),
  ]);
  assert.deepEqual(ended, [["x0", 3000], ["y0", 5000], ["x1", 7000]]);
});

Deno.test("frames of different streams share a batch, those of one never do", () => {
  const load = {
    sources: [{ streams: 40, periodNs: 100_000 }],
    durationNs: 1e6,
    seed: 3,
  };
  // Alone every frame takes 11 us, so that 40 in 100 us are too many; 40 in one batch take 50.
  const batched = simulated("cellular", { batchSizeMax: 64 }, load);
  assert.equal(batched.refused, 0);
  const latest = Math.max(...[...batched.ended.values()].map((e) => e.endNs));
  assert(latest < 1.2e6, `${latest} ns`);
  const alone = simulated("serial", {}, load);
  assert(alone.refused > 0);
});

Deno.test("a group without a model is named", () => {
  const load = {
    sources: [{ streams: 1, periodNs: 10 }],
    durationNs: 20,
    seed: 1,
  };
  const engine = { sessions: {} } as EngineCore;
  const arrivals = streamArrivals(engine, streamLoad(load), { models: [] });
  assert.throws(() => arrivals.next(), /group 0 has undefined/);
});

Deno.test("options of arrivals that there are not, or that cannot be, are refused", () => {
  const engine = { sessions: {} } as EngineCore;
  const cases: [object, RegExp][] = [
    [{}, /"models" is an array, got undefined/],
    [{ models: [], pendingMaxx: 1 }, /has no option "pendingMaxx"; it takes/],
    [{ models: [], pendingMax: NaN }, /"pendingMax" is a positive integer/],
    [{ models: [], finishNs: -1 }, /"finishNs" is positive, got -1/],
    [{ models: [], each: 5 }, /"each" is a function, got 5/],
  ];
  for (const [options, message] of cases) {
    const arrivals = streamArrivals(engine, [], options as never);
    assert.throws(() => arrivals.next(), { message });
  }
});
