/** The page goes on behind what cannot be done: a frame that fails, a file without sound, no microphone. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BROWSER_NAMES, visit } from "../browsers.ts";
import { pageModels, recording, servePage } from "./page_site.ts";

/**
 * Reports what the page says behind each, whether one can go on, where the focus is, whether the page keeps the recording
 * before, and what is chosen while one chooses again.
 */
const DRIVER = `
const { ready } = globalThis.denoiserPage;
const element = (id) => document.getElementById(id);
const status = () => element("status").textContent;
const controls = ["file", "microphone"].map(element);
async function settled() {
  do await new Promise((resolve) => setTimeout(resolve, 50));
  while (controls.some(({ disabled }) => disabled));
  return status();
}
async function choose(bytes) {
  const files = new DataTransfer();
  files.items.add(new File([bytes], "recording.wav", { type: "audio/wav" }));
  element("file").files = files.files;
  element("file").dispatchEvent(new Event("change"));
  return await settled();
}
async function drive() {
  await ready;
  const bytes = await (await fetch("recording.wav")).arrayBuffer();
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message.samples) message.samples = message.samples.slice(0, 100);
    return postMessage.call(this, message, ...rest);
  };
  const failed = await choose(bytes);
  Worker.prototype.postMessage = postMessage;
  const silent = await choose(new TextEncoder().encode("no sound"));
  navigator.mediaDevices.getUserMedia = async () => {
    // As long as a visitor thinks about it: a control loses the focus with the next picture.
    await new Promise((resolve) => setTimeout(resolve, 200));
    throw new DOMException("Permission denied", "NotAllowedError");
  };
  element("microphone").focus();
  element("microphone").click();
  const refused = await settled();
  const focused = document.activeElement.id;
  const done = await choose(bytes);
  const { href } = element("download");
  await choose(bytes);
  const isKept = await fetch(href).then(() => true, () => false);
  // Nobody has asked for it, so no dialog opens.
  element("file").click();
  return { failed, silent, refused, focused, done, isKept, chosen: element("file").files.length };
}
const late = new Promise((resolve) => setTimeout(resolve, 60_000)).then(() => "nothing more after " + status());
const report = await Promise.race([drive(), late]).catch(String);
await fetch("/report", { method: "POST", body: JSON.stringify(report) });
`;

for (const browser of BROWSER_NAMES) {
  Deno.test(`the page goes on behind what cannot be done, in ${browser}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "shoal-page-"));
    try {
      const { model1, model2 } = pageModels(folder);
      const server = servePage({
        models: { model1, model2 },
        driver: DRIVER,
        files: { "/recording.wav": recording() },
      });
      const root = `http://127.0.0.1:${server.addr.port}`;
      const [report] = await visit(browser, [{ root }]) ?? [];
      await server.shutdown();
      if (report === undefined) {
        return console.log(`skipped: the page in ${browser}: not on the PATH`);
      }
      const told = JSON.parse(report);
      assert.equal(typeof told, "object", told);
      const { failed, silent, refused, focused, done, isKept, chosen } = told;
      assert.match(failed, /brings "samples", f32\[128\], got 100 elements/);
      assert.match(silent, /decode/);
      assert.match(refused, /Permission denied/);
      assert.equal(focused, "microphone", "the keyboard's place is lost");
      assert.match(done, /^2\.00 s of sound in/);
      assert.equal(isKept, false, "the recording before is kept");
      assert.equal(chosen, 0, "choosing the same file again is no change");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
