/**
 * What weights of int8 cost the published denoiser and detector, LSTMs quantised as well: on recorded speech, beside
 * the floats. The figures stand in docs/streams.md.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Prng } from "../../src/base/prng.ts";
import { dtln } from "../../src/models/dtln.ts";
import { silero } from "../../src/models/silero.ts";
import { loadOnnx } from "../../src/onnx/load.ts";
import { quantizeOnnx } from "../../src/onnx/quantize.ts";
import { modelFolder } from "./reference_models.ts";
import { runFrames, signalToNoise } from "./run_frames.ts";
import {
  dtlnFolders,
  HOP,
  sequenceOf,
  signalOf,
  speechWindows,
  WINDOW,
} from "./speech.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The file as it is, and with weights of int8. */
async function files(folder: URL): Promise<[floats: Bytes, int8: Bytes]> {
  const floats = readFileSync(new URL("model.onnx", folder));
  const { bytes, left } = await quantizeOnnx(floats, { recurrent: true });
  assert.deepEqual(left.filter(({ op }) => op === "LSTM"), []);
  return [floats, bytes];
}

Deno.test("dtln of int8: as much less noise as of floats, to half a decibel", async () => {
  const folders = dtlnFolders("dtln of int8");
  if (!folders) return;
  const [first, second] = await Promise.all(folders.map(files));
  const [floats, int8] = await Promise.all(
    [0, 1].map(async (i) =>
      dtln({
        model1: await loadOnnx(first[i]),
        model2: await loadOnnx(second[i]),
      })
    ),
  );
  const speech = signalOf(speechWindows(folders[1]));
  const power = speech.reduce((sum, x) => sum + x ** 2, 0) / speech.length;
  for (const decibels of [0, 5, 10]) {
    const prng = new Prng(decibels + 1);
    // Even noise in [-a, a] has the power a^2 / 3.
    const height = Math.sqrt(3 * power / 10 ** (decibels / 10));
    const noisy = speech.map((x) => x + height * (2 * prng.float() - 1));
    const [wanted, got] = [floats, int8].map((model) =>
      // What comes out is late.
      runFrames(model, noisy, { hop: HOP, out: "samples" }).out
        .subarray(WINDOW - HOP)
    );
    const clean = speech.subarray(0, got.length);
    const [before, ofFloats, ofInt8] = [noisy, wanted, got].map((one) =>
      signalToNoise(clean, one.subarray(0, clean.length))
    );
    const apart = signalToNoise(wanted, got);
    console.log(
      `${before.toFixed(1)} dB: ${ofFloats.toFixed(2)} dB of floats, ${
        ofInt8.toFixed(2)
      } dB of int8, which are ${apart.toFixed(1)} dB apart`,
    );
    assert(Math.abs(ofInt8 - ofFloats) < 0.5, `${ofFloats}, ${ofInt8} dB`);
    assert(apart > 30 && apart < 60, `${apart} dB apart`);
  }
});

Deno.test("silero of int8: the same decisions about speech as of floats, but where it is near one", async () => {
  const folder = modelFolder("silero of int8", "silero-vad-16k");
  if (!folder) return;
  const [hop, context] = [512, 64];
  const windows = sequenceOf(folder).get("input")!;
  const signal = Float32Array.from(
    { length: windows.dims[0] * hop },
    (_, i) => {
      const [t, at] = [Math.floor(i / hop), i % hop];
      return Number(windows.data[t * (hop + context) + context + at]);
    },
  );
  const [wanted, got] = await Promise.all(
    (await files(folder)).map(async (file) =>
      runFrames(silero(await loadOnnx(file)), signal, { hop, out: "speech" })
        .out
    ),
  );
  const apart = wanted.map((probability, t) => Math.abs(probability - got[t]));
  const changed = wanted.filter((probability, t) =>
    (probability >= 0.5) !== (got[t] >= 0.5)
  );
  const mean = apart.reduce((sum, one) => sum + one) / apart.length;
  const most = apart.reduce((a, b) => Math.max(a, b));
  console.log(
    `${apart.length} windows: probabilities ${
      mean.toFixed(4)
    } apart in the mean, ${
      most.toFixed(3)
    } at most; ${changed.length} decisions changed`,
  );
  assert.equal(apart.length, 90);
  assert(mean > 0 && mean < 0.01, `${mean} in the mean`);
  assert(most < 0.12, `${most} at most`);
  for (const probability of changed) {
    assert(Math.abs(probability - 0.5) < 0.2, `${probability} changed sides`);
  }
});
