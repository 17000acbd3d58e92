/**
 * The page live: what a microphone hears, through worklet and engine. In Chromium alone, which plays a recording instead;
 * Firefox has a tone for tests, but starts no sound where there is no device to hear it with.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cellular, ServingEngine } from "../../src/mod.ts";
import { dtln, loadOnnx } from "../../src/onnx.ts";
import { hearing, visit } from "../browsers.ts";
import {
  pageModels,
  RATE_HZ,
  recording,
  servePage,
  TONE_HZ,
} from "./page_site.ts";

const HOP = 128;
/** Messages of the worklet, of 1,024 samples each: more than a second. */
const MESSAGES = 20;
/** After "Stop", for what is heard still: eight messages, if somebody listens. */
const LISTENED_MS = 512;
/** Less than a visit may take: what the page says is told. */
const PATIENCE_MS = 60_000;

/**
 * Clicks on "Microphone", in haste twice, and, when there is enough of it, on "Stop"; reports what the engine was given
 * and gave, and what it was given after that.
 */
const DRIVER = `
const { ready } = globalThis.denoiserPage;
const heard = [];
const cleaned = [];
let worker;
const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message.kind === "frames") {
    heard.push([...message.samples]);
    worker ??= this;
    if (heard.length === 1) {
      worker.addEventListener("message", ({ data }) => {
        if (data.kind === "frames") cleaned.push([...data.samples]);
      });
    }
  }
  return postMessage.call(this, message, ...rest);
};
async function until(isSo) {
  const text = document.getElementById("status");
  const endMs = performance.now() + ${PATIENCE_MS};
  while (!isSo()) {
    if (/Error|missing|not supported/i.test(text.textContent) || performance.now() > endMs) {
      throw new Error(heard.length + " messages heard, " + cleaned.length + " cleaned: " + text.textContent);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
async function drive() {
  await ready;
  const button = document.getElementById("microphone");
  button.click();
  button.click();
  await until(() => cleaned.length >= ${MESSAGES});
  const status = ["status", "figure"].map((id) => document.getElementById(id).textContent).join(" ");
  button.click();
  await until(() => button.textContent === "Microphone");
  const lit = (id) => {
    const canvas = document.getElementById(id);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((sum, value, i) => sum + (i % 4 === 0 && value > 40 ? 1 : 0), 0);
  };
  const count = ${MESSAGES};
  const stopped = heard.length;
  await new Promise((resolve) => setTimeout(resolve, ${LISTENED_MS}));
  const stoppedStatus = document.getElementById("status").textContent;
  return { status, stoppedStatus, later: heard.length - stopped, heard: heard.slice(0, count).flat(), cleaned: cleaned.slice(0, count).flat(), before: lit("before") };
}
const report = await drive().catch((error) => ({ error: String(error) }));
const answer = await fetch("/report", { method: "POST", body: JSON.stringify(report) });
const next = await answer.text();
if (next) location.href = next;
`;

interface Report {
  readonly error?: string;
  readonly status: string;
  /** Some time after "Stop". */
  readonly stoppedStatus: string;
  readonly heard: readonly number[];
  readonly cleaned: readonly number[];
  readonly before: number;
  /** Messages heard after "Stop". */
  readonly later: number;
}

/** Share of the signal's energy that lies at a frequency, over windows of a tenth of a second. */
function toneShare(signal: Float32Array, hz: number): number {
  const size = RATE_HZ / 10;
  let [tone, all] = [0, 0];
  for (let from = 0; from + size <= signal.length; from += size) {
    let [re, im] = [0, 0];
    for (let i = 0; i < size; i++) {
      const value = signal[from + i];
      re += value * Math.cos(2 * Math.PI * hz * i / RATE_HZ);
      im += value * Math.sin(2 * Math.PI * hz * i / RATE_HZ);
      all += value ** 2;
    }
    tone += 2 * (re ** 2 + im ** 2) / size;
  }
  return tone / all;
}

Deno.test("the page denoises what a microphone hears, in Chromium", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-microphone-"));
  try {
    const { model1, model2, detector } = pageModels(folder);
    const model = dtln({
      model1: await loadOnnx(model1),
      model2: await loadOnnx(model2),
    });
    const microphone = join(folder, "recording.wav");
    writeFileSync(microphone, recording("int16"));
    const server = servePage({
      models: { model1, model2, ...(detector && { silero: detector }) },
      driver: DRIVER,
    });
    const root = `http://127.0.0.1:${server.addr.port}`;
    const pages = [{ root, isolated: true }];
    const texts = await visit("chromium", pages, hearing(microphone));
    await server.shutdown();
    if (texts === undefined) {
      return console.log("skipped: the page live: no chromium on the PATH");
    }
    const report: Report = JSON.parse(texts[0]);
    assert.equal(report.error, undefined);
    // On a machine with much else to do messages are left out; what is heard is right all the same.
    assert.match(
      report.status,
      /^Live(\.|, but the engine is behind: not all is heard\.) 64 ms of sound took/,
    );
    assert.equal(report.stoppedStatus, "Stopped.");
    assert(report.before > 1000, `${report.before} pixels`);
    assert.equal(report.later, 0, "a microphone is open still");
    const heard = Float32Array.from(report.heard);
    const share = toneShare(heard, TONE_HZ);
    assert(share > 0.5, `${share} of what was heard is the tone`);

    await using engine = await ServingEngine.create({
      models: [model],
      policy: cellular(),
      workers: 0,
    });
    await using stream = engine.open(model);
    const expected: number[] = [];
    for (let at = 0; at < heard.length; at += HOP) {
      const samples = heard.subarray(at, at + HOP);
      const { outputs } = await stream.push({ samples });
      expected.push(...outputs.samples.data);
    }
    assert.deepEqual(report.cleaned, expected);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
