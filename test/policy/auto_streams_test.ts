/** Our own policy beside streams: a frame that is late makes the next one of its stream late, so it counts for more. */
import assert from "node:assert/strict";
import type { Cell } from "../../src/graph/cell.ts";
import { simulatedEngine } from "../../src/engine/virtual/simulated_engine.ts";
import { streamArrivals } from "../../src/engine/virtual/stream_arrivals.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import type { StreamModel } from "../../src/graph/stream_model.ts";
import { gruStream, lstmStream } from "../../src/models/rnn_stream.ts";
import { auto } from "../../src/policy/auto/auto.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { staticChain } from "./static_chain.ts";
import { told } from "./told.ts";

const STREAM = gruStream({ hidden: 1, features: 1 });
/** Of another model. */
const OTHER = lstmStream({ hidden: 1, features: 1 });
/** Of no stream. */
const PLAIN = staticChain({ cells: ["A"] });
/** A batch of one takes 110. */
const batchNs = (_cell: Cell, rows: number) => 100 + 10 * rows;
/** So late frames could wait for 90. */
const policy = () => auto({ profile: batchNs, slaNs: 200 });

/** Batches of frames by their numbers from 1. */
function framesTold(
  timesNs: readonly number[],
  { models = [STREAM], group = () => 0, latencyNs = batchNs, ...rest }: {
    models?: readonly StreamModel[];
    /** Default: each of its own. */
    streams?: number;
    group?: (frame: number) => number;
    latencyNs?: (cell: Cell, rows: number) => number;
    policy?: Policy;
    workers?: number;
  } = {},
): string[] {
  const tasks: string[] = [];
  const { engine, timeline } = simulatedEngine({
    models,
    policy: rest.policy ?? policy(),
    cost: { latencyNs },
    workers: rest.workers ?? 1,
    observer: {
      task(_task, { startNs, endNs, requests }) {
        const numbers = requests.map((id) => id + 1);
        tasks.push(`${startNs}..${endNs} ${numbers}`);
      },
    },
  });
  const { streams = timesNs.length } = rest;
  const frames = timesNs.map((atNs, frame) => ({
    stream: frame % streams,
    group: group(frame),
    atNs,
  }));
  driveVirtual(engine, timeline, streamArrivals(engine, frames, { models }));
  return tasks;
}

/** The same of requests of no stream. */
const plainTold = (timesNs: readonly number[]) =>
  told({
    policy: policy(),
    models: [PLAIN],
    requests: timesNs.map((arrivalNs) => ({ arrivalNs })),
    cost: { latencyNs: batchNs },
  }).map((task) => task.replace("w0 A:", ""));

Deno.test("late frames go together as far as that takes little longer than one alone; late requests one by one", () => {
  const timesNs = [0, 5, 5, 5, 5, 5, 5, 5, 5];
  assert.deepEqual(framesTold(timesNs).slice(0, 2), [
    "0..110 1",
    // Five at most: 150 is 40 more than one alone, half of the 90 is 45.
    "110..260 2,3,4,5,6",
  ]);
  assert.deepEqual(plainTold(timesNs).slice(0, 3), [
    "0..110 1",
    "110..220 2",
    "220..330 3",
  ]);
});

Deno.test("late frames ride along while those in time take a fifth longer at most; late requests where it is next to nothing", () => {
  const timesNs = [0, 5, 5, 5, 5, 109];
  assert.deepEqual(framesTold(timesNs).slice(0, 2), [
    "0..110 1",
    // 130 instead of 110, though the last one has until 309.
    "110..240 6,2,3",
  ]);
  assert.deepEqual(plainTold(timesNs).slice(0, 3), [
    "0..110 1",
    "110..220 6",
    "220..330 2",
  ]);
});

Deno.test("without a target the model goes whose frames have waited most for its time; of others the one that is done first", () => {
  // The second is of a model that takes three times as long: of requests it would be last.
  const timesNs = [0, 5, 95];
  const isLong = (i: number) => i === 1;
  const models = [STREAM, OTHER];
  const latencyNs = ({ name }: Cell) =>
    name === OTHER.cells[0].name ? 300 : 100;
  assert.deepEqual(
    framesTold(timesNs, {
      models,
      group: (i) => isLong(i) ? 1 : 0,
      latencyNs,
      policy: auto({ profile: latencyNs }),
    }),
    ["0..100 1", "100..400 2", "400..500 3"],
  );
  const [short, long] = ["A", "B"].map((name) =>
    staticChain({ cells: [name] })
  );
  const plainNs = ({ name }: Cell) => name === "B" ? 300 : 100;
  assert.deepEqual(
    told({
      policy: auto({ profile: plainNs }),
      models: [short, long],
      requests: timesNs.map((arrivalNs, i) => ({
        arrivalNs,
        model: isLong(i) ? long : short,
      })),
      cost: { latencyNs: plainNs },
    }),
    ["0..100 w0 A:1", "100..200 w0 A:3", "200..500 w0 B:2"],
  );
});

Deno.test("beside other workers the streams go that are done first", () => {
  const latencyNs = ({ name }: Cell) =>
    name === OTHER.cells[0].name ? 300 : 100;
  // Both workers are busy when the third comes, which is of the slow model.
  const tasks = framesTold([0, 1, 5, 95], {
    models: [STREAM, OTHER],
    group: (i) => i === 2 ? 1 : 0,
    latencyNs,
    policy: auto({ profile: latencyNs }),
    workers: 2,
  });
  assert.deepEqual(tasks, ["0..100 1", "1..101 2", "100..200 4", "101..401 3"]);
});

Deno.test("what a frame takes is foreseen by what was learned since its stream began", () => {
  // Three at a time: the second would be late behind the first, the third would not.
  const timesNs = Array.from(
    { length: 50 },
    (_, i) => [0, 5, 60].map((ns) => 1000 * i + ns),
  ).flat();
  const tasks = framesTold(timesNs, {
    streams: 3,
    policy: auto({ slaNs: 150 }),
    latencyNs: (_cell, rows) => 100 * rows,
  });
  assert.deepEqual(tasks.slice(-3), [
    "49000..49100 148",
    "49100..49200 150",
    "49200..49300 149",
  ]);
});
