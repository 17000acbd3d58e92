/**
 * From an empty folder to the first answer: the package is installed with npm, serves a folder with a model, and is
 * asked once, in Deno, Node and Bun. Deno allows the server its address, its models and the package itself, no more.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import process from "node:process";
import { RUNTIMES } from "../runtimes/runtimes.ts";
import { scaleFile } from "../server/repository/folders.ts";
import { Stranger } from "./stranger.ts";

const COMMAND = "node_modules/@shoal/core/build/dist/cli.js";

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function firstAnswer(name: string, startMs: number, of: Stranger) {
  const port = await freePort();
  const [command, ...args] = name === "deno"
    ? [
      ...[process.execPath, "run", "--no-prompt"],
      `--allow-net=127.0.0.1:${port}`,
      "--allow-read=models,node_modules",
    ]
    : RUNTIMES[name];
  const installedMs = performance.now();
  await of.during(
    [command, ...args, COMMAND, "serve", "models", "--port", `${port}`],
    /listening at/,
    async () => {
      const url = `http://127.0.0.1:${port}/v2/models/scores/infer`;
      const x = { name: "x", datatype: "FP32", shape: [1, 2], data: [1, 2] };
      const response = await fetch(url, {
        method: "POST",
        body: JSON.stringify({ inputs: [x] }),
      });
      const { outputs } = await response.json();
      assert.deepEqual(outputs[0].data, [2, 4]);
      const seconds = (ms: number) => (ms / 1000).toFixed(1);
      console.log(
        `${name}: ${seconds(performance.now() - startMs)} s to the first ` +
          `answer, of which ${seconds(installedMs - startMs)} s to install`,
      );
    },
  );
}

Deno.test("an empty folder has its first answer from a server in every runtime", async (t) => {
  for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
    await t.step(`in ${name}`, async () => {
      using stranger = new Stranger();
      if (stranger.tryRun(command, ...versionArgs(name, args)) === undefined) {
        return console.log(`skipped: ${name}: no ${command} on the PATH`);
      }
      mkdirSync(stranger.path("models/scores"), { recursive: true });
      writeFileSync(stranger.path("models/scores/model.onnx"), scaleFile(2));
      const startMs = performance.now();
      stranger.install();
      await firstAnswer(name, startMs, stranger);
    });
  }
});

/** Also fetches a runtime that is not there, which is not part of the time. */
function versionArgs(name: string, args: readonly string[]): string[] {
  return name === "bun" ? [...args, "--version"] : ["--version"];
}
