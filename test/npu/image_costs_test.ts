import assert from "node:assert/strict";
import {
  defineCell,
  image,
  type Operators,
} from "../../src/graph/cell_builder.ts";
import type { Value } from "../../src/graph/operator.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { macsOf } from "./macs_of.ts";
import { conv, pool } from "../../src/npu/layers.ts";
import { elementCount, tensor } from "../../src/tensor/tensor.ts";

const filled = (value: number, ...shape: number[]) =>
  tensor(shape, new Float32Array(elementCount(shape)).fill(value));

/** Layers of a cell over one image of 9 x 7 x 4, two rows; names left out. */
function layersOf(body: (op: Operators, x: Value) => Value) {
  const cell = defineCell({
    name: "c",
    inputs: { x: image(9, 7, 4) },
    body: (op, { x }) => ({ y: body(op, x) }),
  });
  return cellLayers(cell, 2).map(({ name: _name, ...layer }) => layer);
}

const nameless = ({ name: _name, ...layer }: ReturnType<typeof conv>) => layer;
const input = { height: 9, width: 7 };

Deno.test("a convolution's cell costs what the layer costs, with all that it does on the way", () => {
  const weight = filled(0, 6, 2, 3, 3);
  const attributes = { group: 2, strides: 2, pads: [1, 0, 2, 1] } as const;
  const options = {
    ...input,
    channelsIn: 4,
    channelsOut: 6,
    filter: 3,
    stride: 2,
    padding: attributes.pads,
    groups: 2,
  };
  assert.deepEqual(
    layersOf((op, x) => op.Conv(x, weight, attributes)),
    [nameless(conv("", options, 2))],
  );
  const norm = {
    scale: filled(1, 6),
    shift: filled(0, 6),
    mean: filled(0, 6),
    variance: filled(1, 6),
  };
  assert.deepEqual(
    layersOf((op, x) => {
      const y = op.BatchNormalization(op.Conv(x, weight, attributes), norm);
      return op.Relu(op.Add(y, op.Conv(x, weight, attributes)));
    }),
    // The first map is normalised; the second is summed with it and passes the ReLU.
    [
      nameless(conv("", options, 2)),
      nameless(conv("", { ...options, residual: true, activation: "relu" }, 2)),
    ],
  );
});

Deno.test("a transposed convolution is a convolution per phase: a product per input pixel, tap and channel", () => {
  const [layer] = layersOf((op, x) =>
    op.ConvTranspose(x, filled(0, 4, 3, 2, 2), { strides: 2 })
  );
  assert.equal(macsOf({ name: "", ...layer }), 2 * 9 * 7 * 4 * 3 * 4);
  assert.deepEqual(
    layer.gemms.map(({ gemm }) => gemm),
    Array.from({ length: 4 }, () => ({ m: 2 * 9 * 7, n: 3, k: 4 })),
  );
  // Kernel 3, stride 2: phases of 4, 2, 2 and 1 taps; 19 x 15 pixels come out.
  const [overlapping] = layersOf((op, x) =>
    op.Relu(op.ConvTranspose(x, filled(0, 4, 3, 3, 3), { strides: 2 }))
  );
  assert.deepEqual(
    overlapping.gemms.map(({ gemm: { m, k } }) => [m / 2, k / 4]),
    [[10 * 8, 4], [10 * 7, 2], [9 * 8, 2], [9 * 7, 1]],
  );
  assert.deepEqual(overlapping.vector, [
    { name: "bias", elements: 2 * 19 * 15 * 3, passes: 1 },
    { name: "relu", elements: 2 * 19 * 15 * 3, passes: 1 },
  ]);
});

Deno.test("a normalisation behind a transposed convolution is part of its weights", () => {
  const weight = filled(0, 4, 3, 2, 2);
  const norm = {
    scale: filled(1, 3),
    shift: filled(0, 3),
    mean: filled(0, 3),
    variance: filled(1, 3),
  };
  const up = (op: Operators, x: Value) =>
    op.ConvTranspose(x, weight, { strides: 2 });
  assert.deepEqual(
    layersOf((op, x) => op.Relu(op.BatchNormalization(up(op, x), norm))),
    layersOf((op, x) => op.Relu(up(op, x))),
  );
});

Deno.test("pooling, a normalisation by itself, and moves of pixels", () => {
  const size = { ...input, channels: 4 };
  assert.deepEqual(
    layersOf((op, x) => op.MaxPool(x, { kernelShape: 3, strides: 2, pads: 1 })),
    [nameless(
      pool("c.0.MaxPool", { ...size, filter: 3, stride: 2, padding: 1 }, 2),
    )],
  );
  const [global] = layersOf((op, x) => op.GlobalAveragePool(x));
  assert.equal(global.extraReadWords, 2 * 9 * 7 * 4);
  assert.equal(global.extraWriteWords, 2 * 4);
  const [rounded] = layersOf((op, x) =>
    op.AveragePool(x, { kernelShape: 2, strides: 2, ceilMode: true })
  );
  assert.equal(rounded.extraWriteWords, 2 * 5 * 4 * 4);
  assert.equal(rounded.extraReadWords, 2 * 9 * 7 * 4);
  const norm = {
    scale: filled(1, 4),
    shift: filled(0, 4),
    mean: filled(0, 4),
    variance: filled(1, 4),
  };
  const [alone] = layersOf((op, x) => op.BatchNormalization(x, norm));
  assert.deepEqual(alone.vector, [
    { name: "BatchNormalization", elements: 2 * 9 * 7 * 4, passes: 2 },
  ]);
  assert.deepEqual(
    layersOf((op, x) => op.CenterCropPad(op.Concat(x, x), 3, 3)),
    [],
  );
});
