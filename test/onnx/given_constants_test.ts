/** Inputs that are the same in every request: numbers of the type and sizes that the file says. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import type { GivenConstant } from "../../src/onnx/given_constants.ts";
import { type ModelOptions, onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { modelSettings } from "../../src/server/repository/model_settings.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { captured } from "../cli/captured.ts";
import { runRequests } from "../run_requests.ts";
import { node, writeModel } from "./write_model.ts";

/** y = x scale + rate where a flag is set: what only an integer, floats of an open number and a bool are enough for. */
const FILE = writeModel({
  graph: {
    inputs: [
      { name: "x", dims: [1, 3] },
      { name: "rate", type: "int64", dims: [] },
      { name: "scale", dims: ["N"] },
      { name: "flag", type: "bool", dims: [1] },
      { name: "small", type: "uint8", dims: [2, 2] },
    ],
    outputs: [{ name: "y" }, { name: "s" }],
    nodes: [
      node("Cast", ["rate"], ["r"], { to: 1 }),
      node("Mul", ["x", "scale"], ["scaled"]),
      node("Add", ["scaled", "r"], ["sum"]),
      node("Where", ["flag", "sum", "x"], ["y"]),
      node("Identity", ["small"], ["s"]),
    ],
  },
});

const x = Float32Array.of(1, 2, 3);
const read = () => readModel(FILE, { label: "m.onnx" });

function answered(
  constants: Record<string, GivenConstant>,
  options: ModelOptions = {},
) {
  const model = onnxModel(read(), {
    ...options,
    constants: new Map(Object.entries(constants)),
  });
  assert.deepEqual(model.inputs.map(({ name }) => name), ["x"]);
  const [{ y, s }] = runRequests(model, [{ x }]);
  return [[...y.data], [...s.data].map(Number)];
}

Deno.test("numbers are tensors of the type and sizes that the file says", () => {
  const given = { rate: 100, scale: [1, 2, 3], flag: true, small: 7 };
  const same = {
    rate: plainOf("int64", [], [100]),
    scale: plainOf("float32", [3], [1, 2, 3]),
    flag: plainOf("bool", [1], [1]),
    small: plainOf("uint8", [2, 2], [7, 7, 7, 7]),
  };
  const wanted = [[101, 104, 109], [7, 7, 7, 7]];
  assert.deepEqual(answered(given), wanted);
  assert.deepEqual(answered(same), wanted);
  assert.deepEqual(
    answered({ ...given, scale: 2, small: [1, 2, 3, 4] }, { sizes: { N: 3 } }),
    [[102, 104, 106], [1, 2, 3, 4]],
  );
  assert.deepEqual(answered({ ...given, flag: 0 })[0], [1, 2, 3]);
});

Deno.test("what is no constant of an input is refused by its name", () => {
  const given = { rate: 1, scale: 1, flag: true, small: 7 };
  for (
    const [odd, why] of [
      [{ rate: 0.5 }, /constant "rate": the input is int64, which has no 0\.5/],
      [{ small: 256 }, /constant "small": .*uint8, which has no 256/],
      [{ small: [1, 2] }, /"small": it is \[2, 2\], 4 numbers or one .*got 2/],
      [{ scale: 1e39 }, /"scale": the input is float32, which has no 1e\+39/],
      [{ flag: 2 }, /"flag": the input is bool, which has no 2/],
      [{ sr: 3 }, /constant "sr": there is no such input .*; give a tensor/],
      [{ rate: "8000" }, /"rate": it is a tensor, a number .*got "8000"/],
      [{ rate: [null] }, /"rate": it is a tensor, a number .*got null/],
    ] as const
  ) {
    assert.throws(
      () => answered({ ...given, ...odd } as Record<string, GivenConstant>),
      why,
    );
  }
});

Deno.test("commands and settings of a server take constants", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-constants-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(path, FILE);
    const input = join(folder, "x.json");
    writeFileSync(input, "[1, 2, 3]");
    const run = (...constants: string[]) =>
      captured(() =>
        main([
          ...["run", path, "--input", `x=${input}`],
          ...constants.flatMap((text) => ["--constant", text]),
        ])
      );
    const rest = ["scale=1,2,3", "flag=true", "small=7"];
    const { out, err } = await run("rate=100", ...rest);
    assert.deepEqual(JSON.parse(out || "{}").y?.data, [101, 104, 109], err);
    const odd = await run("rate=fast", ...rest);
    assert.equal(odd.code, 2);
    assert.match(
      odd.err,
      /each of --constant rate is a number, true or false, got "fast"/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
  const constants = { rate: 100, scale: [1, 2, 3], flag: true };
  assert.deepEqual(
    modelSettings({ constants }, "shoal.json").constants,
    constants,
  );
  assert.throws(
    () => modelSettings({ constants: { rate: "100" } }, "shoal.json"),
    /shoal\.json: .*constants.*rate/,
  );
});
