/** gRPC in the other runtimes, with the bundle. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { folderOf } from "../../../bench/kernels/peers/install.ts";
import { RUNTIMES } from "../../runtimes/runtimes.ts";
import { scaleFile, TestFolder } from "../repository/folders.ts";
import { grpcClient } from "./client.ts";

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const TIMEOUT_MS = 60_000;

const peers = fileURLToPath(new URL("../..", folderOf("x")));

for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
  Deno.test(`the bundle speaks gRPC in ${name}`, () => {
    const { error, status, stdout, stderr } = spawnSync(
      command,
      [...args, here("./bundle_checks.mjs"), peers, here(".")],
      { encoding: "utf8", timeout: TIMEOUT_MS },
    );
    if (error && "code" in error && error.code === "ENOENT") {
      console.log(`skipped: gRPC in ${name}: no ${command} on the PATH`);
      return;
    }
    assert.ifError(error);
    assert.equal(status, 0, stderr);
    assert.equal(stdout.trim(), "ok", stderr);
  });
}

/** `shoal serve` of the bundle, in a folder. */
function serve(cwd: string, ...args: readonly string[]) {
  const cli = here("../../../build/dist/cli.js");
  const child = spawn("node", [cli, "serve", ...args], { cwd });
  const told = { out: "", err: "" };
  child.stdout.on("data", (bytes) => told.out += bytes);
  child.stderr.on("data", (bytes) => told.err += bytes);
  const ended = new Promise<number | null>((resolve) =>
    child.on("close", resolve)
  );
  return { child, told, ended };
}

Deno.test("the command serves both ports, where gRPC's package is installed", async () => {
  using folder = new TestFolder();
  folder.write("scale/model.onnx", scaleFile(2));
  const ports = ["--port", "0", "--grpc-port", "0"];
  const { child, told, ended } = serve(peers, folder.path, ...ports);
  try {
    const over = ended.then(() => assert.fail(`it has ended: ${told.err}`));
    while (!/^listening at .*\n/m.test(told.out)) {
      await Promise.race([
        over,
        new Promise((resolve) => setTimeout(resolve, 5)),
      ]);
    }
    const [, address] = /^gRPC at (127\.0\.0\.1:\d+)$/m.exec(told.out)!;
    const client = grpcClient(address);
    const answer = await client.call("ModelInfer", {
      model_name: "scale",
      inputs: [{
        name: "x",
        datatype: "FP32",
        shape: [1, 2],
        contents: { fp32_contents: [1, 2] },
      }],
    }) as { outputs: { contents: { fp32_contents: number[] } }[] };
    assert.deepEqual(answer.outputs[0].contents.fp32_contents, [2, 4]);
    client.close();
    over.catch(() => {});
    process.kill(child.pid!, "SIGTERM");
    assert.equal(await ended, 0, told.err);
  } finally {
    child.kill("SIGKILL");
  }
});

Deno.test("the command says what is missing where it is not", async () => {
  using folder = new TestFolder();
  const { told, ended } = serve(folder.path, folder.path, "--grpc-port", "0");
  assert.equal(await ended, 2);
  assert.match(told.err, /needs @grpc\/grpc-js.*npm install @grpc\/grpc-js\n$/);
});
