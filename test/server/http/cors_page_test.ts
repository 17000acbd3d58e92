/** A page of another origin, in the browsers that this machine has, with `openai` and with plain `fetch`. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { folderOf } from "../../../bench/kernels/peers/install.ts";
import { KeyRing, keySha256 } from "../../../src/server/keys/key_ring.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import { listen } from "../../../src/server/runtime/listen.ts";
import { BROWSER_NAMES, visit } from "../../browsers.ts";
import { installClients } from "../npm_clients.ts";
import { withTextServer } from "../text_models.ts";

const KEY = "a long random string";
const ROOT_KEY = "another one";

/** Reports what each of its calls came to. */
const pageOf = (url: string) =>
  `<!doctype html>
<script type="module">
import OpenAI from "./openai/index.mjs";
const root = ${JSON.stringify(url)};
const client = (apiKey) => new OpenAI({
  baseURL: root + "v1", apiKey, dangerouslyAllowBrowser: true, maxRetries: 0,
});
const json = (key, method, body) => ({
  method, body: JSON.stringify(body),
  headers: { "content-type": "application/json", authorization: "Bearer " + key },
});
const calls = {
  async embeds() {
    const { data } = await client("${KEY}").embeddings.create({ model: "embedder", input: "fish swim" });
    return data[0].embedding.length;
  },
  async streams() {
    const body = { model: "writer", prompt: "fish", max_tokens: 3, stream: true };
    let chunks = 0;
    for await (const chunk of await client("${KEY}").completions.create(body)) chunks += chunk.choices.length;
    return chunks > 0;
  },
  async refused() {
    try {
      await client("wrong").embeddings.create({ model: "embedder", input: "fish" });
    } catch (error) {
      return error.constructor.name + " " + error.status;
    }
  },
  async headers() {
    const response = await fetch(root + "embed", json("${KEY}", "POST", { inputs: "fish" }));
    return [response.status, response.headers.has("x-request-id"), response.headers.get("x-compute-tokens")];
  },
  async page() {
    return (await fetch(root, { headers: { authorization: "Bearer ${ROOT_KEY}" } })).status;
  },
  async loads() {
    return (await fetch(root + "v2/repository/index", json("${ROOT_KEY}", "POST", {}))).status;
  },
};
const report = {};
for (const [name, call] of Object.entries(calls)) {
  try {
    report[name] = await call();
  } catch (error) {
    report[name] = error.constructor.name;
  }
}
await fetch("/report", { method: "POST", body: JSON.stringify(report) });
</script>`;

for (const name of BROWSER_NAMES) {
  Deno.test(`a page of another origin in ${name} calls a server that allows it, and one that does not it cannot`, async () => {
    installClients();
    const keys = new KeyRing([
      { name: "app", sha256: await keySha256(KEY) },
      { name: "root", sha256: await keySha256(ROOT_KEY), scope: "admin" },
    ]);
    const reports: unknown[] = [];
    for (const origins of [["*"], ["https://app.example"]]) {
      const monitor = new Monitor();
      const options = {
        ...{ keys, monitor, cors: { origins } },
        host: { observers: monitor.observers },
      };
      const folder = mkdtempSync(join(tmpdir(), "shoal-page-"));
      try {
        await withTextServer(
          async (_, server) => {
            const listener = await listen(server, { port: 0 });
            symlinkSync(
              fileURLToPath(folderOf("openai")),
              join(folder, "openai"),
            );
            writeFileSync(join(folder, "index.html"), pageOf(listener.url));
            const [report] = await visit(name, [{ root: folder }]) ?? [];
            await listener.close(0);
            if (report !== undefined) reports.push(JSON.parse(report));
          },
          undefined,
          options,
        );
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }
    if (reports.length === 0) {
      return console.log(`skipped: a page in ${name}: not on the PATH`);
    }
    assert.deepEqual(reports, [{
      embeds: 16,
      streams: true,
      refused: "AuthenticationError 401",
      headers: [200, true, "3"],
      page: "TypeError",
      loads: "TypeError",
    }, {
      embeds: "APIConnectionError",
      streams: "APIConnectionError",
      refused: "APIConnectionError undefined",
      headers: "TypeError",
      page: "TypeError",
      loads: "TypeError",
    }]);
  });
}
