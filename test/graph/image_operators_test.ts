import assert from "node:assert/strict";
import {
  defineCell,
  f32,
  image,
  type Operators,
} from "../../src/graph/cell_builder.ts";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import type { Value } from "../../src/graph/operator.ts";
import { elementCount, tensor } from "../../src/tensor/tensor.ts";

function filled(value: number, ...shape: number[]) {
  return tensor(shape, new Float32Array(elementCount(shape)).fill(value));
}
const zeros = (...shape: number[]) => filled(0, ...shape);

const inputs = {
  x: image(5, 4, 3),
  wide: image(5, 6, 3),
  dot: image(1, 1, 60),
  row: f32(60),
};
type Inputs = Record<keyof typeof inputs, Value>;

const norm = (variance = 1) => ({
  scale: zeros(3),
  shift: zeros(3),
  mean: zeros(3),
  variance: filled(variance, 3),
});

/** Bodies that do not fit, and what the error says after the cell's name. */
const misfits: Record<
  string,
  [(op: Operators, inputs: Inputs) => unknown, RegExp]
> = {
  "Conv of a row": [
    (op, { row }) => op.Conv(row, zeros(2, 3, 3, 3)),
    /Conv takes images, got a row of 60; declare the input as image\(height, width, channels\)/,
  ],
  "Conv weight of two axes": [
    (op, { x }) => op.Conv(x, zeros(2, 3)),
    /Conv weight has shape \[2, 3\], expected four axes/,
  ],
  "Conv weight": [
    (op, { x }) => op.Conv(x, zeros(2, 4, 3, 3)),
    /Conv weight has shape \[2, 4, 3, 3\], expected \[2, 3, 3, 3\]/,
  ],
  "Conv bias": [
    (op, { x }) => op.Conv(x, zeros(2, 3, 1, 1), { bias: zeros(3) }),
    /Conv bias has shape \[3\], expected \[2\]/,
  ],
  "Conv of a window larger than the image": [
    (op, { x }) => op.Conv(x, zeros(2, 3, 3, 5)),
    /Conv of an image of 5 x 4 x 3: A window of 3 x 5 does not fit .* the result would be 3 x 0/,
  ],
  "Conv stride": [
    (op, { x }) => op.Conv(x, zeros(2, 3, 1, 1), { strides: 0 }),
    /Conv of an image of 5 x 4 x 3: strideHeight must be a positive integer, is 0/,
  ],
  "Conv group": [
    (op, { x }) => op.Conv(x, zeros(2, 3, 1, 1), { group: 2 }),
    /Conv of an image of 5 x 4 x 3: 2 groups do not divide 3 channels into 2/,
  ],
  "ConvTranspose weight": [
    (op, { x }) => op.ConvTranspose(x, zeros(2, 3, 2, 2)),
    /ConvTranspose weight has shape \[2, 3, 2, 2\], expected \[3, 3, 2, 2\]/,
  ],
  "ConvTranspose bias": [
    (op, { x }) => op.ConvTranspose(x, zeros(3, 2, 2, 2), { bias: zeros(3) }),
    /ConvTranspose bias has shape \[3\], expected \[2\]/,
  ],
  "BatchNormalization scale": [
    (op, { x }) => op.BatchNormalization(x, { ...norm(), scale: zeros(4) }),
    /BatchNormalization scale has shape \[4\], expected \[3\]/,
  ],
  "BatchNormalization variance": [
    (op, { x }) => op.BatchNormalization(x, norm(-1)),
    /BatchNormalization variance holds -1; variances are at least 0/,
  ],
  "MaxPool of a row": [
    (op, { row }) => op.MaxPool(row, { kernelShape: 2 }),
    /MaxPool takes images, got a row of 60/,
  ],
  "AveragePool pads": [
    (op, { x }) => op.AveragePool(x, { kernelShape: 2, pads: -1 }),
    /AveragePool of an image of 5 x 4 x 3: Pads must be integers >= 0/,
  ],
  "CenterCropPad that pads": [
    (op, { x }) => op.CenterCropPad(x, 5, 6),
    /CenterCropPad of an image of 5 x 4 x 3 to 5 x 6; it only crops/,
  ],
  "Flatten of a row": [
    (op, { row }) => op.Flatten(row),
    /Flatten takes images, got a row of 60/,
  ],
  "Gemm of several pixels": [
    (op, { x }) => op.Gemm(x, zeros(2, 60)),
    /Gemm of an image of 5 x 4 x 3: it takes plain rows; Flatten it/,
  ],
  "Softmax of an image": [
    (op, { x }) => op.Softmax(x),
    /Softmax of an image of 5 x 4 x 3: it takes plain rows/,
  ],
  "Concat of images of two widths": [
    (op, { x, wide }) => op.Concat(x, wide),
    /Concat of images of one height and width, got 5 x 4 x 3, 5 x 6 x 3; crop the larger ones \(CenterCropPad\)/,
  ],
  "Concat of an image and a row": [
    (op, { x, row }) => op.Concat(x, row),
    /Concat of images of one height and width, got 5 x 4 x 3, 60/,
  ],
  "Add of images of one length and two shapes": [
    (op, { x, dot }) => op.Add(x, dot),
    /Add of rows of 5 x 4 x 3 and 1 x 1 x 60 elements/,
  ],
};

