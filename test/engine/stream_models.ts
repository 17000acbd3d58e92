/** Models of streams that tests drive at random, with frames by number, and what a stream of them alone gives. */
import { EngineCore } from "../../src/engine/core/engine.ts";
import { PairedExecutor } from "../../src/engine/virtual/paired_executor.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import { defineCell, f32, i32 } from "../../src/graph/cell_builder.ts";
import type { Result } from "../../src/graph/result.ts";
import {
  defineStream,
  type Frame,
  type StreamModel,
} from "../../src/graph/stream_model.ts";
import { gruStream, lstmStream } from "../../src/models/rnn_stream.ts";
import type { StreamSession } from "../../src/engine/wall/stream_session.ts";
import { serial } from "../../src/policy/baselines/serial.ts";
import { tensor } from "../../src/tensor/tensor.ts";
import { kernels } from "./harness.ts";

/** A model with its frames. */
export interface StreamedModel {
  readonly model: StreamModel;
  /** Frame number `n`. */
  frame(n: number): Frame;
  /** Whether a row of that frame fails. */
  fails(n: number): boolean;
}

function waves(n: number): Float32Array {
  return Float32Array.from([1, 2, 3], (k) => Math.sin(k * (n + 1)));
}

/** Ids below it do not fail. */
export const TABLE_ROWS = 5;

const adder = defineCell({
  name: "adder",
  inputs: { x: f32(2), sum: f32(2) },
  body: (op, { x, sum }) => ({ sum: op.Add(x, sum) }),
});
/** [1, 2], [3, 4] and so on. */
const table = tensor(
  [TABLE_ROWS, 2],
  Float32Array.from({ length: 2 * TABLE_ROWS }, (_, i) => i + 1),
);
const looker = defineCell({
  name: "looker",
  inputs: { id: i32(), sum: f32(2), seen: f32(2) },
  body: (op, { id, sum, seen }) => ({
    y: op.Add(op.Gather(table, id), sum),
    seen: op.Add(seen, sum),
  }),
});

/**
 * Two cells with a state each, of which the second reads the first one's new state, and fails on ids outside of its
 * table: by then the first has written.
 */
export const fragileStream = defineStream({
  name: "fragile-stream",
  cells: [adder, looker],
  inputs: { x: f32(2), id: i32() },
  states: {
    sum: { ...f32(2), from: "sumNext" },
    seen: { ...f32(2), from: "seen", initial: Float32Array.of(10, 20) },
  },
  outputs: { y: "f32", seen: "f32" },
  frame(graph, { x, id, sum, seen }) {
    const row = (data: typeof x) => graph.row(data, 0, 2);
    const added = graph.node(adder, { x: row(x), sum: row(sum) });
    const total = graph.output(added, "sum");
    const looked = graph.node(looker, {
      id: graph.id(id, 0),
      sum: total,
      seen: row(seen),
    });
    graph.result("sumNext", total);
    graph.result("y", graph.output(looked, "y"));
    graph.result("seen", graph.output(looked, "seen"));
  },
});

const fine = (model: StreamModel): StreamedModel => ({
  model,
  frame: (n) => ({ x: waves(n) }),
  fails: () => false,
});

export const STREAMED: readonly StreamedModel[] = [
  fine(lstmStream({ hidden: 5, features: 3, classes: 2 })),
  fine(gruStream({ hidden: 4, features: 3 })),
  {
    model: fragileStream,
    frame: (n) => ({ x: waves(n).subarray(0, 2), id: [n % (TABLE_ROWS + 1)] }),
    fails: (n) => n % (TABLE_ROWS + 1) === TABLE_ROWS,
  },
];

/** Numbers of the results of frames that are pushed one after the other, each result's; f32 is exact in them. */
export async function resultsOf(
  stream: StreamSession,
  frames: readonly Frame[],
): Promise<number[][][]> {
  const results: number[][][] = [];
  for (const frame of frames) {
    const { outputs } = await stream.push(frame);
    results.push(
      Object.values(outputs).map(({ data }) => Array.from(data, Number)),
    );
  }
  return results;
}

/** What a stream gives for these frames that is alone in a fresh engine. */
export function aloneFrames(
  model: StreamModel,
  frames: readonly Frame[],
): Result[] {
  const timeline = new Timeline();
  const executor = new PairedExecutor({
    timeline,
    models: [model],
    kernels,
    slotBytes: 2 ** 16,
    cost: { latencyNs: () => 1000 },
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  const engine = new EngineCore({
    models: [model],
    policy: serial(),
    executor,
  });
  const session = engine.sessions.open(model, Math.max(1, frames.length));
  const results: Result[] = [];
  driveVirtual(
    engine,
    timeline,
    frames.map((input, i) => ({
      model,
      session,
      input,
      arrivalNs: 10 * i,
      onEnd({ result, error }) {
        if (error) throw error;
        results[i] = result!;
      },
    })),
  );
  return results;
}
