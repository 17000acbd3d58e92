/** The page live before an engine that is too slow, in Chromium, which plays a recording for a microphone. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hearing, visit } from "../browsers.ts";
import { pageModels, recording, servePage } from "./page_site.ts";

/** Half a second of the microphone's messages. */
const AHEAD_MAX = 8;
/** Samples of a message, for one of 1,024: more than can be denoised while the next comes. */
const SAMPLES = 2 ** 20;
const CALLERS = 5;

/**
 * Makes what is heard too long for the engine, and, when the page says so, sets callers; reports how much was in the
 * engine at most, and whether the callers were there before what the engine had then.
 */
const DRIVER = `
const { ready, loads, setCallers } = globalThis.denoiserPage;
let [sent, answered, aheadMax] = [0, 0, 0];
const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message.kind === "frames") {
    message.samples = new Float32Array(${SAMPLES});
    if (sent++ === 0) this.addEventListener("message", ({ data }) => answered += data.kind === "frames");
    aheadMax = Math.max(aheadMax, sent - answered);
  }
  return postMessage.call(this, message, ...rest);
};
const status = () => document.getElementById("status").textContent;
async function until(isSo) {
  const endMs = performance.now() + 60_000;
  while (!isSo()) {
    if (performance.now() > endMs) throw new Error(sent + " sent, " + answered + " answered: " + status());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
async function drive() {
  await ready;
  document.getElementById("microphone").click();
  await until(() => /behind/.test(status()));
  const before = sent;
  setCallers(${CALLERS});
  await until(() => loads.some(({ callers }) => callers === ${CALLERS}));
  return { aheadMax, atOnce: answered < before };
}
const report = await drive().catch((error) => ({ error: String(error) }));
await fetch("/report", { method: "POST", body: JSON.stringify(report) });
`;

Deno.test("the page live leaves out what its engine is too slow for, and callers can be changed, in Chromium", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-behind-"));
  try {
    const { model1, model2 } = pageModels(folder);
    const microphone = join(folder, "recording.wav");
    writeFileSync(microphone, recording("int16"));
    const server = servePage({ models: { model1, model2 }, driver: DRIVER });
    const root = `http://127.0.0.1:${server.addr.port}`;
    const pages = [{ root, isolated: true }];
    const texts = await visit("chromium", pages, hearing(microphone));
    await server.shutdown();
    if (texts === undefined) {
      return console.log("skipped: the page live: no chromium on the PATH");
    }
    const { error, aheadMax, atOnce } = JSON.parse(texts[0]);
    assert.equal(error, undefined);
    assert.equal(aheadMax, AHEAD_MAX);
    assert(atOnce, "callers wait behind what is heard");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
