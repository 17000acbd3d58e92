/** `shoal serve` as a process: its lines, its signals, and what Deno has to allow. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { open } from "node:fs/promises";
import { get } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { folderOf } from "../../bench/kernels/peers/install.ts";
import { serve } from "../../src/cli/serve.ts";
import { scaleFile, TestFolder } from "../server/repository/folders.ts";
import { answerOf, requestOf } from "../server/oip/client.ts";
import { installClients } from "../server/npm_clients.ts";
import { LISTENING, Running } from "./serving_process.ts";
import { withCertificate } from "../server/runtime/certificate.mjs";

async function scaled(url: string): Promise<unknown> {
  const x = { name: "x", datatype: "FP32", shape: [1, 2], values: [1, 2] };
  const response = await fetch(
    `${url}v2/models/scale/infer`,
    requestOf([[x, "binary"]]),
  );
  return (await answerOf(response)).outputs[0].values;
}

Deno.test("it serves a folder, loads what has changed, and ends when it is told", async () => {
  using folder = new TestFolder();
  folder.write("scale/model.onnx", scaleFile(2));
  const metrics = { compatible: ["triton"] };
  const cors = { origins: ["https://file.example"] };
  folder.write("shoal.json", { slo_ms: 10_000, workers: 1, metrics, cors });
  const allowed = ["https://a.example", "https://b.example"];
  await using running = new Running(["-A"], [
    ...[folder.path, "--port", "0"],
    ...allowed.flatMap((origin) => ["--cors-origin", origin]),
  ]);
  const url = await running.until(LISTENING);
  assert.equal(running.out, `listening at ${url}\n`);
  assert.match(
    running.err,
    /^loaded scale\/1 \(tensors\): x FP32\[-1,2\] -> y FP32\[-1,2\]$/m,
  );
  assert.deepEqual(await scaled(url), [2, 4]);
  const figures = await (await fetch(`${url}metrics`)).text();
  assert.match(figures, /^nv_inference_count\{model="scale",version="1"\} 1$/m);
  assert.doesNotMatch(figures, /^te_/m);
  for (const origin of [...allowed, ...cors.origins]) {
    const { headers } = await fetch(`${url}metrics`, { headers: { origin } });
    const shared = headers.get("access-control-allow-origin");
    // Options go before the file.
    assert.equal(shared, allowed.includes(origin) ? origin : null);
  }
  folder.write("scale/model.onnx", scaleFile(3));
  folder.write("other/model.onnx", scaleFile(1));
  running.signal("SIGHUP");
  await running.until(/loaded other\/1/, "err");
  assert.deepEqual(await scaled(url), [3, 6]);
  assert.doesNotMatch(running.err, /shoal\.json/);
  folder.write("shoal.json", { keys: [] });
  running.signal("SIGHUP");
  await running.until(/^shoal serve: shoal\.json has changed: it is /m, "err");
  assert.deepEqual(await scaled(url), [3, 6]);
  running.signal("SIGTERM");
  assert.equal(await running.ended, 0, running.err);
  await assert.rejects(fetch(url));
});

for (const left of [["stdout"], ["stdout", "stderr"]] as const) {
  Deno.test(`it goes on when nobody reads its ${left.join(" and ")} any more`, async () => {
    using folder = new TestFolder();
    folder.write("scale/model.onnx", scaleFile(2));
    await using running = new Running(["-A"], [
      ...[folder.path, "--port", "0", "--access-log"],
    ]);
    const url = await running.until(LISTENING);
    assert.deepEqual(await scaled(url), [2, 4]);
    await running.until(/"path":"\/v2\/models\/scale\/infer"/);
    running.leave(...left);
    for (let i = 0; i < 3; i++) assert.deepEqual(await scaled(url), [2, 4]);
    if (left.length === 1) {
      await running.until(/goes on without its output: .*EPIPE/, "err");
      assert.equal(running.err.match(/goes on/g)!.length, 1);
    }
    running.signal("SIGTERM");
    assert.equal(await running.ended, 0, running.err);
  });
}

Deno.test("SIGHUP while it loads for the first time loads again what has changed", async () => {
  using folder = new TestFolder();
  folder.write("scale/model.onnx", scaleFile(2));
  const pipe = join(folder.path, "scale/shoal.json");
  execFileSync("mkfifo", [pipe]);
  await using running = new Running(["-A"], [folder.path, "--port", "0"]);
  // Opens when the server reads it, and so loads.
  const settings = await open(pipe, "w");
  folder.remove("scale/shoal.json");
  folder.write("scale/model.onnx", scaleFile(3));
  folder.write("other/model.onnx", scaleFile(1));
  running.signal("SIGHUP");
  await settings.writeFile("{}");
  await settings.close();
  const url = await running.until(LISTENING);
  await running.until(/loaded scale[^]*loaded other/, "err");
  assert.deepEqual(await scaled(url), [3, 6]);
  running.signal("SIGTERM");
  assert.equal(await running.ended, 0, running.err);
});

Deno.test("Deno allows nothing but reading, and its address", async () => {
  using folder = new TestFolder();
  folder.write("scale/model.onnx", scaleFile(2));
  const allowed = [`--allow-read`, "--allow-net=127.0.0.1"];
  await using running = new Running(allowed, [folder.path, "--port", "0"]);
  const url = await running.until(LISTENING);
  assert.deepEqual(await scaled(url), [2, 4]);
  running.signal("SIGINT");
  assert.equal(await running.ended, 0, running.err);
});

Deno.test("what cannot be served is said in a line", async () => {
  using folder = new TestFolder();
  folder.write("good/model.onnx", scaleFile(2));
  folder.write("good/vocab.txt", {});
  folder.write("bad/model.onnx", Uint8Array.of(1));
  await using running = new Running(["-A"], [folder.path, "--port", "0"]);
  assert.equal(await running.ended, 2);
  assert.match(running.err, /^good\/1: there is vocab.txt, but no tokenizer/m);
  assert.match(running.err, /^cannot load bad: .*model\.onnx/m);
  assert.match(running.err, /--keep-going serves the others\n$/);
  folder.write("shoal.json", { port: 0, prot: 1 });
  await assert.rejects(serve([folder.path]), /shoal\.json.*prot/);
});

Deno.test("a folder that is no folder of models is told so", async () => {
  using folder = new TestFolder();
  const told = (args: string[], message: RegExp) =>
    assert.rejects(serve(args), (error: Error) => {
      assert.equal(error.name, "UsageError");
      assert.match(error.message, message);
      return true;
    });
  const { path } = folder;
  // An empty variable of a shell, of which every network would hear.
  await told([path, "--host", ""], /"host".*got ""/);
  await told([path, "--tls-cert", "a"], /^--tls-cert needs --tls-key$/);
  await told([path, "--tls-key", "a"], /^--tls-key needs --tls-cert$/);
  await told(
    [path, "--cors-origin", "https://a.example/"],
    /"cors\.origins\.0".*\("https:\/\/a\.example"\?\), got "https:\/\/a\.example\/"$/,
  );
  await told([path, "--slo-ms", "-1"], /front is --slo-ms=-VALUE; see/);
  await told([path, "--slo-ms", "--host"], /front is --slo-ms=-VALUE; see/);
  const key = { name: "a", sha256: "0".repeat(64) };
  folder.write("shoal.json", { keys: [key, key] });
  await told([path], /^Keys 1 and 2 have one name, "a"/);
  folder.remove("shoal.json");
  folder.write("scale/model.onnx", scaleFile(2));
  await told(
    [`${path}/scale/model.onnx`],
    /^\S+\.onnx is a file: DIR has a folder for each model, .*; see shoal/,
  );
  await told([`${path}/none`], /^There is no folder \S+none; see shoal/);
  await told([`${path}/scale`], /^model\.onnx lies in DIR itself: .*DIR\/NAME/);
  folder.remove("scale");
  folder.write(".git/config", {});
  await using empty = new Running(["-A"], [path, "--port", "0"]);
  await empty.until(LISTENING);
  await empty.until(/^there are no models in /m, "err");
  folder.write("my scale/model.onnx", scaleFile(2));
  await using unfit = new Running(["-A"], [path, "--port", "0"]);
  assert.equal(await unfit.ended, 2);
  assert.match(unfit.err, /^cannot load "my scale": .*; rename its folder$/m);
});

Deno.test("a port that cannot be had is told before anything is loaded, and what to do", async () => {
  using folder = new TestFolder();
  folder.write("bad/model.onnx", Uint8Array.of(1));
  const taken = createServer();
  await new Promise<void>((resolve) =>
    taken.listen(0, "127.0.0.1", () => resolve())
  );
  const { port } = taken.address() as AddressInfo;
  const other = `${port === 65_535 ? port - 1 : port + 1}`;
  const told = (args: string[], message: RegExp) =>
    assert.rejects(serve([folder.path, ...args]), (error: Error) => {
      assert.equal(error.name, "UsageError");
      assert.match(error.message, message);
      return true;
    });
  const inUse = (option: string) =>
    new RegExp(
      `^127\\.0\\.0\\.1:${port} is in use already: .* with ${option}, or 0 `,
    );
  await told(["--port", `${port}`], inUse("--port"));
  await told(
    ["--port", "0", "--agent-port", `${port}`],
    inUse("--agent-port"),
  );
  await told(
    ["--port", other, "--agent-port", other],
    new RegExp(`^--port and --agent-port are both ${other}: `),
  );
  await told(
    ["--host", "no.such.host.invalid"],
    /^--host: this machine has no/,
  );
  await new Promise((resolve) => taken.close(resolve));
});

installClients();
/** Where gRPC's package is. */
const WITH_GRPC = fileURLToPath(new URL("../..", folderOf("x")));

