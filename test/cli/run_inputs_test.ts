/** Files of inputs that cannot be read, as `shoal run` tells of them. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { node, writeModel } from "../onnx/write_model.ts";
import { captured } from "./captured.ts";

/** Gives its input back. */
const MODEL = writeModel({
  graph: {
    inputs: [{ name: "x", dims: ["N", 3] }],
    outputs: [{ name: "y" }],
    nodes: [node("Identity", ["x"], ["y"])],
  },
});

Deno.test("run says once, and by its name, which file of an input it cannot read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-inputs-"));
  try {
    const file = (name: string, content: string | Uint8Array) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const path = file("model.onnx", MODEL);
    const says = async (message: RegExp, ...files: string[]) => {
      const inputs = files.flatMap((file) => ["--input", `x=${file}`]);
      const { code, err } = await captured(() =>
        main(["run", path, ...inputs])
      );
      assert.equal(code, 2);
      assert.match(err, message);
    };
    await says(
      /^shoal: Cannot read \S+cut\.npy: it is no \.npy file$/m,
      file("cut.npy", "\x93NUM"),
    );
    await says(
      /^shoal: Cannot load \S+cut\.pb: [^:]+$/m,
      file("cut.pb", Uint8Array.of(10, 99, 1)),
    );
    await says(
      /^shoal: Cannot read "\S+x\.wav": it is none of \.npy, \.pb and \.json \(/m,
      file("x.wav", "RIFF"),
    );
    const numbers = file("x.json", "[1, 2, 3]");
    await says(
      /^shoal: --input x is given twice; see shoal run --help$/m,
      ...[numbers, numbers],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("numbers may have a byte order mark in front, as some editors and shells save text", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-inputs-"));
  try {
    const [path, numbers] = [
      join(folder, "model.onnx"),
      join(folder, "x.json"),
    ];
    writeFileSync(path, MODEL);
    writeFileSync(numbers, "\uFEFF[1, 2, 3]\r\n");
    const { code, out, err } = await captured(() =>
      main(["run", path, "--input", `x=${numbers}`])
    );
    assert.equal(code, 0, err);
    assert.deepEqual(JSON.parse(out).y.data, [1, 2, 3]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("names of inputs and paths of files may both have = in them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-inputs-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(
      path,
      writeModel({
        graph: {
          inputs: [{ name: "x", dims: [1] }, { name: "x=y", dims: [1] }],
          outputs: [{ name: "z" }],
          nodes: [node("Sub", ["x", "x=y"], ["z"])],
        },
      }),
    );
    const [one, two] = [1, 2].map((value) => {
      const file = join(folder, `day=${value}.json`);
      writeFileSync(file, `[${value}]`);
      return file;
    });
    const { out, err } = await captured(() =>
      main(["run", path, "--input", `x=${one}`, "--input", `x=y=${two}`])
    );
    assert.notEqual(out, "", err);
    assert.deepEqual(JSON.parse(out).z.data, [-1]);
    const read = await captured(() =>
      main(["quantize", path, "--input", `x=${one}`, "-o", one])
    );
    assert.match(read.err, /Cannot write .*: it is read/);
    const other = await captured(() =>
      main(["run", path, "--input", `w=${one}`])
    );
    assert.match(other.err, /there is no input .*; there are x, x=y; see/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
