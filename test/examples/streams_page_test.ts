/** The page that denoises in the browser: a recording through the file input, beside what denoise.ts makes of it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { denoise } from "../../examples/streams/denoise.ts";
import { site } from "../../examples/streams/server.ts";
import { readWav, writeWav } from "../../examples/streams/wav.ts";
import { Prng } from "../../src/base/prng.ts";
import { cellular, ServingEngine } from "../../src/mod.ts";
import { dtln, loadOnnx } from "../../src/onnx.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { BROWSER_NAMES, visit } from "../browsers.ts";
import { modelFolder } from "../onnx/reference_models.ts";
import { dtlnFolders } from "../onnx/speech.ts";
import { node, writeModel } from "../onnx/write_model.ts";

const RATE_HZ = 16_000;
const SECONDS = 2;
const CALLERS = 20;

/** Chooses a file as a visitor would, adds callers, and reports what comes out. */
const DRIVER = `
const { ready, loads, setCallers } = globalThis.denoiserPage;
async function drive() {
  const { threads } = await ready;
  setCallers(${CALLERS});
  const bytes = await (await fetch("recording.wav")).arrayBuffer();
  const files = new DataTransfer();
  files.items.add(new File([bytes], "recording.wav", { type: "audio/wav" }));
  const input = document.getElementById("file");
  input.files = files.files;
  input.dispatchEvent(new Event("change"));
  const result = document.getElementById("result");
  const text = document.getElementById("status");
  while (result.hidden || loads.every(({ callers, frames }) => callers < ${CALLERS} || frames === 0)) {
    if (/Error|missing/.test(text.textContent)) throw new Error(text.textContent);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const wav = new Uint8Array(await (await fetch(document.getElementById("download").href)).arrayBuffer());
  const colours = (id) => {
    const canvas = document.getElementById(id);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((lit, value, i) => lit + (i % 4 === 0 && value > 40 ? 1 : 0), 0);
  };
  return { threads, isolated: crossOriginIsolated, wav: [...wav], before: colours("before"), after: colours("after"), speech: colours("speech") };
}
const report = await drive().catch((error) => ({ error: String(error) }));
const answer = await fetch("/report", { method: "POST", body: JSON.stringify(report) });
const next = await answer.text();
if (next) location.href = next;
`;

interface Report {
  readonly error?: string;
  readonly threads: number;
  readonly isolated: boolean;
  readonly wav: readonly number[];
  readonly before: number;
  readonly after: number;
  readonly speech: number;
}

/** Files of the denoiser's form, for who has not the published ones. */
function smallFiles(): Record<string, Uint8Array> {
  const file = (width: number, op: string, by: number) => {
    const row = [1, 1, width];
    return writeModel({
      graph: {
        inputs: [{ name: "x", dims: row }, { name: "state", dims: [1, 4] }],
        outputs: [{ name: "y", dims: row }, { name: "next", dims: [1, 4] }],
        initializers: {
          by: plainOf("float32", [1], Float32Array.of(by)),
          one: plainOf("float32", [1], Float32Array.of(1)),
        },
        nodes: [
          node("Mul", ["x", "by"], ["scaled"]),
          node(op, ["scaled"], ["y"]),
          node("Add", ["state", "one"], ["next"]),
        ],
      },
    });
  };
  return { model1: file(257, "Sigmoid", 0.1), model2: file(512, "Tanh", 0.25) };
}

/** A tone that comes and goes, and noise. */
function recording(): Uint8Array {
  const prng = new Prng(2);
  const samples = Float32Array.from({ length: SECONDS * RATE_HZ }, (_, i) => {
    const isTone = Math.floor(i / 4000) % 2 === 0;
    const tone = isTone ? 0.4 * Math.sin(2 * Math.PI * 700 * i / RATE_HZ) : 0;
    return tone + 0.1 * prng.float() - 0.05;
  });
  // Floats: of 16 bits, browsers make numbers of their own.
  return writeWav({ rateHz: RATE_HZ, channels: [samples] }, "float32");
}

Deno.test("the page gives a recording the bits that denoise.ts gives it, in each browser", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-page-"));
  try {
    const small = smallFiles();
    for (const [name, bytes] of Object.entries(small)) {
      writeFileSync(join(folder, `${name}.onnx`), bytes);
    }
    const real = dtlnFolders("the denoiser's page with the published files");
    const detector = modelFolder(
      "voice activity of the page",
      "silero-vad-16k",
    );
    const path = (folder: URL) => fileURLToPath(new URL("model.onnx", folder));
    const [model1, model2] = real?.map(path) ??
      ["model1", "model2"].map((name) => join(folder, `${name}.onnx`));
    const model = dtln({
      model1: await loadOnnx(model1),
      model2: await loadOnnx(model2),
    });
    const wav = recording();
    await using engine = await ServingEngine.create({
      models: [model],
      policy: cellular(),
      workers: 0,
    });
    const { channels: [signal] } = readWav(wav);
    const clean = await denoise(engine, model, signal);
    const expected = writeWav({ rateHz: RATE_HZ, channels: [clean] });

    const get = site({
      models: { model1, model2, ...(detector && { silero: path(detector) }) },
    });
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === "/recording.wav") {
          return new Response(new Uint8Array(wav));
        }
        if (pathname === "/driver.js") {
          const headers = { "content-type": "text/javascript" };
          return new Response(DRIVER, { headers });
        }
        const response = await get(request);
        if (pathname !== "/") return response;
        const html = await response.text();
        const driven = html.replace(
          "</body>",
          `<script type="module" src="driver.js"></script></body>`,
        );
        return new Response(driven, { headers: response.headers });
      },
    );
    const root = `http://127.0.0.1:${server.addr.port}`;
    for (const browser of BROWSER_NAMES) {
      await t.step(`in ${browser}`, async () => {
        const pages = [true, false].map((isolated) => ({ root, isolated }));
        const texts = await visit(browser, pages);
        if (texts === undefined) {
          return console.log(
            `skipped: the page in ${browser}: not on the PATH`,
          );
        }
        texts.forEach((text, i) => {
          const report: Report = JSON.parse(text);
          assert.equal(report.error, undefined);
          assert.equal(report.isolated, pages[i].isolated);
          assert.equal(report.threads, pages[i].isolated ? 1 : 0);
          const { channels: [got] } = readWav(Uint8Array.from(report.wav));
          assert.deepEqual(got, readWav(expected).channels[0]);
          assert(report.before > 1000, `${report.before} pixels`);
          assert(report.after > 100, `${report.after} pixels`);
          if (detector) assert(report.speech >= 0);
        });
      });
    }
    await server.shutdown();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
