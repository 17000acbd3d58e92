/** The denoiser from file to file. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Prng } from "../../src/base/prng.ts";
import { readWav, writeWav } from "../../examples/streams/wav.ts";
import {
  denoiseNaively,
  dtlnFolders,
  signalOf,
  speechWindows,
} from "../onnx/speech.ts";

const SCRIPT = fileURLToPath(
  new URL("../../examples/streams/denoise.ts", import.meta.url),
);
/** How late samples come out. */
const LATE = 384;

async function denoised(...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", SCRIPT, ...args],
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder();
  return { code, out: text.decode(stdout), errors: text.decode(stderr) };
}

Deno.test("denoise.ts: from WAV to WAV what the authors' steps give, at its place", async () => {
  const folders = dtlnFolders("denoise.ts");
  if (!folders) return;
  const prng = new Prng(9);
  const speech = signalOf(speechWindows(folders[1])).subarray(0, 5_000);
  const noisy = speech.map((x) => x + 0.02 * (2 * prng.float() - 1));
  const folder = await mkdtemp(join(tmpdir(), "denoise-"));
  try {
    const [from, to] = ["in.wav", "out.wav"].map((name) => join(folder, name));
    const channels = [noisy, speech];
    await writeFile(from, writeWav({ rateHz: 16_000, channels }));
    const [model1, model2] = folders.map((url) =>
      fileURLToPath(new URL("model.onnx", url))
    );
    const models = ["--model1", model1, "--model2", model2];
    const { code, out, errors } = await denoised(from, to, ...models);
    assert.equal(code, 0, errors);
    assert.match(out, /^2 x 0\.31 s of sound in /);
    const given = readWav(await readFile(from));
    const got = readWav(await readFile(to));
    assert.equal(got.rateHz, 16_000);
    assert.equal(got.channels.length, 2);
    got.channels.forEach((channel, c) => {
      const signal = new Float32Array(speech.length + 2 * LATE);
      signal.set(given.channels[c]);
      const wanted = denoiseNaively(folders, signal).subarray(LATE);
      assert.equal(channel.length, speech.length);
      channel.forEach((sample, i) =>
        // Half a step of 16 bits, and rounding.
        assert(
          Math.abs(sample - wanted[i]) < 2 ** -16 + 1e-5,
          `channel ${c}, sample ${i}: ${sample}, expected ${wanted[i]}`,
        )
      );
    });

    await writeFile(from, writeWav({ rateHz: 44_100, channels }));
    const refused = await denoised(from, to, ...models);
    assert.equal(refused.code, 1);
    assert.match(
      refused.errors,
      /44100 samples a second, DTLN was trained on 16000/,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

Deno.test("denoise.ts: says that there is nothing in a file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "denoise-"));
  try {
    const [from, to] = ["in.wav", "out.wav"].map((name) => join(folder, name));
    const channels = [new Float32Array(0)];
    await writeFile(from, writeWav({ rateHz: 16_000, channels }));
    // It is told before the models are loaded.
    const models = ["--model1", "none.onnx", "--model2", "none.onnx"];
    const { code, errors } = await denoised(from, to, ...models);
    assert.equal(code, 1);
    assert.match(errors, /^There is nothing in .*in\.wav: it has no samples/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

Deno.test("denoise.ts: says how it is used", async () => {
  const { code, errors } = await denoised("in.wav");
  assert.equal(code, 1);
  assert.match(errors, /^Usage: denoise\.ts in\.wav out\.wav/);
});
