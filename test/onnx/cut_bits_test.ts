/** Where a file is cut into cells changes no bit of its results. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { Prng } from "../../src/base/prng.ts";
import { productsOf } from "../../src/graph/products.ts";
import { CELL_NS_MIN } from "../../src/onnx/cuts.ts";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import {
  type ModelOptions,
  type OnnxCellModel,
  onnxModel,
} from "../../src/onnx/model.ts";
import {
  estimatedNs,
  RATES_PER_NS,
  workKind,
} from "../../src/onnx/operator_time.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  type PlainTensor,
  plainTensor,
} from "../../src/tensor/plain_tensor.ts";
import { propertyRuns } from "../property_runs.ts";
import { runRequests } from "../run_requests.ts";
import { EXPORTED_IMAGES } from "./exported_images.ts";
import { conv } from "./exported_parts.ts";
import { EXPORTED_SEQUENCES } from "./exported_sequences.ts";
import { modelFolder, withDataSets } from "./reference_models.ts";
import { given, type Request } from "./sequence_checks.ts";
import { Writer } from "./sequence_models.ts";

const SEED = 17;
/** Sizes of cells that are tried, besides those that have names. */
const SIZES = 6;
const SLOT_BYTES = 2 ** 25;

const productsIn = ({ cells }: OnnxCellModel) =>
  cells.flatMap(({ operators }) => operators).reduce(
    (sum, operator) => sum + productsOf(operator),
    0,
  );

/** Runs a file cut in several ways. */
function sameBits(
  file: OnnxModel,
  options: ModelOptions,
  request: ReturnType<typeof given>,
): void {
  const layers = onnxModel(file, { ...options, cells: "layer" });
  const run = (model: OnnxCellModel) =>
    runRequests(model, [request], { slotBytes: SLOT_BYTES });
  const wanted = run(layers);
  const same = (model: OnnxCellModel) =>
    assert.deepEqual(run(model), wanted, `${model.cells.length} cells`);
  same(onnxModel(file, { ...options, cells: "model" }));
  same(onnxModel(file, options));
  fc.assert(
    fc.property(
      fc.nat({ max: Math.ceil(productsIn(layers)) }),
      (cells) => same(onnxModel(file, { ...options, cells })),
    ),
    { numRuns: propertyRuns(SIZES) },
  );
}

for (
  const [name, { inputs, outputs, opset, sizes = {}, write, drawn }] of Object
    .entries({ ...EXPORTED_IMAGES, ...EXPORTED_SEQUENCES })
) {
  Deno.test(`${name} gives the same bits wherever it is cut`, () => {
    const prng = new Prng(SEED);
    const writer = new Writer(prng);
    write(writer);
    const file = writer.read(inputs, outputs, opset);
    const others: Readonly<Record<string, PlainTensor>> = drawn?.(prng) ?? {};
    const request: Request = new Map(inputs.map(({ name, dims }) => [
      name,
      others[name] ?? writer.drawn(
        "float32",
        dims!.map((size) =>
          typeof size === "number" ? size : sizes[size ?? ""] ?? 1
        ),
      ),
    ]));
    sameBits(file, { sizes }, given(request));
  });
}

/** Residual blocks, of which every convolution is worth a launch, and a dense layer that is not. */
function blocks() {
  const writer = new Writer(new Prng(SEED));
  let x = "image";
  for (let i = 0; i < 3; i++) {
    let y = writer.add("BatchNormalization", [
      conv(writer, x, [48, 48, 3, 3]),
      ...[48, 48, 48].map((size) => writer.weight(size)),
      writer.constant(
        plainTensor("float32", [48], new Float32Array(48).fill(0.7)),
      ),
    ]);
    if (i > 0) y = writer.add("Add", [x, y]);
    x = writer.add("Relu", [y]);
  }
  const mean = writer.add("Flatten", [writer.add("GlobalAveragePool", [x])]);
  writer.add("MatMul", [mean, writer.weight(48, 10)], {}, "logits");
  const inputs = [{ name: "image", dims: ["batch", 48, 40, 40] }];
  return {
    file: writer.read(inputs, ["logits"], 17),
    image: writer.drawn("float32", [1, 48, 40, 40]),
  };
}

