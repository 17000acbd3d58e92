/** What is printed: results and progress, without what a terminal would obey. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { main } from "../../src/cli/main.ts";
import { print, progress } from "../../src/cli/terminal.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { node, writeModel } from "../onnx/write_model.ts";
import { captured } from "./captured.ts";

/** Clears the screen, and gives the window a title. */
const HOSTILE = "\u001b[2J\u001b]0;title\u0007\u009b2J";

/** Its names are what anybody may have written. */
const MODEL = writeModel({
  graph: {
    inputs: [{ name: `x${HOSTILE}`, dims: [1, 4] }],
    outputs: [{ name: `y${HOSTILE}`, dims: [1, 4] }],
    initializers: {
      [`w${HOSTILE}`]: plainOf("float32", [4, 4], Array(16).fill(1)),
    },
    nodes: [
      node("MatMul", [`x${HOSTILE}`, `w${HOSTILE}`], [`h${HOSTILE}`]),
      node("Round", [`h${HOSTILE}`], [`y${HOSTILE}`]),
    ],
  },
});

Deno.test("what terminals obey is escaped, line breaks, tabs and colours are not", async () => {
  const coloured = "\u001b[1;31mred\u001b[0m\tand\nplain";
  const { out, err } = await captured(() => {
    print(coloured);
    print(`é ${HOSTILE}`);
    progress("one\rtwo\u001b");
    return 0;
  });
  assert.equal(
    out,
    `${coloured}\né \\u001b[2J\\u001b]0;title\\u0007\\u009b2J\n`,
  );
  assert.equal(err, "one\\u000dtwo\\u001b\n");
});

Deno.test("names of an ONNX file do nothing to the terminal", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-terminal-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(path, MODEL);
    for (
      const args of [
        ["inspect", path],
        ["inspect", path, "--dot"],
        ["quantize", path, "--requests", "1"],
        ["npu", path],
        ["npu", path, "--csv"],
      ]
    ) {
      const { code, out, err } = await captured(() => main(args));
      assert.equal(code, 0, err);
      assert.doesNotMatch(out + err, /[^\P{Cc}\n]/u, args.join(" "));
    }
    const { out } = await captured(() => main(["inspect", path, "--json"]));
    assert.equal(JSON.parse(out).inputs[0].name, `x${HOSTILE}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("a pipe that breaks is a failure where it is not the program's own output", () => {
  const program = new URL("./broken_pipe_process.ts", import.meta.url);
  const { status, stderr } = spawnSync(process.execPath, [
    ...["run", "-A", "-q", "--no-check", fileURLToPath(program)],
  ], { encoding: "utf8", timeout: 30_000 });
  assert.deepEqual([status, stderr], [
    1,
    "broken: write EPIPE (SHOAL_DEBUG=1 shows where)\n",
  ]);
});

/** Whatever is written to it finds no space on its disk. */
const FULL = "/dev/full";

Deno.test({
  name: "a full disk is said once, and what is not written is not kept",
  ignore: !existsSync(FULL),
  fn() {
    const script = fileURLToPath(
      new URL("./full_disk_process.ts", import.meta.url),
    );
    const full = openSync(FULL, "w");
    const { status, stderr } = spawnSync(
      process.execPath,
      ["run", "-A", "-q", "--no-check", script],
      { encoding: "utf8", stdio: ["ignore", full, "pipe"] },
    );
    closeSync(full);
    assert.equal(status, 0, stderr);
    assert.match(
      stderr,
      /^lines: goes on without its output: .*space left.*\n0\n$/,
    );
  },
});
