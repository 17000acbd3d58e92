/** Numbers that JSON has not, in what `shoal run` reads and prints. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jsonNumbers, specialNumber } from "../../src/base/json_numbers.ts";
import { main } from "../../src/cli/main.ts";
import { node, writeModel } from "../onnx/write_model.ts";
import { captured } from "./captured.ts";

type Type = "float32" | "int64" | "int32" | "uint8" | "bool";

/** Gives its input back. */
const model = (type: Type) =>
  writeModel({
    graph: {
      inputs: [{ name: "x", dims: ["N", 3], type }],
      outputs: [{ name: "y", type }],
      nodes: [node("Identity", ["x"], ["y"])],
    },
  });

async function run(given: string, dtype: Type = "float32") {
  const folder = mkdtempSync(join(tmpdir(), "shoal-numbers-"));
  try {
    const [path, input] = ["m.onnx", "x.json"].map((name) =>
      join(folder, name)
    );
    writeFileSync(path, model(dtype));
    writeFileSync(input, given);
    return await captured(() => main(["run", path, "--input", `x=${input}`]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("run prints NaN and the infinities as strings, and takes them", async () => {
  const numbers = '["NaN","Infinity","-Infinity"]';
  const { out, err } = await run(`[${numbers}]`);
  assert.equal(out.trim(), `{"y":{"shape":[1,3],"data":${numbers}}}`, err);
});

Deno.test("elements of JSON that are none of the input's type are named", async () => {
  const refused: readonly (readonly [Type, string])[] = [
    ["float32", "1e999"],
    ["float32", "null"],
    ["float32", '"nan"'],
    ["int32", "1.5"],
    ["int32", "2147483648"],
    ["int32", '"NaN"'],
    ["int64", "9007199254740993"],
    ["uint8", "-1"],
    ["bool", "2"],
  ];
  for (const [type, text] of refused) {
    const { err, code } = await run(`[0, ${text}, 0]`, type);
    assert.match(err, /element 1 is .*, no \w+ that JSON can say/, text);
    assert.equal(code, 2);
  }
});

Deno.test("elements keep sign and digits in JSON", () => {
  const floats = Float32Array.of(-0, 1.5, NaN, -Infinity);
  assert.equal(jsonNumbers(floats), '-0,1.5,"NaN","-Infinity"');
  assert.equal(jsonNumbers(Float32Array.of(0.5, 1)), "0.5,1");
  assert.equal(
    jsonNumbers(BigInt64Array.of(2n ** 60n + 1n, -1n)),
    "1152921504606846977,-1",
  );
  assert.equal(jsonNumbers(Int8Array.of()), "");
  assert.equal(specialNumber("toString"), undefined);
  assert(Object.is(specialNumber("-Infinity"), -Infinity));
});
