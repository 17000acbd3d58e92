/** What does not fit is refused in words that name operator and input or attribute. */
import assert from "node:assert/strict";
import { plainOperators } from "../../src/plain/registry.ts";
import { type PlainTensor, scalarOf } from "../../src/tensor/plain_tensor.ts";
import {
  floats,
  int64,
  outputOf,
  type ShortAttribute,
} from "./run_operator.ts";

const x = floats([2, 3], 1, 2, 3, 4, 5, 6);

const REFUSED: [
  op: string,
  inputs: (PlainTensor | undefined)[],
  attributes: Record<string, ShortAttribute>,
  message: RegExp,
][] = [
  ["Conv", [x], {}, /^Conv: input 1 \(W\) is missing$/],
  ["Conv", [int64(1)], {}, /^Conv: input 0 is int64, expected float32$/],
  [
    "Conv",
    [x, x],
    {},
    /^Conv: input 0 \(X\) has dims \[2, 3\], expected at least 3 axes$/,
  ],
  ["Sqrt", [undefined], {}, /^Sqrt: input 0 \(X\) is missing$/],
  [
    "Add",
    [x, int64(1)],
    {},
    /^Add: inputs are float32 and int64, expected one type$/,
  ],
  ["Softmax", [x], { axis: 2 }, /^Softmax: there is no axis 2 of 2$/],
  [
    "Softmax",
    [x],
    { axis: "1" },
    /^Softmax: attribute axis is of kind string, expected int$/,
  ],
  ["Concat", [x, x], {}, /^Concat: attribute axis is missing$/],
  [
    "Concat",
    [x, int64(1)],
    { axis: 0 },
    /^Concat: input 1 is int64 \[1\], which does not continue float32 \[2, 3\] along axis 0$/,
  ],
  [
    "Pad",
    [x, int64(0, 0, 0, 0)],
    { mode: "odd" },
    /^Pad: attribute mode is "odd", expected constant or reflect or edge or wrap$/,
  ],
  [
    "Reshape",
    [x, int64(4, -1)],
    {},
    /^Reshape: dims \[2, 3\] cannot become \[4, -1\]$/,
  ],
  [
    "Squeeze",
    [x, int64(0)],
    {},
    /^Squeeze: axis 0 of dims \[2, 3\] is not of size 1$/,
  ],
  [
    "Expand",
    [x, int64(2 ** 20, 2 ** 20, 2, 3)],
    {},
    /^Expand: the result would have dims .*, more than 268435456 elements$/,
  ],
  [
    "ConstantOfShape",
    [int64(-1)],
    {},
    /^ConstantOfShape: the result would have dims \[-1\]$/,
  ],
  ["Tile", [x, int64(2 ** 40, 1)], {}, /^Tile: the result would have dims/],
  [
    "Range",
    [0, 1, 0].map((at) => scalarOf("float32", at)),
    {},
    /^Range: input 2 \(delta\) is 0$/,
  ],
  [
    "TopK",
    [x, int64(4)],
    {},
    /^TopK: input 1 \(K\) is 4, axis 1 has 3 elements$/,
  ],
  [
    "Slice",
    [x, int64(0), int64(1), int64(0), int64(0)],
    {},
    /^Slice: a step is 0$/,
  ],
  [
    "MaxPool",
    [floats([1, 1, 2], 1, 2)],
    { kernel_shape: [2], strides: [0] },
    /^MaxPool: attribute strides is \[0\], expected 1 numbers from 1$/,
  ],
  [
    "AveragePool",
    [floats([1, 1, 2], 1, 2)],
    {
      kernel_shape: [2 ** 30],
      pads: [2 ** 30, 0],
    },
    /^AveragePool: \[3\] windows of \[1073741824\] are more than 67108864 elements$/,
  ],
  [
    "MaxPool",
    [floats([1, 1, 2], 1, 2)],
    { kernel_shape: [4], pads: [1, 0] },
    /^MaxPool: a window of 4 elements over 2 and 1 of padding$/,
  ],
  [
    "Split",
    [x],
    { num_outputs: 2 ** 31 },
    /^Split: attribute num_outputs is 2147483648, there are 1$/,
  ],
  [
    "ReverseSequence",
    [x, int64(1, 2, 9)],
    {},
    /^ReverseSequence: input 1 \(sequence_lens\) is \[1, 2, 9\], expected 3 numbers to 2$/,
  ],
  [
    "ConvTranspose",
    [floats([1, 1, 1, 1], 1), floats([1, 1, 1, 1], 1)],
    { output_shape: [2] },
    /^ConvTranspose: attribute output_shape has 1 sizes, expected 2$/,
  ],
  [
    "Cast",
    [x],
    { to: 8 },
    /^Cast: attribute to is string, which is not supported$/,
  ],
];

Deno.test("what does not fit names operator, and input or attribute", () => {
  for (const [op, inputs, attributes, message] of REFUSED) {
    assert.throws(() => outputOf(op, inputs, attributes), { message });
  }
});

Deno.test("operators are known from the version on that has them", () => {
  assert.throws(
    () => outputOf("Gelu", [x], {}, { opset: 19 }),
    /^RangeError: There is no operator Gelu of version 19$/,
  );
  const old = [floats([1, 1], 1), ...Array(4).fill(floats([1], 1))];
  assert.throws(
    () => outputOf("BatchNormalization", old, {}, { opset: 6 }),
    /^RangeError: BatchNormalization: training is not supported before version 14$/,
  );
  assert.throws(
    () => outputOf("toString", [x]),
    /^RangeError: There is no operator toString of version 28$/,
  );
});

Deno.test("versions of an operator are in order, and its types are some", () => {
  for (const [name, { since, types }] of Object.entries(plainOperators)) {
    assert.deepEqual(since, [...new Set(since)].sort((a, b) => a - b), name);
    assert.ok(since.length > 0 && types.length > 0, name);
  }
});
