/**
 * What networks of images have besides convolutions, on kernels: sizes that change, blocks of pixels, norms of groups,
 * and activations made of others.
 */
import { plainOf, type PlainTensor } from "../../src/tensor/plain_tensor.ts";
import { type Case, checkCase, drawn, positive, whole } from "./cell_cases.ts";
import { node, type WrittenAttribute } from "./write_model.ts";

const numbers = (...values: number[]): PlainTensor =>
  plainOf("float32", [values.length], values);

const weights = {
  w: drawn(6, 3, 3, 3),
  signals: drawn(6, 3, 3),
  scale: positive(6),
  bias: drawn(6),
  halves: positive(2),
  others: drawn(2),
  slopes: drawn(6, 1, 1),
  slope: numbers(0.25),
  twice: numbers(1, 1, 2, 2),
  odd: numbers(1, 1, 1.6, 0.7),
  sides: numbers(2, 3),
  longer: numbers(1, 1, 2.5),
  sizes: whole(1, 6, 9, 5),
  none: numbers(),
  repeats: whole(1, 2, 1, 3),
};

/** One node behind a convolution, and one that reads a row. */
function both(
  op: string,
  inputs: readonly string[],
  attributes: Record<string, WrittenAttribute> = {},
  rest: Partial<Case> = {},
): [string, Case][] {
  const image: Case = {
    inputs: { x: ["n", 3, 6, 4] },
    nodes: [
      node("Conv", ["x", "w"], ["c"], { pads: [1, 1, 1, 1] }),
      node(op, ["c", ...inputs], ["y"], attributes),
    ],
    weights,
    ...rest,
  };
  const row: Case = {
    ...image,
    inputs: { x: ["n", 6, 6, 4] },
    nodes: [node(op, ["x", ...inputs], ["y"], attributes)],
  };
  const of = `${op} ${JSON.stringify(attributes)} ${inputs}`;
  return [[`${of} of an image`, image], [`${of} of a row`, row]];
}

const resizes = ["nearest", "linear"].flatMap((mode) => [
  ...["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]
    .flatMap((coordinate_transformation_mode) =>
      ["twice", "odd"].flatMap((scales) =>
        both("Resize", ["", scales], { mode, coordinate_transformation_mode })
      )
    ),
  ...both("Resize", ["", "", "sizes"], { mode }),
  ...both("Resize", ["", "none", "sizes"], { mode }, { opset: 11 }),
  ...both("Resize", ["", "sides"], { mode, axes: [2, 3] }),
  ...both("Resize", ["", "sides"], { mode, axes: [-1, -2] }),
  ...both("Resize", ["odd"], { mode }, {
    opset: 10,
    plain: Number(mode === "nearest"),
  }),
  ...both("Upsample", ["twice"], { mode }, { opset: 9 }),
  ...both("Upsample", [], { mode, scales: { floats: [1, 1, 2, 3] } }, {
    opset: 7,
  }),
]);

const cases: [string, Case][] = [
  ...resizes,
  ...["floor", "ceil", "round_prefer_ceil"].flatMap((nearest_mode) =>
    both("Resize", ["", "odd"], { nearest_mode })
  ),
  ["Resize of a signal", {
    inputs: { x: ["n", 3, 7] },
    nodes: [
      node("Conv", ["x", "signals"], ["c"], { pads: [1, 1] }),
      node("Resize", ["c", "", "longer"], ["y"], { mode: "linear" }),
    ],
    weights,
  }],
  ...["cubic"].flatMap((mode) =>
    both("Resize", ["", "odd"], { mode }, { plain: 1 })
  ),
  ...both("Resize", ["", "odd"], { mode: "linear", antialias: 1 }, {
    plain: 1,
  }),
  ["Pad of nothing of a row that lies as an image does", {
    inputs: { x: [1, 3] },
    nodes: [
      node("BatchNormalization", ["x", "s", "b", "b", "s"], ["n"]),
      node("Pad", ["n", "nothing"], ["y"]),
    ],
    weights: { s: positive(3), b: drawn(3), nothing: whole(0, 0, 0, 0) },
  }],
  ...both("SpaceToDepth", [], { blocksize: 2 }),
  ...both("Tile", ["repeats"]),
  ...both("InstanceNormalization", ["scale", "bias"]),
  ...both("GroupNormalization", ["scale", "bias"], { num_groups: 2 }, {
    opset: 21,
  }),
  ...both("GroupNormalization", ["halves", "others"], { num_groups: 2 }),
  ...both("PRelu", ["slopes"]),
  ...both("PRelu", ["slope"]),
  ...both("Elu", [], { alpha: { float: 0.7 } }),
  ...both("Celu", [], { alpha: { float: 0.7 } }),
  ...both("Mish", []),
];
for (const mode of ["DCR", "CRD"]) {
  cases.push([`DepthToSpace ${mode} of a row`, {
    inputs: { x: ["n", 8, 3, 5] },
    nodes: [node("DepthToSpace", ["x"], ["y"], { blocksize: 2, mode })],
  }], [`DepthToSpace ${mode} of an image`, {
    inputs: { x: ["n", 3, 3, 5] },
    nodes: [
      node("Conv", ["x", "w"], ["c"], { pads: [1, 1, 1, 1] }),
      node("DepthToSpace", ["c"], ["y"], { blocksize: 2, mode }),
    ],
    weights: { w: drawn(8, 3, 3, 3) },
  }]);
}

for (const [name, made] of cases) {
  Deno.test(`${name} is computed by kernels where they do`, () =>
    checkCase(made));
}
