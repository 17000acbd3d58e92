/** ONNX Runtime under the engine's load: what the bench does around it, with a runtime that stands in. */
import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { PeerSubject } from "../../../bench/streams/models.ts";
import {
  sileroCaller,
  stepCaller,
} from "../../../bench/streams/peers/callers.ts";
import {
  PeerEngine,
  type Sessions,
} from "../../../bench/streams/peers/peer_engine.ts";
import type { PeerStreams } from "../../../bench/streams/peers/measure_peers.ts";
import type { StreamPeer } from "../../../bench/streams/peers/runtimes.ts";
import { differenceOf } from "../../../bench/streams/peers/same_results.ts";
import { withRows } from "../../../bench/streams/peers/with_rows.ts";
import type { ModelStreams } from "../../../bench/streams/measure.ts";
import { peersTable } from "../../../bench/streams/table.ts";
import { readModel } from "../../../src/onnx/read/read_model.ts";
import { node, writeModel } from "../../onnx/write_model.ts";

/** y = x + s, and s is y in the next frame. */
const FILE = writeModel({
  graph: {
    inputs: [{ name: "x", dims: [1, 1] }, { name: "s", dims: [2, 1, 1] }],
    outputs: [{ name: "y", dims: [1, 1] }, { name: "t", dims: [2, 1, 1] }],
    nodes: [
      node("Add", ["x", "s"], ["y"]),
      node("Identity", ["s"], ["t"]),
    ],
  },
});

const SUBJECT: PeerSubject = {
  ...{ input: "x", output: "y", caller: stepCaller },
  files: () => [{ bytes: FILE, states: { s: "t" } }],
};

/** Sums what it is given with the state, a turn of the event loop later. */
class StandIn implements StreamPeer {
  readonly name = "stand-in";
  readonly provider = "cpu";
  sessions = 0;
  released = 0;
  underWay = 0;
  readonly ort = {
    Tensor: class {
      constructor(
        readonly type: string,
        readonly data: Float32Array,
        readonly dims: readonly number[],
      ) {}
    },
    InferenceSession: {
      create: () => {
        this.sessions++;
        return Promise.resolve({
          run: async ({ x, s }: Record<string, { data: Float32Array }>) => {
            assert.equal(this.underWay++, 0);
            const sum = Float32Array.of(x.data[0] + s.data[0]);
            await setImmediate();
            this.underWay--;
            return {
              y: { data: sum, dims: [1, 1] },
              t: { data: sum, dims: [] },
            };
          },
          release: () => Promise.resolve(void this.released++),
        });
      },
    },
  } as unknown as StreamPeer["ort"];
}

for (
  const [sessions, made] of [["each", 3], ["one", 1]] as [Sessions, number][]
) {
  Deno.test(`streams of a peer with ${sessions} session keep their states, and end with their frames`, async () => {
    const peer = new StandIn();
    const engine = new PeerEngine(peer, SUBJECT, sessions);
    await engine.prepare(3);
    await engine.prepare(2);
    assert.equal(peer.sessions, made);
    const done: number[][] = [];
    const streams = [1, 10, 100].map((x) => ({ x, stream: engine.open() }));
    for (let frame = 0; frame < 2; frame++) {
      for (const { x, stream } of streams) {
        const pushed = stream.push({ x: Float32Array.of(x) });
        pushed.then(({ outputs }) =>
          done.push([x, outputs.y.data[0] as number])
        );
      }
    }
    await Promise.all(streams.map(({ stream }) => stream.close()));
    const sums = [[1, 1], [10, 10], [100, 100], [1, 2], [10, 20], [100, 200]];
    assert.deepEqual(done, sums);
    await engine.release();
    assert.equal(peer.released, made);
  });
}

Deno.test("a detector's window begins with the last samples of the one before", async () => {
  const windows: Float32Array[] = [];
  const push = sileroCaller([(window) => {
    windows.push(window);
    return Promise.resolve(window);
  }]);
  const samples = (from: number) =>
    Float32Array.from({ length: 512 }, (_, i) => from + i);
  await push(samples(1));
  await push(samples(1001));
  assert.deepEqual(windows.map((window) => window.length), [576, 576]);
  assert.deepEqual([...windows[0].subarray(62, 66)], [0, 0, 1, 2]);
  assert.deepEqual([...windows[1].subarray(0, 66)], [
    ...samples(1).subarray(448),
    ...[1001, 1002],
  ]);
});

Deno.test("a file with a batch of one becomes one of more rows, in inputs and outputs", () => {
  const { inputs, outputs, nodes } = readModel(withRows(FILE, 5)).graph;
  const dims = [...inputs, ...outputs].map(({ dims }) => dims?.map(Number));
  assert.deepEqual(dims, [[5, 1], [2, 5, 1], [5, 1], [2, 5, 1]]);
  assert.equal(nodes.length, 2);
  assert.equal(withRows(FILE, 1), FILE);
});

Deno.test("what computes something else is told apart, and nothing is compared with it", () => {
  assert.equal(differenceOf([1, 0.1], [1, 0.105]), undefined);
  assert.equal(differenceOf([1, 0.1], [1, 0.125]), "off by 0.025 of 1.0");
  assert.equal(differenceOf([1, NaN], [1, 0]), "off by NaN of 1.0");
  assert.equal(differenceOf([1], [1, 2]), "1 elements, not 2");
  const way = { peer: "a", sessions: "batch", rows: 16, frameMs: 1, fit: 32 };
  const peers = [
    { ...way, carried: undefined, differs: "off by 0.025 of 1.0" },
    { ...way, carried: undefined, turns: { us: 2, oursUs: 1, ratio: 2 } },
  ] as PeerStreams[];
  const { rows } = peersTable([
    { model: "m", peers } as unknown as ModelStreams,
  ]);
  const last = rows.map((row) => row!.at(-1)!.text);
  assert.deepEqual(last, ["off by 0.025 of 1.0", "2.00x"]);
});
