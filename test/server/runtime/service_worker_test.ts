/** The server in a service worker, in the browsers that this machine has: pages ask it what they would ask a server. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BROWSER_NAMES, visit } from "../../browsers.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const WORKER = `import { lstm, ServingEngine } from "./dist/mod.js";
import { createServer, servedTokens } from "./dist/server.js";
import { TextTokenizer } from "./dist/text.js";
const model = lstm({ hidden: 4, vocabulary: 10, head: "classifier" });
const server = ServingEngine.create({ models: [model], warmUp: false })
  .then((engine) => createServer(engine, { models: [servedTokens(model, { name: "intents" })] }));
const words = () =>
  TextTokenizer.load({ tokenizer: { model: { type: "WordLevel", unk_token: "a", vocab: { a: 0 } } } })
    .then(() => "loaded", ({ message }) => message);
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (pathname === "/tokenizer") event.respondWith(words().then((text) => new Response(text)));
  if (!pathname.startsWith("/v2/")) return;
  event.respondWith(server.then((server) => server.fetch(event.request)));
});
`;

/** Asks with bodies that are small, and larger than what is read at once; reports statuses and numbers of results. */
const PAGE = `<!doctype html><script type="module">
const { serviceWorker } = navigator;
async function ask(tokens) {
  const inputs = [{ name: "tokens", datatype: "INT32", shape: [tokens.length], data: tokens }];
  const answer = await fetch("/v2/models/intents/infer", { method: "POST", body: JSON.stringify({ inputs, outputs: [{ name: "logits" }] }) });
  const { error, outputs } = await answer.json();
  return error ?? outputs[0].data.length;
}
async function drive() {
  await serviceWorker.register("worker.js", { type: "module" });
  while (!serviceWorker.controller) await new Promise((resolve) => setTimeout(resolve, 20));
  const ready = (await fetch("/v2/health/ready")).status;
  const tokenizer = await (await fetch("/tokenizer")).text();
  return { tokenizer, ready, small: await ask([3, 1, 4]), large: await ask(Array(12_000).fill(7)) };
}
const report = await drive().catch(String);
await fetch("/report", { method: "POST", body: JSON.stringify(report) });
</script>`;

for (const browser of BROWSER_NAMES) {
  Deno.test(`the server answers in a service worker of ${browser}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "shoal-service-worker-"));
    try {
      cpSync(`${ROOT}build/dist`, join(folder, "dist"), { recursive: true });
      writeFileSync(join(folder, "worker.js"), WORKER);
      writeFileSync(join(folder, "index.html"), PAGE);
      const texts = await visit(browser, [{ root: folder }]);
      if (texts === undefined) {
        return console.log(
          `skipped: a service worker in ${browser}: not on the PATH`,
        );
      }
      const { tokenizer, ...answers } = JSON.parse(texts[0]);
      assert.deepEqual(answers, { ready: 200, small: 5, large: 5 });
      assert.match(
        tokenizer,
        /^Cannot load the code of tokenizers: .*: bundle yours into one file$/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
