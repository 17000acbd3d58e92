/** The page that denoises in the browser: a recording through the file input, beside what denoise.ts makes of it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { denoise } from "../../examples/streams/denoise.ts";
import { readWav, writeWav } from "../../examples/streams/wav.ts";
import { cellular, ServingEngine } from "../../src/mod.ts";
import { dtln, loadOnnx } from "../../src/onnx.ts";
import { BROWSER_NAMES, visit } from "../browsers.ts";
import { pageModels, RATE_HZ, recording, servePage } from "./page_site.ts";

const CALLERS = 20;
/** More than browsers have a layout for. */
const CHANNELS = 8;

/**
 * Chooses a file as a visitor would, adds callers, loads the page again, for which Firefox keeps what was entered and
 * what could be, and reports what came out, the callers that it shows then, and what could be done before it was ready.
 */
const DRIVER = `
const { ready, loads, setCallers } = globalThis.denoiserPage;
const early = ["file", "microphone", "callers"].filter((id) => !document.getElementById(id).disabled);
const soon = () => {
  const text = document.getElementById("status").textContent;
  if (/Error|missing/.test(text)) throw new Error(text);
  return new Promise((resolve) => setTimeout(resolve, 20));
};
async function denoised(name) {
  const [input, download] = ["file", "download"].map((id) => document.getElementById(id));
  const { href } = download;
  const bytes = await (await fetch(name)).arrayBuffer();
  const files = new DataTransfer();
  files.items.add(new File([bytes], name, { type: "audio/wav" }));
  input.files = files.files;
  input.dispatchEvent(new Event("change"));
  while (download.href === href || input.disabled) await soon();
  return [...new Uint8Array(await (await fetch(download.href)).arrayBuffer())];
}
async function drive() {
  const { threads } = await ready;
  const shown = ["callers", "callers-shown"].map((id) => document.getElementById(id).value);
  const first = sessionStorage.getItem("report");
  if (first) return { ...JSON.parse(first), shown, early };
  setCallers(${CALLERS});
  const wav = await denoised("recording.wav");
  while (loads.every(({ callers, frames }) => callers < ${CALLERS} || frames === 0)) await soon();
  const colours = (id) => {
    const canvas = document.getElementById(id);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((lit, value, i) => lit + (i % 4 === 0 && value > 40 ? 1 : 0), 0);
  };
  const lit = { before: colours("before"), after: colours("after"), speech: colours("speech") };
  return { threads, isolated: crossOriginIsolated, wav, ...lit, wide: await denoised("wide.wav") };
}
const report = await drive().catch((error) => ({ error: String(error) }));
if (!report.error && !report.shown) {
  sessionStorage.setItem("report", JSON.stringify(report));
  location.reload();
  await new Promise(() => {});
}
const answer = await fetch("/report", { method: "POST", body: JSON.stringify(report) });
const next = await answer.text();
if (next) location.href = next;
`;

interface Report {
  readonly error?: string;
  readonly threads: number;
  readonly isolated: boolean;
  readonly wav: readonly number[];
  /** Of eight channels. */
  readonly wide: readonly number[];
  readonly before: number;
  readonly after: number;
  readonly speech: number;
  /** Of the slider and beside it. */
  readonly shown: readonly string[];
  /** Controls that could be used before there was an engine. */
  readonly early: readonly string[];
}

Deno.test("the page gives a recording the bits that denoise.ts gives it, in each browser", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-page-"));
  try {
    const { model1, model2, openDetector } = pageModels(folder);
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
    const clean = async (sound: Float32Array) => {
      const channels = [await denoise(engine, model, sound)];
      return readWav(writeWav({ rateHz: RATE_HZ, channels })).channels[0];
    };
    const expected = await clean(signal);
    // The last channel alone is heard, so that the mean of all is an eighth of it.
    const wide = writeWav({
      rateHz: RATE_HZ,
      channels: Array.from(
        { length: CHANNELS },
        (_, i) => i === CHANNELS - 1 ? signal : new Float32Array(signal.length),
      ),
    }, "float32");
    const expectedWide = await clean(signal.map((x) => x / CHANNELS));

    const server = servePage({
      models: { model1, model2, silero: openDetector },
      driver: DRIVER,
      files: { "/recording.wav": wav, "/wide.wav": wide },
    });
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
          for (
            const [got, want] of [
              [report.wav, expected],
              [report.wide, expectedWide],
            ] as const
          ) {
            const { channels: [sound] } = readWav(Uint8Array.from(got));
            assert.equal(sound.length, want.length);
            const other = sound.findIndex((value, at) => value !== want[at]);
            assert.equal(other, -1, `${sound[other]}, not ${want[other]}`);
          }
          assert(report.before > 1000, `${report.before} pixels`);
          assert(report.after > 100, `${report.after} pixels`);
          assert(report.speech > 100, `${report.speech} pixels`);
          assert.deepEqual(report.shown, ["0", "0"]);
          assert.deepEqual(report.early, []);
        });
      });
    }
    await server.shutdown();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
