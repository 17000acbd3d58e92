/** Files that come to commands through pipes, which have them once, and files that go to the standard output. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import http from "node:http";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { node, writeModel } from "../onnx/write_model.ts";

const CLI = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));

/** y = x w. */
const MODEL = writeModel({
  graph: {
    inputs: [{ name: "x", dims: ["N", 2] }],
    outputs: [{ name: "y" }],
    initializers: { w: plainOf("float32", [2, 2], [1, 2, 3, 4]) },
    nodes: [node("MatMul", ["x", "w"], ["y"])],
  },
});

/** A program's arguments that have it run `shoal`. */
const shoal = (args: readonly string[]) => [
  ...[process.execPath, "run", "-A", "-q", "--no-check", CLI],
  ...args,
];

/** What comes of a command of the shell in which "$@" is `shoal` with arguments. */
async function piped(command: string, args: readonly string[]) {
  const child = spawn("sh", ["-c", command, "sh", ...shoal(args)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { out, err, code };
}

async function inFolder(
  body: (model: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-stdout-"));
  try {
    const model = join(folder, "model.onnx");
    writeFileSync(model, MODEL);
    await body(model, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Times that nobody measured. */
const PROFILE = JSON.stringify({
  model: "lstm",
  options: { hidden: 4, vocabulary: 10 },
  machine: "made up",
  workers: 1,
  host: { taskNs: [[1, 2000]], turnNs: [[1, 5000]], requestNs: 1000 },
  stretches: [{ speed: [[1000]], pauses: [] }],
  tablesNs: { lstm_step: [[1, 110_000], [8, 800_000]] },
});

Deno.test("a pipe has what it has once, and commands read it once", () =>
  inFolder(async (model, folder) => {
    const file = (name: string, content: string) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const profile = file("profile.json", PROFILE);
    const times = Array.from({ length: 600 }, (_, i) => `${i / 10},1\n`);
    const trace = file("trace.csv", `t_seconds,count\n${times.join("")}`);
    const asked = { profile: "/dev/stdin" };
    const config = file(
      "config.json",
      JSON.stringify({
        model: { name: "lstm", options: { hidden: 4, vocabulary: 10 } },
        policies: [
          { name: "lazy", options: { ...asked, batchSizeMax: 4 } },
          { name: "oracle", options: { ...asked, batchSizeMax: 4 } },
        ],
        workload: { requests: 5, arrivals: { kind: "at-once" } },
        cost: asked,
      }),
    );
    const plan = ["plan", "/dev/stdin", "--trace", trace, "--slo-ms", "30"];
    const commands = [
      [profile, [...plan, "--policy", "serial", "--requests", "300"]],
      [profile, ["simulate", "--config", config]],
      [model, ["quantize", "/dev/stdin", "-o", join(folder, "out.onnx")]],
    ] as const;
    for (const [path, args] of commands) {
      const { err, code } = await piped(`cat '${path}' | "$@"`, args);
      assert.equal(code, 0, `${args[0]}: ${err}`);
    }
  }));

const isJson = (written: string) => assert(JSON.parse(written).model);

Deno.test("a file that goes to the standard output is alone there, and the results are beside it", () =>
  inFolder(async (model) => {
    await using server = http.createServer((_, response) => response.end("{}"))
      .listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const load = ["load", `http://127.0.0.1:${port}/`, "--rate", "50"];
    const short = ["--seconds", "0.2", "--warm-up", "0"];
    const commands = [
      [
        ["quantize", model, "-o"],
        /^(?![^]*layer +op)[^]*MatMulInteger/,
        /1 layers/,
      ],
      [["inspect", model, "--json", "--svg"], /^<svg[^]*<\/svg>\n?$/, /cells"/],
      [["npu", model, "--profile"], isJson, /^cycles \d+/m],
      [["npu", model, "--report"], /^<!doctype[^]*<\/html>\n?$/i, /cycles \d+/],
      [
        [...load, ...short, "--html"],
        /^<!doctype[^]*<\/html>\n?$/i,
        /NOT VALID/,
      ],
    ] as const;
    for (const [args, written, beside] of commands) {
      const { out, err } = await piped(`"$@" | cat`, [...args, "/dev/stdout"]);
      if (written instanceof RegExp) assert.match(out, written, err);
      else written(out);
      assert.match(err, beside, args.join(" "));
    }
  }));

Deno.test("nobody reading a file on the standard output is no failure", async () => {
  const args = ["npu", "--network", "resnet50", "--profile", "/dev/stdout"];
  const ended = `{ "$@"; echo status $? >&2; } | true`;
  const { err } = await piped(ended, args);
  assert.doesNotMatch(err, /Cannot write/);
  assert.match(err, /^status 0$/m);
});

Deno.test("a program that Node starts has a socket for its standard output, which takes files", () =>
  inFolder(async (model) => {
    const program = `
      const [command, ...args] = process.argv.slice(1);
      const { stdout, stderr } = require("node:child_process")
        .spawnSync(command, args, { encoding: "utf8" });
      process.stdout.write(JSON.stringify({ stdout, stderr }));
    `;
    const args = ["npu", model, "--profile", "/dev/stdout"];
    const child = spawn("node", ["-e", program, ...shoal(args)]);
    const { stdout, stderr } = JSON.parse(await text(child.stdout));
    assert.doesNotMatch(stderr, /Cannot write/);
    isJson(stdout);
    assert.match(stderr, /cycles \d+/);
  }));