Deno.test("layers that are worth a launch are cells by default, and give the same bits in one", () => {
  const { file, image } = blocks();
  const model = onnxModel(file);
  assert.deepEqual(
    model.cells.map(({ operators }) =>
      operators.map(({ op }) => op).filter((op) =>
        ["Conv", "Gemm", "GlobalAveragePool"].includes(op)
      )
    ),
    [["Conv"], ["Conv"], ["Conv", "GlobalAveragePool", "Gemm"]],
  );
  for (const { operators } of model.cells) {
    const ns = operators.reduce((sum, each) => sum + estimatedNs(each), 0);
    assert(ns >= CELL_NS_MIN, `${ns}`);
  }
  sameBits(file, {}, given(new Map([["image", image]])));
});

Deno.test("a cell ends where the least goes to the next one, if that is not far", () => {
  const cellsOf = (squeezed: number, far: number) => {
    const writer = new Writer(new Prng(SEED));
    const relu = (x: string) => writer.add("Relu", [x]);
    let x = relu(conv(writer, "image", [96, 48, 3, 3]));
    for (let i = 0; i < far; i++) x = relu(conv(writer, x, [96, 96, 3, 3]));
    x = relu(conv(writer, x, [squeezed, 96, 1, 1]));
    const sides = [3, 1].map((size) =>
      relu(conv(writer, x, [96, squeezed, size, size]))
    );
    const last = writer.add("Concat", sides, { axis: 1 });
    const y = conv(writer, last, [48, 192, 3, 3]);
    const inputs = [{ name: "image", dims: [1, 48, 40, 40] }];
    const file = writer.read(inputs, [y], 17);
    const image = writer.drawn("float32", [1, 48, 40, 40]);
    // Half a layer of 48 to 96 channels.
    const cells = 40 * 40 * 96 * 48 * 9 / 2;
    sameBits(file, { cells }, given(new Map([["image", image]])));
    return onnxModel(file, { cells }).cells.map(({ operators }) =>
      operators.filter(({ op }) => op === "Conv").length
    );
  };
  assert.deepEqual(cellsOf(16, 0), [2, 3], "behind the squeezed one");
  assert.deepEqual(cellsOf(96, 0), [1, 2, 2], "nothing is narrower");
  assert.deepEqual(cellsOf(16, 1), [1, 2, 3], "a whole layer further on");
});

Deno.test("estimates tell kinds of kernels apart", () => {
  const writer = new Writer(new Prng(SEED));
  const shape = [1, 32, 20, 20];
  const image = [{ name: "image", dims: shape }];
  const wide = conv(writer, "image", [32, 32, 3, 3]);
  const deep = conv(writer, wide, [32, 1, 3, 3], { group: 32 });
  const flat = writer.add("Flatten", [
    writer.add("GlobalAveragePool", [deep]),
  ]);
  writer.add("MatMul", [flat, writer.weight(32, 10)], {}, "y");
  const [cell] = onnxModel(writer.read(image, ["y"], 17)).cells;
  const kinds = cell.operators.map((each) => [each.op, workKind(each)]);
  assert.deepEqual(kinds.filter(([op]) => op === "Conv" || op === "Gemm"), [
    ["Conv", "products"],
    ["Conv", "groups"],
    ["Gemm", "vectors"],
  ]);
  const of = (op: string, rows = 1) => {
    const operator = cell.operators.find((each) => each.op === op)!;
    const perNs = rows * productsOf(operator) / estimatedNs(operator, rows);
    return Number(perNs.toFixed(9));
  };
  assert.equal(of("Conv"), RATES_PER_NS.products);
  assert.equal(of("Gemm"), RATES_PER_NS.vectors);
  // Rows together share a matrix.
  assert.equal(of("Gemm", 8), RATES_PER_NS.products);
});

for (const name of ["resnet20-cifar10", "face-rfb-320", "mnist-8"]) {
  Deno.test(`${name}, read from its file, gives the same bits wherever it is cut`, async () => {
    const folder = modelFolder(name, name);
    if (folder === undefined) return;
    const { references: [{ input }] } = await withDataSets(folder);
    const file = readModel(readFileSync(new URL("model.onnx", folder)), {
      label: name,
    });
    sameBits(file, {}, input as ReturnType<typeof given>);
  });
}
