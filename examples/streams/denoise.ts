/**
 * Takes the noise out of a recording of speech at 16 kHz, with the two files of DTLN (breizhn/DTLN,
 * `pretrained_model/model_1.onnx` and `model_2.onnx`):
 *
 *   deno run -A examples/streams/denoise.ts in.wav out.wav --model1 model_1.onnx --model2 model_2.onnx
 *
 * Every channel is a stream of its own; they share batches.
 */
import { parseArgs } from "node:util";
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { cellular, ServingEngine } from "@shoal/core";
import { dtln, loadOnnx } from "@shoal/core/onnx";
import { readWav, writeWav } from "./wav.ts";

/** What the files were trained on. */
export const RATE_HZ = 16_000;
/** Samples of a frame, and of what is kept between two. */
const [HOP, KEPT] = [128, 384];

export type Denoiser = ReturnType<typeof dtln>;

/** A signal without its noise, as long as it was and at its place: what comes out late is moved back. */
export async function denoise(
  engine: ServingEngine,
  model: Denoiser,
  signal: Float32Array,
): Promise<Float32Array> {
  await using stream = engine.open(model);
  const out = new Float32Array(signal.length);
  let at = -KEPT;
  for await (const { outputs } of stream.pipe(frames(signal))) {
    const { data } = outputs.samples;
    const from = Math.max(0, -at);
    const end = Math.min(HOP, signal.length - at);
    if (from < end) out.set(data.subarray(from, end), at + from);
    at += HOP;
  }
  return out;
}

/** Frames of a signal, zeros behind its end until all of it has come out. */
function* frames(signal: Float32Array): Generator<{ samples: Float32Array }> {
  for (let at = 0; at < signal.length + KEPT; at += HOP) {
    const samples = new Float32Array(HOP);
    samples.set(signal.subarray(at, at + HOP));
    yield { samples };
  }
}

/** @throws RangeError when a recording has another rate */
export function checkRate(rateHz: number): void {
  if (rateHz === RATE_HZ) return;
  throw new RangeError(
    `The recording has ${rateHz} samples a second, DTLN was trained on ${RATE_HZ}; resample it first, ` +
      `for instance with "ffmpeg -i in.wav -ar ${RATE_HZ} speech.wav"`,
  );
}

async function main(): Promise<void> {
  const { values, positionals: [from, to] } = parseArgs({
    allowPositionals: true,
    options: { model1: { type: "string" }, model2: { type: "string" } },
  });
  const { model1, model2 } = values;
  if (!from || !to || !model1 || !model2) {
    throw new RangeError(
      "Usage: denoise.ts in.wav out.wav --model1 model_1.onnx --model2 model_2.onnx",
    );
  }
  const { rateHz, channels } = readWav(await readFile(from));
  if (channels[0].length === 0) {
    throw new RangeError(`There is nothing in ${from}: it has no samples`);
  }
  checkRate(rateHz);
  const model = dtln({
    model1: await loadOnnx(model1),
    model2: await loadOnnx(model2),
  });
  await using engine = await ServingEngine.create({
    models: [model],
    policy: cellular(),
  });
  const began = performance.now();
  const clean = await Promise.all(
    channels.map((signal) => denoise(engine, model, signal)),
  );
  const seconds = (performance.now() - began) / 1000;
  await writeFile(to, writeWav({ rateHz, channels: clean }));
  const length = channels[0].length / rateHz;
  console.log(
    `${channels.length} x ${length.toFixed(2)} s of sound in ${
      seconds.toFixed(2)
    } s`,
  );
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
