/** Commands whose output would be what they read, or cannot be written. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { node, writeModel } from "../onnx/write_model.ts";
import { captured } from "./captured.ts";

/** y = x w. */
const MODEL = writeModel({
  graph: {
    inputs: [{ name: "x", dims: ["N", 2] }],
    outputs: [{ name: "y" }],
    initializers: { w: plainOf("float32", [2, 2], [1, 2, 3, 4]) },
    nodes: [node("MatMul", ["x", "w"], ["y"])],
  },
});

Deno.test("no command writes over what it reads", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-apart-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(path, MODEL);
    const other = join(folder, "shoal.json");
    writeFileSync(other, "[[1, 10]]");
    const input = ["--input", `x=${other}`];
    const load = ["load", "http://127.0.0.1:1/x", "--rate", "1"];
    const plan = ["--trace", path, "--slo-ms", "1"];
    const commands = [
      ["quantize", path, "-o", path],
      ["quantize", path, ...input, "-o", other],
      ["inspect", path, "--svg", path],
      ["profile", path, "--out", path],
      ["profile", path, ...input, "--out", other],
      ["npu", path, "--report", path],
      ["npu", path, "--config", other, "--profile", other],
      ["npu", "--topology", other, "--profile", other],
      ["ebird", "--profile", other, "--out", other],
      [...load, "--body", other, "--html", other],
      ["tune", other, ...plan, "--out", folder],
    ];
    for (const command of commands) {
      const refused = await captured(() => main(command));
      assert.match(
        refused.err,
        /Cannot write .*: it is read; name another file/,
        command.join(" "),
      );
      assert.equal(refused.code, 2);
      assert.deepEqual(readFileSync(path), Buffer.from(MODEL));
      assert.equal(readFileSync(other, "utf8"), "[[1, 10]]");
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("where nothing can be written is said before the work", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-apart-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(path, MODEL);
    const nowhere = join(folder, "none", "out");
    // What they would say of their work is something else.
    const commands = [
      ["quantize", path, "--exclude", "y", "-o", nowhere],
      ["inspect", `${path}.none`, "--svg", nowhere],
      ["npu", `${path}.none`, "--report", nowhere],
      ["npu", `${path}.none`, "--profile", nowhere],
      ["npu", "--wavefront", nowhere, "--gemm", "0x0x0"],
    ];
    for (const command of commands) {
      const refused = await captured(() => main(command));
      assert.match(
        refused.err,
        /Cannot write .*none.out: there is no such file or directory/,
        command.join(" "),
      );
      assert.equal(refused.code, 2);
      assert.equal(refused.out, "");
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("quantize writes no file that cannot be compared", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-apart-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(
      path,
      writeModel({
        graph: {
          inputs: [{ name: "x", dims: ["N", "seq", 2] }],
          outputs: [{ name: "y" }],
          initializers: { w: plainOf("float32", [2, 2], [1, 2, 3, 4]) },
          nodes: [node("MatMul", ["x", "w"], ["y"])],
        },
      }),
    );
    const out = join(folder, "out.onnx");
    writeFileSync(out, "kept");
    const quantize = (option: string) =>
      captured(() => main(["quantize", path, "-o", out, option, "seq=3"]));
    const refused = await quantize("--size-max");
    assert.equal(refused.code, 2);
    assert.match(refused.err, /"seq" cannot stay free.* --size seq=N$/m);
    assert.equal(readFileSync(out, "utf8"), "kept");
    const { code, err } = await quantize("--size");
    assert.equal(code, 0, err);
    assert.notEqual(readFileSync(out, "utf8"), "kept");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