for (const option of ["--port", "--agent-port", "--grpc-port"]) {
  Deno.test(`a port that is taken while models are loaded is told as well: ${option}`, async () => {
    using folder = new TestFolder();
    const pipe = join(folder.path, "scale/shoal.json");
    folder.write("scale/model.onnx", scaleFile(2));
    execFileSync("mkfifo", [pipe]);
    const taken = createServer();
    const listening = (port: number) =>
      new Promise<void>((resolve) =>
        taken.listen(port, "127.0.0.1", () => resolve())
      );
    await listening(0);
    const { port } = taken.address() as AddressInfo;
    await new Promise((resolve) => taken.close(resolve));
    await using running = new Running(["-A"], [
      folder.path,
      ...Object.entries({
        "--port": 0,
        "--agent-port": 0,
        "--grpc-port": 0,
        [option]: port,
      }).flat().map(String),
    ], WITH_GRPC);
    const settings = await open(pipe, "w");
    await listening(port);
    await settings.writeFile("{}");
    await settings.close();
    assert.equal(await running.ended, 2);
    assert.match(running.err, /^shoal: 127\.0\.0\.1:\d+ is in use already: /m);
    assert(running.err.includes(`:${port} is in use`));
    assert(running.err.includes(`another one with ${option},`));
    await new Promise((resolve) => taken.close(resolve));
  });
}

