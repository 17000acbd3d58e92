/**
 * The denoiser of two files as one model of streams: against the frames that ONNX Runtime recorded of each file, against
 * its authors' steps in plain TypeScript, alone and among others, and what it does to noise.
 */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { defineCell, f32, row } from "../../src/graph/cell_builder.ts";
import type { CellSource } from "../../src/models/cell_source.ts";
import { dtln } from "../../src/models/dtln.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { runFrames, signalToNoise, type States } from "./run_frames.ts";
import {
  added,
  denoiseNaively,
  dtlnFolders,
  HOP,
  sequenceOf,
  signalOf,
  speechWindows,
  WINDOW,
} from "./speech.ts";

const KEPT = WINDOW - HOP;
const BINS = WINDOW / 2 + 1;

type Dtln = ReturnType<typeof dtln>;

/** Runs a signal through, frame by frame, and gives what comes out with the last states. */
function run(model: Dtln, signal: Float32Array, initial: States = {}) {
  const { out, states } = runFrames(model, signal, {
    ...{ hop: HOP, out: "samples", initial },
  });
  return { samples: out, states };
}

/** @throws unless all numbers are as far apart as `tolerance` times the largest, at most */
function assertClose(
  got: ArrayLike<number>,
  wanted: ArrayLike<number>,
  tolerance: number,
): void {
  assert.equal(got.length, wanted.length);
  let [most, worst] = [0, 0];
  for (let i = 0; i < wanted.length; i++) {
    most = Math.max(most, Math.abs(wanted[i]));
    worst = Math.max(worst, Math.abs(got[i] - wanted[i]));
  }
  assert(worst <= tolerance * most, `off by ${worst}, the largest is ${most}`);
}

/** A stage that leaves what it is given as it is: a mask of ones. */
const PASS: CellSource = {
  whole: () =>
    defineCell({
      name: "pass",
      inputs: { magnitude: f32(BINS), state: row("f32", [1, 1]) },
      body: (op, { magnitude, state }) => ({
        mask: op.Clip(magnitude, { min: 1, max: 1 }),
        state: op.Neg(state),
      }),
    }),
};

/** A second stage that does so. */
const SAME: CellSource = {
  whole: () =>
    defineCell({
      name: "same",
      inputs: { block: f32(WINDOW), state: f32(3) },
      body: (op, { block, state }) => ({
        block,
        state: op.Add(state, op.Constant([1])),
      }),
    }),
};

Deno.test("dtln: stages that change nothing give the signal back, four windows of it, 384 samples late", () => {
  const prng = new Prng(4);
  const signal = Float32Array.from(
    { length: 12 * HOP },
    () => 2 * prng.float() - 1,
  );
  const model = dtln({ model1: PASS, model2: SAME });
  const { samples, states } = run(model, signal);
  const late = signal.map((_, i) => i < KEPT ? 0 : 4 * signal[i - KEPT]);
  assertClose(samples, late, 1e-6);
  assert.deepEqual([...states.state2 as Float32Array], [12, 12, 12]);
});

Deno.test("dtln: files of another form are refused", () => {
  const promised = Promise.resolve() as never;
  assert.throws(() => dtln({ model1: promised, model2: promised }), {
    name: "TypeError",
    message: /^"model1" is what loadOnnx\(\) resolves to, /,
  });
  const refuses = (model1: CellSource, model2: CellSource, message: RegExp) =>
    assert.throws(() => dtln({ model1, model2 }), message);
  refuses(PASS, PASS, /model2 takes windows .* got magnitude f32\[257\]/);
  refuses(
    SAME,
    SAME,
    /model1 takes and gives 257 numbers and a state, got block/,
  );
  const { inputs, outputs, ...rest } = SAME.whole();
  const part = (more: object): CellSource => ({
    whole: () => ({ inputs, outputs, ...rest, ...more }),
  });
  refuses(PASS, part({ outputs: outputs.slice(1) }), /model2 takes and gives/);
  refuses(PASS, part({ inputs: [] }), /model2 takes windows .* got none/);
  refuses(PASS, part({ inputs: inputs.slice(0, 1) }), /model2 takes and gives/);
});

async function load([first, second]: readonly [URL, URL]) {
  const [model1, model2] = await Promise.all(
    [first, second].map((folder) => loadOnnx(new URL("model.onnx", folder))),
  );
  return { model1, model2 };
}

/** The window in front of a signal's first new samples. */
function windowBefore(signal: Float32Array): Float32Array {
  const window = new Float32Array(WINDOW);
  window.set(signal.subarray(0, KEPT), HOP);
  return window;
}