for (const [what, [body, message]] of Object.entries(misfits)) {
  Deno.test(`defineCell() refuses ${what}, naming cell, operator and shape`, () => {
    assert.throws(
      () =>
        defineCell({
          name: "misfit",
          inputs,
          body(op, ports) {
            body(op, ports);
            return { y: ports.x };
          },
        }),
      (error: Error) => {
        assert.equal(error.name, "RangeError");
        assert.match(error.message, /^Cell "misfit": /);
        assert.match(error.message, message);
        return true;
      },
    );
  });
}

Deno.test("image operators say what size comes out", () => {
  const size = (body: (op: Operators, x: Value) => Value) => {
    const { outputs: [y] } = defineCell({
      name: "size",
      inputs: { x: image(9, 7, 4) },
      body: (op, { x }) => ({ y: body(op, x) }),
    });
    return [y.width, y.image];
  };
  const of = (height: number, width: number, channels: number) => [
    height * width * channels,
    { height, width, channels },
  ];
  const stride2 = { strides: 2, pads: 1 };
  assert.deepEqual(
    size((op, x) => op.Conv(x, zeros(6, 4, 3, 3), stride2)),
    of(5, 4, 6),
  );
  assert.deepEqual(
    size((op, x) => op.Conv(x, zeros(6, 2, 1, 3), { group: 2 })),
    of(9, 5, 6),
  );
  assert.deepEqual(
    size((op, x) => op.ConvTranspose(x, zeros(4, 3, 2, 2), { strides: 2 })),
    of(18, 14, 3),
  );
  assert.deepEqual(
    size((op, x) =>
      op.ConvTranspose(x, zeros(4, 3, 3, 3), { ...stride2, outputPadding: 1 })
    ),
    of(18, 14, 3),
  );
  assert.deepEqual(
    size((op, x) => op.MaxPool(x, { kernelShape: 2, strides: 2 })),
    of(4, 3, 4),
  );
  assert.deepEqual(
    size((op, x) =>
      op.AveragePool(x, { kernelShape: 2, strides: 2, ceilMode: true })
    ),
    of(5, 4, 4),
  );
  assert.deepEqual(
    size((op, x) =>
      op.MaxPool(op.CenterCropPad(x, 8, 6), {
        ...{ kernelShape: 1, strides: 2, ceilMode: true },
      })
    ),
    of(4, 3, 4),
  );
  assert.deepEqual(size((op, x) => op.GlobalAveragePool(x)), of(1, 1, 4));
  assert.deepEqual(
    size((op, x) => op.Flatten(op.GlobalAveragePool(x))),
    [4, undefined],
  );
  assert.deepEqual(size((op, x) => op.Flatten(x)), [9 * 7 * 4, undefined]);
  assert.deepEqual(
    size((op, x) => op.Concat(op.Relu(x), x, op.Add(x, x))),
    of(9, 7, 12),
  );
  assert.deepEqual(size((op, x) => op.CenterCropPad(x, 4, 7)), of(4, 7, 4));
});

Deno.test("CellGraph.node() tells images of one length and two shapes apart", () => {
  const [wide, high] = ([[2, 8], [8, 2]] as const).map(([height, width]) =>
    defineCell({
      name: `${height} x ${width}`,
      inputs: { x: image(height, width, 3) },
      body: (op, { x }) => ({ y: op.Relu(x) }),
    })
  );
  const graph = new CellGraph({ name: "shapes", cells: [wide, high] });
  const first = graph.node(wide, { x: graph.zeros(48) });
  graph.node(wide, { x: graph.output(first, "y") });
  assert.throws(() => graph.node(high, { x: graph.output(first, "y") }), {
    name: "TypeError",
    message: 'Input "x" of cell "8 x 2" is f32[8 x 2 x 3], got f32[2 x 8 x 3]',
  });
});
