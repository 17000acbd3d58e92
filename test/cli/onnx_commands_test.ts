/** `shoal inspect` and `shoal run` on a small file. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { encode } from "../onnx/wire.ts";
import { node, tensorMessage, writeModel } from "../onnx/write_model.ts";
import { captured } from "./captured.ts";

/** y = x w, of a batch of any size. */
const MODEL = writeModel({
  graph: {
    inputs: [{ name: "x", dims: ["N", 2] }],
    outputs: [{ name: "y" }],
    initializers: { w: plainOf("float32", [2, 2], [1, 2, 3, 4]) },
    nodes: [node("MatMul", ["x", "w"], ["y"])],
  },
});

/** [1, 10] as NumPy writes it. */
function npy(): Uint8Array {
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"
    .padEnd(117) + "\n";
  const text = `\x93NUMPY\x01\x00${
    String.fromCharCode(header.length, 0)
  }${header}`;
  const elements = new Uint8Array(Float32Array.of(1, 10).buffer);
  return Uint8Array.of(...[...text].map((c) => c.charCodeAt(0)), ...elements);
}

Deno.test("inspect and run read ONNX files, and inputs of three kinds", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-onnx-"));
  try {
    const file = (name: string, content: string | Uint8Array) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const path = file("model.onnx", MODEL);
    const inspected = await captured(() => main(["inspect", path, "--json"]));
    const { inputs, cells, notes } = JSON.parse(inspected.out);
    assert.deepEqual(inputs, [{ name: "x", dtype: "f32", shape: [1, 2] }]);
    assert.deepEqual(notes, []);
    assert.equal(cells.length, 1);
    assert.deepEqual(cells[0].operators, { Gemm: 1 });
    assert.equal(cells[0].parameters, 4);
    assert.equal(cells[0].products, 4);

    const tensor = plainOf("float32", [1, 2], [1, 10]);
    for (
      const input of [
        file("x.npy", npy()),
        file("x.pb", encode(tensorMessage(tensor))),
        file("x.json", "[[1, 10]]"),
      ]
    ) {
      const ran = await captured(() =>
        main(["run", path, "--input", `x=${input}`])
      );
      assert.deepEqual(
        JSON.parse(ran.out),
        { y: { shape: [1, 2], data: [31, 42] } },
        ran.err,
      );
    }
    const long = file("long.json", "[1, 2, 3]");
    const refused = await captured(() =>
      main(["run", path, "--input", `x=${long}`])
    );
    assert.match(refused.err, /Input "x" .* \[1, 2\], got 3 elements/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
