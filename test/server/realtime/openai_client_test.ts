/** npm's realtime client over wss, with the bundle's listener in each runtime. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { folderOf } from "../../../bench/kernels/peers/install.ts";
import { RUNTIMES } from "../../runtimes/runtimes.ts";
import { installClients } from "../npm_clients.ts";
import { withCertificate } from "../runtime/certificate.mjs";

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const TIMEOUT_MS = 60_000;

installClients();
const peers = fileURLToPath(new URL("../..", folderOf("x")));

for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
  Deno.test(`openai's client hears of speech over wss from ${name}`, async () => {
    if (spawnSync(command, ["--version"]).error) {
      console.log(
        `skipped: /v1/realtime in ${name}: no ${command} on the PATH`,
      );
      return;
    }
    await withCertificate(async ({ files }) => {
      const server = spawn(command, [
        ...args,
        here("./voices_server.mjs"),
        files.cert,
        files.key,
      ]);
      let out = "";
      let err = "";
      server.stderr.on("data", (bytes) => err += bytes);
      server.stdout.on("data", (bytes) => out += bytes);
      const ended = once(server, "close");
      try {
        while (!out.includes("\n")) {
          await Promise.race([once(server.stdout, "data"), ended]);
          assert.equal(server.exitCode, null, err);
        }
        const client = spawn("node", [
          here("./openai_client.mjs"),
          peers,
          out.trim(),
          files.ca,
        ], { timeout: TIMEOUT_MS });
        let told = "";
        client.stdout.on("data", (bytes) => told += bytes);
        client.stderr.on("data", (bytes) => told += bytes);
        await once(client, "close");
        assert.equal(told.trim(), "ok", err);
        server.stdin.end();
        await ended;
        assert.match(out, /closed/, err);
      } finally {
        server.kill("SIGKILL");
        await ended;
      }
    });
  });
}
