/** Commands on small ONNX files. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  const size = String.fromCharCode(header.length, 0);
  const text = `\x93NUMPY\x01\x00${size}${header}`;
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
    const two = file("two.json", "[[1, 10], [2, 10]]");
    const rows = await captured(() =>
      main(["run", path, "--input", `x=${two}`])
    );
    assert.deepEqual(
      JSON.parse(rows.out),
      { y: { shape: [2, 2], data: [31, 42, 32, 44] } },
      rows.err,
    );
    const long = file("long.json", "[1, 2, 3]");
    const refused = await captured(() =>
      main(["run", path, "--input", `x=${long}`])
    );
    assert.match(refused.err, /Input "x" .* \[1, 2\], got 3 elements/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** y = table[ids] w, of 3 ids below 5. */
const EMBEDDED = writeModel({
  graph: {
    inputs: [
      { name: "ids", type: "int64", dims: ["N", 3] },
      { name: "x", dims: ["N", 3, 2] },
    ],
    outputs: [{ name: "y" }],
    initializers: {
      table: plainOf("float32", [5, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
      w: plainOf("float32", [2, 2], [1, 2, 3, 4]),
    },
    nodes: [
      node("Gather", ["table", "ids"], ["rows"]),
      node("Add", ["rows", "x"], ["sum"]),
      node("MatMul", ["sum", "w"], ["y"]),
    ],
  },
});

async function withFile(
  use: (path: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-onnx-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(path, EMBEDDED);
    await use(path, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("bench runs a file at given rates, with inputs that are drawn or given", async () => {
  await withFile(async (path, folder) => {
    const ids = join(folder, "ids.json");
    writeFileSync(ids, "[[0, 1, 2], [4, 4, 4]]");
    for (const inputs of [[], ["--input", `ids=${ids}`]]) {
      const { out, err, code } = await captured(() =>
        main([
          ...["bench", path, "--policy", "serial,cellular", "--requests", "20"],
          ...["--rate", "500,900", "--json", "--out", join(folder, "out")],
          ...inputs,
        ])
      );
      assert.equal(code, 0, err);
      const { models: [{ points, workload, sizes }] } = JSON.parse(out);
      assert.equal(sizes.ids, "i64[1, 3]");
      assert.match(
        workload,
        inputs.length === 0
          ? /^16 requests drawn with seed 1,/
          : /^2 requests given, 1 of their inputs drawn with seed 1,/,
      );
      assert.deepEqual(
        points.map((
          { policy, offeredPerS }: { policy: string; offeredPerS: number },
        ) => [policy, offeredPerS]),
        [["serial", 500], ["cellular", 500], ["serial", 900], [
          "cellular",
          900,
        ]],
      );
      for (const { metrics } of points) {
        // An index outside of the table would fail the request.
        assert.equal(metrics.requests.done, 20);
      }
    }
    const ragged = join(folder, "x.json");
    writeFileSync(ragged, JSON.stringify(new Array(18).fill(0)));
    const refused = await captured(() =>
      main(["bench", path, "--input", `ids=${ids}`, "--input", `x=${ragged}`])
    );
    assert.match(refused.err, /--input ids has 2 rows, another one 3/);
    const mixed = await captured(() =>
      main(["bench", path, "--model", "lstm", "--out", join(folder, "out")])
    );
    assert.match(mixed.err, /--model is for models of the registry/);
  });
});

Deno.test("profile of a file is a cost that simulate takes, of the same file", async () => {
  await withFile(async (path, folder) => {
    const table = join(folder, "table.json");
    const profiled = await captured(() =>
      main(["profile", path, "--sizes", "1,4", "--out", table])
    );
    assert.equal(profiled.code, 0, profiled.err);
    const { tablesNs } = JSON.parse(readFileSync(table, "utf8"));
    const [points] = Object.values(tablesNs) as [number, number][][];
    assert.deepEqual(points.map(([rows]) => rows), [1, 4]);

    const config = join(folder, "config.json");
    writeFileSync(
      config,
      JSON.stringify({
        model: { file: path },
        policies: [{ name: "cellular" }, {
          name: "lazy",
          options: { profile: table },
        }],
        workload: {
          requests: 30,
          arrivals: { kind: "poisson", ratePerS: 1000 },
        },
        cost: { profile: table },
      }),
    );
    const simulated = await captured(() =>
      main(["simulate", "--config", config, "--json"])
    );
    assert.equal(simulated.code, 0, simulated.err);
    for (const { metrics } of JSON.parse(simulated.out).runs) {
      assert.equal(metrics.requests.done, 30);
    }
  });
});

Deno.test("npu counts a file's products, of a recurrent layer those of every step", async () => {
  await withFile(async (path, folder) => {
    const { out, err, code } = await captured(() =>
      main(["npu", path, "--json", "--batch", "4"])
    );
    assert.equal(code, 0, err);
    // Three rows of 2 times [2][2], four requests.
    assert.equal(JSON.parse(out).totals.macs, 4 * 3 * 4);

    const [steps, features, hidden] = [5, 3, 2];
    const weights = (...dims: number[]) =>
      plainOf(
        "float32",
        dims,
        new Array(dims.reduce((a, b) => a * b)).fill(0.1),
      );
    const recurrent = join(folder, "lstm.onnx");
    writeFileSync(
      recurrent,
      writeModel({
        graph: {
          inputs: [{ name: "x", dims: [steps, 1, features] }],
          outputs: [{ name: "y" }],
          initializers: {
            w: weights(1, 4 * hidden, features),
            r: weights(1, 4 * hidden, hidden),
          },
          nodes: [
            node("LSTM", ["x", "w", "r"], ["", "y"], { hidden_size: hidden }),
          ],
        },
      }),
    );
    const stepped = await captured(() => main(["npu", recurrent, "--json"]));
    assert.equal(
      JSON.parse(stepped.out).totals.macs,
      steps * 4 * hidden * (features + hidden),
      stepped.err,
    );
  });
});

Deno.test("quantize writes a file that run takes, and says what it costs", async () => {
  await withFile(async (path, folder) => {
    const out = join(folder, "bytes.onnx");
    const ids = join(folder, "ids.json");
    writeFileSync(ids, "[[0, 1, 2], [4, 4, 4]]");
    const quantized = await captured(() =>
      main([
        ...["quantize", path, "-o", out, "--json"],
        ...["--input", `ids=${ids}`],
      ])
    );
    assert.equal(quantized.code, 0, quantized.err);
    const { layers, compared, accuracy, bytesBefore, bytesAfter } = JSON.parse(
      quantized.out,
    );
    assert.equal(bytesBefore, EMBEDDED.length);
    assert.equal(bytesAfter, readFileSync(out).length);
    assert.deepEqual(layers, [{
      ...{ name: "y", op: "MatMul", shape: [2, 2] },
      ...{ bytesBefore: 16, bytesAfter: 12 },
    }]);
    assert.equal(compared, "2 requests given");
    const [{ name, maxError, meanError, cosine, largest }] = accuracy;
    assert.equal(name, "y");
    assert(meanError > 0 && meanError < maxError && maxError < 0.02 * largest);
    assert(cosine > 0.999 && cosine < 1);

    const inspected = await captured(() => main(["inspect", out, "--json"]));
    assert.equal(
      JSON.parse(inspected.out).cells[0].operators.MatMulIntegerToFloat,
      1,
    );
    const drawn = await captured(() => main(["quantize", path]));
    assert.match(drawn.out, /over 32 requests drawn at random with seed 1/);
    assert.match(drawn.err, /saved: .*model\.int8\.onnx/);
    const nothing = await captured(() =>
      main(["quantize", path, "--exclude", "y"])
    );
    assert.match(nothing.err, /there is nothing to quantise in .*model\.onnx/);
  });
});

Deno.test("quantize takes LSTMs where it is asked to", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-onnx-"));
  try {
    const path = join(folder, "model.onnx");
    const weight = (k: number) =>
      plainOf(
        "float32",
        [1, 8, k],
        Array.from({ length: 8 * k }, (_, i) => (i % 5) - 2.3),
      );
    writeFileSync(
      path,
      writeModel({
        graph: {
          inputs: [{ name: "x", dims: [2, 1, 3] }],
          outputs: [{ name: "y" }],
          initializers: { w: weight(3), r: weight(2) },
          nodes: [node("LSTM", ["x", "w", "r"], ["y"], { hidden_size: 2 })],
        },
      }),
    );
    const stays = await captured(() => main(["quantize", path]));
    assert.match(stays.err, /no MatMul, Gemm or Conv of constant/);
    const { out } = await captured(() =>
      main(["quantize", path, "--recurrent", "--json"])
    );
    const { layers, left, accuracy } = JSON.parse(out);
    assert.deepEqual(left, []);
    assert.deepEqual(layers, [{
      ...{ name: "y", op: "LSTM", shape: [1, 8, 3] },
      ...{ bytesBefore: 160, bytesAfter: 120 },
    }]);
    assert(accuracy[0].maxError > 0 && accuracy[0].maxError < 0.05);
    const x = join(folder, "x.json");
    writeFileSync(x, "[[[1, 2, 3]], [[4, 5, 6]]]");
    const ran = await captured(() =>
      main(["run", join(folder, "model.int8.onnx"), "--input", `x=${x}`])
    );
    assert.equal(ran.code, 0, ran.err);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("an axis stays free on the command line", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-onnx-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(
      path,
      writeModel({
        graph: {
          inputs: [{ name: "x", dims: ["N", "time", 2] }],
          outputs: [{ name: "y" }],
          initializers: { w: plainOf("float32", [2, 2], [1, 2, 3, 4]) },
          nodes: [node("MatMul", ["x", "w"], ["y"])],
        },
      }),
    );
    const free = ["--size-max", "time=3"];
    const inspected = await captured(() => main(["inspect", path, ...free]));
    assert.match(inspected.out, /x: f32\[1, time <= 3, 2\]/);
    assert.match(
      inspected.out,
      /multiply-accumulates a request of one of "time"/,
    );
    assert.match(inspected.out, /positions +Gemm/);
    const json = await captured(() =>
      main(["inspect", path, ...free, "--json"])
    );
    assert.deepEqual(JSON.parse(json.out).inputs, [{
      ...{ name: "x", dtype: "f32", shape: [1, 3, 2] },
      free: { axis: 1, name: "time" },
    }]);
    const ask = async (numbers: number[]) => {
      const given = join(folder, "x.json");
      writeFileSync(given, JSON.stringify(numbers));
      return await captured(() =>
        main(["run", path, ...free, "--input", `x=${given}`])
      );
    };
    assert.deepEqual(JSON.parse((await ask([1, 10, 2, 10])).out), {
      y: { shape: [1, 2, 2], data: [31, 42, 32, 44] },
    });
    assert.match((await ask([1, 2, 3])).err, /\[1, time <= 3, 2\], got 3/);
    const benched = await captured(() =>
      main([
        ...["bench", path, ...free, "--policy", "cellular", "--requests", "20"],
        ...["--rate", "500", "--json", "--out", join(folder, "out")],
      ])
    );
    assert.equal(benched.code, 0, benched.err);
    const [{ points: [{ metrics }] }] = JSON.parse(benched.out).models;
    assert.equal(metrics.requests.done, 20);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
