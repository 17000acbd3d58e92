/** `shoal inspect --dot` and `--svg`: the graph of cells that a request is. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { plainOf, plainTensor } from "../../src/tensor/plain_tensor.ts";
import { tinyDecoder } from "../onnx/decoder_files.ts";
import { node, writeModel } from "../onnx/write_model.ts";
import { elements } from "../report/page_checks.ts";
import { labelLines, readDot } from "../report/read_dot.ts";
import { captured } from "./captured.ts";

const zeros = (...dims: number[]) =>
  plainTensor(
    "float32",
    dims,
    new Float32Array(dims.reduce((product, size) => product * size, 1)),
  );

/** y = LSTM both ways (x) w, of three positions, in cells of a layer each. */
const LSTM = writeModel({
  graph: {
    inputs: [{ name: "x", dims: [3, 1, 2] }],
    outputs: [{ name: "y" }],
    initializers: {
      w: zeros(2, 16, 2),
      r: zeros(2, 16, 4),
      v: zeros(8, 5),
      steps: plainOf("int64", [2], [3, 8]),
    },
    nodes: [
      node("LSTM", ["x", "w", "r"], ["a"], {
        direction: "bidirectional",
        hidden_size: 4,
      }),
      node("Transpose", ["a"], ["b"], { perm: [0, 2, 1, 3] }),
      node("Reshape", ["b", "steps"], ["c"]),
      node("MatMul", ["c", "v"], ["y"]),
    ],
  },
});

async function drawing(file: Uint8Array, ...options: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "shoal-dot-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(path, file);
    const svg = join(folder, "model.svg");
    const asked = ["inspect", path, "--dot", "--svg", svg, ...options];
    const { out, err, code } = await captured(() => main(asked));
    assert.equal(code, 0, err);
    const { nodes, edges } = readDot(out);
    return {
      svg: readFileSync(svg, "utf8"),
      boxes: [...nodes.values()].map(({ label }) => labelLines(label)),
      arrows: edges.map(({ from, to, attributes: { label, style } }) => [
        `${from} ${style === "dashed" ? "-->" : "->"} ${to}`,
        ...labelLines(label),
      ]),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("a drawing has a box for each cell, and what its nodes hand to others", async () => {
  const { boxes, arrows, svg } = await drawing(LSTM);
  const [, lstm, back, product] = boxes;
  assert.deepEqual(
    boxes.map((lines) => [lines[0], lines.at(-1)]),
    [
      ["request", "x: f32[3, 1, 2]"],
      ["LSTM:a:forward", "3 nodes a request"],
      ["LSTM:a:reverse", "3 nodes a request"],
      [product[0], "1 node a request"],
      ["results", "y"],
    ],
  );
  assert.deepEqual(lstm.slice(1, -1), [
    "LSTM",
    "96 parameters, 96 products",
  ]);
  assert.deepEqual(back.slice(1), lstm.slice(1));
  const [inwards, ...others] = arrows;
  assert.deepEqual(inwards, ["b0 -> b1", "f32[2]"]);
  assert.deepEqual(
    others.map(([arrow]) => arrow),
    [
      ...["b0 -> b2", "b1 -> b1", "b1 -> b3"],
      ...["b2 -> b2", "b2 -> b3", "b3 -> b4"],
    ],
  );
  assert.deepEqual(
    arrows.find(([arrow]) => arrow === "b1 -> b1")!.slice(1).sort(),
    ["c to c: f32[4]", "h to h: f32[4]"],
  );
  assert.deepEqual(arrows.at(-1), ["b3 -> b4", "y: f32[3 x 5]"]);
  assert.equal(
    elements(svg).filter((name) => name === "g").length,
    boxes.length,
  );
});

Deno.test("a drawing of a decoder has what a step hands to the next one", async () => {
  const file = tinyDecoder({
    ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
    ...{ layers: 1, heads: 2, size: 4, vocabulary: 19, seed: 6 },
  });
  const { boxes, arrows } = await drawing(file, "--decoder");
  assert.deepEqual(
    boxes.map((lines) => [lines[0], lines.at(-1)]),
    [
      ["request", "tokens: i32[any]"],
      ["prefill", "1 node a request"],
      ["step", "a node for each step"],
      ["results", "tokens"],
    ],
  );
  assert.deepEqual(
    arrows.map(([arrow]) => arrow),
    [
      ...["b0 -> b1", "b0 -> b2", "b1 --> b2"],
      ...["b2 -> b2", "b2 --> b2", "b2 -> b3"],
    ],
  );
  assert.match(
    arrows.find(([arrow]) => arrow === "b2 -> b2")![1],
    /^next to .*: i32\[1\]$/,
  );
});

Deno.test("a drawing is no JSON", async () => {
  const { code, err } = await captured(() =>
    main(["inspect", "model.onnx", "--dot", "--json"])
  );
  assert.notEqual(code, 0);
  assert.match(err, /--dot or --json, not both/);
});