/** A file's state [layers][units][h or c] as [layers][h or c][units]. */
function regrouped(state: ArrayLike<unknown>): Float32Array {
  const [layers, units] = [2, 128];
  return Float32Array.from({ length: state.length }, (_, i) => {
    const [layer, part] = [
      Math.floor(i / units / 2),
      Math.floor(i / units) % 2,
    ];
    return Number(state[(layer * units + i % units) * layers + part]);
  });
}

Deno.test("dtln: recorded windows of speech become the state that ONNX Runtime has after 100 frames", async () => {
  const folders = dtlnFolders("dtln");
  if (!folders) return;
  const model = dtln(await load(folders));
  const signal = signalOf(speechWindows(folders[1]));
  // The recording begins with a whole window.
  const { states } = run(model, signal.subarray(KEPT), {
    window: windowBefore(signal),
  });
  const { data } = sequenceOf(folders[0]).get("final_state")!;
  assertClose(states.state1 as Float32Array, regrouped(data), 2e-5);
});

Deno.test("dtln: recorded outputs of the second file add up to the samples that come out", async () => {
  const folders = dtlnFolders("dtln");
  if (!folders) return;
  const { model2 } = await load(folders);
  const windows = speechWindows(folders[1]);
  const signal = signalOf(windows);
  const { samples, states } = run(
    dtln({ model1: PASS, model2 }),
    signal.subarray(KEPT),
    { window: windowBefore(signal) },
  );
  const sequence = sequenceOf(folders[1]);
  const output = sequence.get("output")!.data as Float32Array;
  const recorded = windows.map((_, t) =>
    output.subarray(t * WINDOW, (t + 1) * WINDOW)
  );
  assertClose(samples, added(recorded), 2e-5);
  const { data } = sequence.get("final_state")!;
  assertClose(states.state2 as Float32Array, regrouped(data), 2e-5);
});

Deno.test("dtln: samples are those of its authors' steps, with magnitude and phase", async () => {
  const folders = dtlnFolders("dtln");
  if (!folders) return;
  const model = dtln(await load(folders));
  const signal = signalOf(speechWindows(folders[1]).slice(0, 60));
  const { samples } = run(model, signal);
  assertClose(samples, denoiseNaively(folders, signal), 1e-5);
});

/** What comes out of streams whose frames are pushed side by side. */
async function streamed(
  model: Dtln,
  signals: readonly Float32Array[],
): Promise<Float32Array[]> {
  await using engine = await ServingEngine.create({
    models: [model],
    policy: cellular({ batchSizeMax: 64 }),
    workers: 1,
  });
  return await Promise.all(signals.map(async (signal) => {
    await using stream = engine.open(model);
    const frames = Array.from(
      { length: signal.length / HOP },
      (_, t) => ({ samples: signal.subarray(t * HOP, (t + 1) * HOP) }),
    );
    const out = new Float32Array(signal.length);
    let at = 0;
    for await (const { outputs } of stream.pipe(frames)) {
      out.set(outputs.samples.data, at);
      at += HOP;
    }
    return out;
  }));
}

Deno.test("dtln: a stream has the same bits alone and among 200, as frames by themselves", async () => {
  const folders = dtlnFolders("dtln");
  if (!folders) return;
  const model = dtln(await load(folders));
  const speech = signalOf(speechWindows(folders[1]));
  // Each begins somewhere else.
  const signals = Array.from(
    { length: 200 },
    (_, i) => speech.slice(i * 61, i * 61 + 6 * HOP),
  );
  const together = await streamed(model, signals);
  for (const i of [0, 1, 77, 199]) {
    const [alone] = await streamed(model, [signals[i]]);
    assert.deepEqual(together[i], alone, `stream ${i}`);
    assert.deepEqual(alone, run(model, signals[i]).samples, `stream ${i}`);
  }
});

Deno.test("dtln: less noise", async () => {
  const folders = dtlnFolders("dtln");
  if (!folders) return;
  const model = dtln(await load(folders));
  const speech = signalOf(speechWindows(folders[1]));
  const power = speech.reduce((sum, x) => sum + x ** 2, 0) / speech.length;
  for (const decibels of [0, 5, 10]) {
    const prng = new Prng(decibels + 1);
    // Even noise in [-a, a] has the power a^2 / 3.
    const height = Math.sqrt(3 * power / 10 ** (decibels / 10));
    const noisy = speech.map((x) => x + height * (2 * prng.float() - 1));
    const { samples } = run(model, noisy);
    // What comes out is late.
    const late = samples.subarray(KEPT);
    const clean = speech.subarray(0, late.length);
    const before = signalToNoise(clean, noisy.subarray(0, late.length));
    const after = signalToNoise(clean, late);
    console.log(`${before.toFixed(1)} dB became ${after.toFixed(1)} dB`);
    assert(after > before + 5, `${before} dB became ${after} dB`);
  }
});
