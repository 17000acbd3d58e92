/** Networks over images and texts as PyTorch's exporters and others write them: windows, cosines, a tower of text, boxes. */
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import {
  attention,
  conv,
  type Exported,
  norm,
  silu,
} from "./exported_parts.ts";
import type { Writer } from "./sequence_models.ts";
import { node } from "./write_model.ts";

/** x[..., from:to, ...] along an axis. */
const slice = (
  file: Writer,
  x: string,
  axis: number,
  from: number,
  to: number,
): string =>
  file.add("Slice", [
    x,
    file.ints(from),
    file.ints(to),
    file.ints(axis),
    file.ints(1),
  ]);

/** Rows of length 1, as `torch.nn.functional.normalize` is written. */
const unit = (file: Writer, x: string): string => {
  const length = file.add("ReduceL2", [x], { axes: [-1], keepdims: 1 });
  const least = file.add("Clip", [length, file.float(1e-12)]);
  const wide = file.add("Expand", [least, file.add("Shape", [x])]);
  return file.add("Div", [x, wide]);
};

/** Swin of the second version, over windows that are rolled by half of one; products of heads by Einsum. */
const shiftedWindows: Exported = {
  inputs: [{ name: "image", dims: ["batch", 3, 16, 16] }],
  outputs: ["logits"],
  opset: 17,
  write(file) {
    const [width, heads, side] = [8, 2, 2];
    const patches = conv(file, "image", [width, 3, 4, 4], {
      stride: 4,
      pad: 0,
    });
    let x = file.add("Transpose", [patches], { perm: [0, 2, 3, 1] });
    for (const shift of [0, 1]) {
      const rolled = [1, 2].reduce(
        (rows, axis) =>
          shift === 0 ? rows : file.add("Concat", [
            slice(file, rows, axis, shift, 2 ** 31 - 1),
            slice(file, rows, axis, 0, shift),
          ], { axis }),
        x,
      );
      const apart = file.add("Transpose", [
        file.add("Reshape", [
          rolled,
          file.shape(file.size(rolled, 0), 2, side, 2, side, width),
        ]),
      ], { perm: [0, 1, 3, 2, 4, 5] });
      const windows = file.add("Reshape", [
        apart,
        file.ints(-1, side * side, width),
      ]);
      const packed = file.add("Transpose", [
        file.add("Reshape", [
          file.linear(windows, width, 3 * width),
          file.shape(
            file.size(windows, 0),
            side * side,
            3,
            heads,
            width / heads,
          ),
        ]),
      ], { perm: [2, 0, 3, 1, 4] });
      const [q, k, v] = [0, 1, 2].map((i) =>
        file.add("Gather", [packed, file.int(i)], { axis: 0 })
      );
      const cosines = file.add("Einsum", [unit(file, q), unit(file, k)], {
        equation: "b h i d, b h j d -> b h i j",
      });
      const scaled = file.add("Mul", [
        cosines,
        file.add("Exp", [file.add("Min", [
          file.weight(heads, 1, 1),
          file.float(4.6),
        ])]),
      ]);
      const table = file.add("Gather", [
        file.weight(9, heads),
        file.ints(4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4),
      ]);
      const bias = file.add("Unsqueeze", [
        file.add("Transpose", [
          file.add("Reshape", [table, file.ints(4, 4, heads)]),
        ], { perm: [2, 0, 1] }),
        file.ints(0),
      ]);
      const shares = file.add("Softmax", [file.add("Add", [scaled, bias])], {
        axis: -1,
      });
      const mixed = file.add("Einsum", [shares, v], {
        equation: "b h i j, b h j d -> b i h d",
      });
      const joined = file.add("Reshape", [mixed, file.ints(-1, 2, 2, 2, 2, 8)]);
      const back = file.add("Reshape", [
        file.add("Transpose", [joined], { perm: [0, 1, 3, 2, 4, 5] }),
        file.shape(file.size(x, 0), 4, 4, width),
      ]);
      const unrolled = [1, 2].reduce(
        (rows, axis) =>
          shift === 0 ? rows : file.add("Concat", [
            slice(file, rows, axis, -shift, 2 ** 31 - 1),
            slice(file, rows, axis, 0, -shift),
          ], { axis }),
        back,
      );
      x = file.add("Add", [x, norm(file, unrolled, width)]);
    }
    const pooled = file.add("ReduceMean", [x], { axes: [1, 2], keepdims: 0 });
    file.add("Gemm", [pooled, file.weight(5, width), file.weight(5)], {
      transB: 1,
    }, "logits");
  },
};

/** Without normalisation: weights are standardised by a BatchNormalization of constants that says that it is in training. */
const standardised: Exported = {
  inputs: [{ name: "image", dims: ["batch", 3, 10, 10] }],
  outputs: ["logits"],
  opset: 16,
  write(file) {
    let x = "image";
    for (const [layer, from] of [3, 6].entries()) {
      const kernel = file.weight(1, 6, from * 9);
      file.nodes.push(node(
        "BatchNormalization",
        [
          kernel,
          file.weight(6),
          file.constant(plainOf("float32", [6], Array(6).fill(0))),
          file.weight(6),
          file.weight(6),
        ],
        [`y${layer}`, `mean${layer}`, `var${layer}`],
        { epsilon: { float: 1e-3 }, training_mode: 1 },
      ));
      const shaped = file.add("Reshape", [
        `y${layer}`,
        file.ints(6, from, 3, 3),
      ]);
      x = silu(
        file,
        file.add("Conv", [x, shaped, file.weight(6)], {
          kernel_shape: [3, 3],
          pads: [1, 1, 1, 1],
        }),
      );
    }
    const pooled = file.add("GlobalAveragePool", [x]);
    file.add(
      "Gemm",
      [
        file.add("Flatten", [pooled]),
        file.weight(4, 6),
        file.weight(4),
      ],
      { transB: 1 },
      "logits",
    );
  },
};

