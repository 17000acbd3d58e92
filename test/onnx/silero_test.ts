/** Silero's detector as a model of streams: its context and state are kept. */
import assert from "node:assert/strict";
import { silero } from "../../src/models/silero.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { plainTensor } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { modelFolder } from "./reference_models.ts";
import { sequenceOf } from "./speech.ts";

const SAMPLES = 512;
const CONTEXT = 64;

Deno.test("silero: 90 windows of speech have the probabilities that ONNX Runtime gives them", async () => {
  const folder = modelFolder("silero", "silero-vad-16k");
  if (!folder) return;
  const url = new URL("model.onnx", folder);
  // What its branches for 8 kHz would be has no part in its results.
  const model = silero(await loadOnnx(url));
  // The convolution that is its transform is a fast one.
  const found = model.cells.flatMap(({ operators }) => operators);
  assert(found.some(({ op }) => op === "RFFT"));
  const sequence = sequenceOf(folder);
  const windows = sequence.get("input")!.data as Float32Array;
  const wanted = sequence.get("output")!.data as Float32Array;
  let states: Record<string, Float32Array> = {};
  wanted.forEach((probability, t) => {
    const at = t * (CONTEXT + SAMPLES) + CONTEXT;
    const samples = windows.slice(at, at + SAMPLES);
    const [result] = runRequests(model, [{ samples, ...states }], {
      slotBytes: 2 ** 24,
    });
    const [speech] = result.speech.data as Float32Array;
    assert(
      Math.abs(speech - probability) < 2e-5,
      `window ${t}: ${speech}, expected ${probability}`,
    );
    states = {
      context: result.context.data as Float32Array,
      state: result.state.data as Float32Array,
    };
  });
  const last = sequence.get("final_state")!.data as Float32Array;
  last.forEach((value, i) =>
    assert(Math.abs(states.state[i] - value) < 2e-5, `state ${i}`)
  );
});

Deno.test("silero: only a file of a window and a state is a detector; constants have the input's type", async () => {
  const folder = modelFolder("silero", "silero-vad-16k");
  if (!folder) return;
  const url = new URL("model.onnx", folder);
  const file = await loadOnnx(url);
  const whole = file.whole();
  assert.throws(
    () => silero({ whole: () => ({ ...whole, outputs: [] }) }),
    /got input f32\[1 x 576\], state f32\[2 x 1 x 128\] and none/,
  );
  const rate = plainTensor("int32", [], Int32Array.of(16000));
  await assert.rejects(
    loadOnnx(url, { constants: new Map([["sr", rate]]) }),
    (error: Error) =>
      error instanceof OnnxError &&
      /input "sr": it is int64, the constant in its place int32/.test(
        error.message,
      ),
  );
});