Deno.test("certificate and key of files make it HTTPS", async () => {
  using folder = new TestFolder();
  folder.write("scale/model.onnx", scaleFile(2));
  await withCertificate(async ({ ca, files }) => {
    await using running = new Running(["-A"], [
      ...[folder.path, "--port", "0"],
      ...["--tls-cert", files.cert, "--tls-key", files.key],
    ]);
    const url = await running.until(/^listening at (https:\S+)$/m);
    const status = await new Promise((resolve, reject) =>
      get(`${url}v2/health/ready`, { ca, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on("error", reject)
    );
    assert.equal(status, 200);
    running.signal("SIGTERM");
    assert.equal(await running.ended, 0, running.err);
  });
});

Deno.test("a certificate or a key that is none, or another's, is told so before anything is loaded", async () => {
  using folder = new TestFolder();
  const told = (cert: string, key: string, message: RegExp) =>
    assert.rejects(
      serve([folder.path, "--tls-cert", cert, "--tls-key", key]),
      (error: Error) => {
        assert.equal(error.name, "UsageError");
        assert.match(error.message, message);
        return true;
      },
    );
  await withCertificate(async ({ files, cert, key }) => {
    const { path } = folder;
    await told(files.key, files.cert, /^The certificate, .*swapped\?$/);
    await told(
      files.cert,
      files.cert,
      /^The key, .*has no "BEGIN PRIVATE KEY"/,
    );
    await told(files.ca, files.key, /^The key, .*is not that of the first /);
    const write = (name: string, text: string) => {
      folder.write(name, new TextEncoder().encode(text));
      return join(path, name);
    };
    await told(write("empty", ""), files.key, /has no "BEGIN CERTIFICATE"/);
    const locked = key.replaceAll("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    await told(files.cert, write("locked", locked), /is encrypted; openssl/);
    await told(write("cut", cert.slice(0, 200)), files.key, /cut cannot be /);
    await told(files.cert, write("half", key.slice(0, 60)), /half cannot be /);
  });
});