/** The text tower of CLIP: causal, the row of the largest id, which ends the text, of unit length. */
const textTower: Exported = {
  inputs: [{ name: "input_ids", type: "int64", dims: ["batch", 6] }],
  outputs: ["text_embeds"],
  opset: 17,
  drawn: (prng) => {
    const end = 1 + prng.int(5);
    return {
      input_ids: plainOf(
        "int64",
        [1, 6],
        Array.from({ length: 6 }, (_, i) => i >= end ? 12 : prng.int(12)),
      ),
    };
  },
  write(file) {
    const width = 8;
    let x = file.add("Add", [
      file.add("Gather", [file.weight(13, width), "input_ids"]),
      file.weight(1, 6, width),
    ]);
    const ones = file.add("Expand", [
      file.float(-3.4028234663852886e38),
      file.ints(6, 6),
    ]);
    const mask = file.add("Unsqueeze", [
      file.add("Trilu", [ones, file.int(1)], { upper: 1 }),
      file.ints(0, 1),
    ]);
    const normed = norm(file, x, width);
    x = file.add("Add", [
      x,
      attention(file, normed, normed, { heads: 2, size: 4, bias: mask }),
    ]);
    const end = file.add("ArgMax", ["input_ids"], { axis: -1, keepdims: 0 });
    const places = file.add("Concat", [
      file.add("Unsqueeze", [
        file.add("Range", [
          file.int(0),
          file.size("input_ids", 0),
          file.int(1),
        ]),
        file.ints(1),
      ]),
      file.add("Unsqueeze", [end, file.ints(1)]),
    ], { axis: 1 });
    const row = file.add("GatherND", [norm(file, x, width), places]);
    const projected = file.add("MatMul", [row, file.weight(width, 5)]);
    file.add("Identity", [unit(file, projected)], undefined, "text_embeds");
  },
};

/** The head of an anchor-free detector: distances as means of distributions over bins, boxes from them. */
const binnedBoxes: Exported = {
  inputs: [{ name: "images", dims: [1, 3, 16, 16] }],
  outputs: ["output0"],
  opset: 17,
  write(file) {
    const [bins, classes, sides] = [4, 3, [8, 4]];
    const top = silu(file, conv(file, "images", [8, 3, 3, 3], { stride: 2 }));
    file.nodes.push(node(
      "Split",
      [top, file.ints(4, 4)],
      ["left", "right"],
      { axis: 1 },
    ));
    const mixed = silu(file, conv(file, "right", [4, 4, 3, 3]));
    const joined = file.add("Concat", [
      "left",
      file.add("Add", ["right", mixed]),
    ], { axis: 1 });
    const low = silu(file, conv(file, joined, [8, 8, 3, 3], { stride: 2 }));
    const channels = 4 * bins + classes;
    const all = file.add(
      "Concat",
      [joined, low].map((x, i) =>
        file.add("Reshape", [
          conv(file, x, [channels, 8, 1, 1]),
          file.ints(1, channels, sides[i] ** 2),
        ])
      ),
      { axis: 2 },
    );
    const anchors = sides.reduce((sum, side) => sum + side ** 2, 0);
    file.nodes.push(node(
      "Split",
      [all, file.ints(4 * bins, classes)],
      ["distances", "classes"],
      { axis: 1 },
    ));
    const shares = file.add("Softmax", [
      file.add("Transpose", [
        file.add("Reshape", ["distances", file.ints(1, 4, bins, anchors)]),
      ], { perm: [0, 2, 1, 3] }),
    ], { axis: 1 });
    const means = file.add("Reshape", [
      file.add("Conv", [
        shares,
        file.constant(plainOf("float32", [1, bins, 1, 1], [0, 1, 2, 3])),
      ], { kernel_shape: [1, 1] }),
      file.ints(1, 4, anchors),
    ]);
    const centres = file.weight(1, 2, anchors);
    const from = file.add("Sub", [centres, slice(file, means, 1, 0, 2)]);
    const to = file.add("Add", [centres, slice(file, means, 1, 2, 4)]);
    const middle = file.add("Div", [
      file.add("Add", [from, to]),
      file.float(2),
    ]);
    const boxes = file.add("Mul", [
      file.add("Concat", [middle, file.add("Sub", [to, from])], { axis: 1 }),
      file.weight(1, anchors),
    ]);
    file.add(
      "Concat",
      [boxes, file.add("Sigmoid", ["classes"])],
      { axis: 1 },
      "output0",
    );
  },
};

/** By what they are like. */
export const EXPORTED_WINDOWS: Readonly<Record<string, Exported>> = {
  "shifted windows": shiftedWindows,
  "standardised weights": standardised,
  "a text tower": textTower,
  "boxes of bins": binnedBoxes,
};
