/** Small networks over images, written as PyTorch's exporters write them. */
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { conv, type Exported, gelu, norm, silu } from "./exported_parts.ts";
import type { Writer } from "./sequence_models.ts";
import { node } from "./write_model.ts";

/** x * relu6(x + 3) / 6, in parts. */
const hardSwish = (file: Writer, x: string): string => {
  const clipped = file.add("Clip", [
    file.add("Add", [x, file.float(3)]),
    file.float(0),
    file.float(6),
  ]);
  return file.add("Div", [file.add("Mul", [x, clipped]), file.float(6)]);
};

/** Squeeze and excitation, hard swish in parts and as an operator. */
const mobileNet: Exported = {
  inputs: [{ name: "image", dims: ["batch", 3, 20, 20] }],
  outputs: ["logits"],
  opset: 14,
  write(file) {
    let x = hardSwish(file, conv(file, "image", [8, 3, 3, 3], { stride: 2 }));
    for (const stride of [1, 2]) {
      const before = x;
      const wide = file.add("HardSwish", [conv(file, x, [24, 8, 1, 1])]);
      const deep = file.add("Relu", [
        conv(file, wide, [24, 1, 5, 5], { stride, group: 24 }),
      ]);
      const pooled = file.add("ReduceMean", [deep], {
        axes: [2, 3],
        keepdims: 1,
      });
      const squeezed = file.add("Relu", [conv(file, pooled, [6, 24, 1, 1])]);
      const gate = file.add("HardSigmoid", [
        conv(file, squeezed, [24, 6, 1, 1]),
      ], { alpha: { float: 1 / 6 } });
      const gated = file.add("Mul", [deep, gate]);
      x = conv(file, gated, [8, 24, 1, 1]);
      if (stride === 1) x = file.add("Add", [x, before]);
    }
    const pooled = file.add("GlobalAveragePool", [x]);
    const flat = file.add("Reshape", [
      pooled,
      file.shape(file.size(pooled, 0), -1),
    ]);
    file.add("Gemm", [flat, file.weight(10, 8), file.weight(10)], {
      transB: 1,
    }, "logits");
  },
};

/** A class token before patches, queries, keys and values in one product. */
const visionTransformer: Exported = {
  inputs: [{ name: "image", dims: ["batch", 3, 16, 16] }],
  outputs: ["logits"],
  opset: 17,
  write(file) {
    const [width, heads] = [16, 2];
    const batch = file.size("image", 0);
    const patches = conv(file, "image", [width, 3, 4, 4], {
      stride: 4,
      pad: 0,
    });
    const flat = file.add("Reshape", [
      patches,
      file.shape(batch, width, -1),
    ]);
    const rows = file.add("Transpose", [flat], { perm: [0, 2, 1] });
    const wanted = file.shape(batch, -1, -1);
    const ones = file.add("ConstantOfShape", [file.ints(3)], {
      value: { tensor: plainOf("int64", [1], [1]) },
    });
    const isKept = file.add("Equal", [
      wanted,
      file.add("Mul", [ones, file.int(-1)]),
    ]);
    const token = file.add("Expand", [
      file.weight(1, 1, width),
      file.add("Where", [isKept, ones, wanted]),
    ]);
    let x = file.add("Add", [
      file.add("Concat", [token, rows], { axis: 1 }),
      file.weight(1, 17, width),
    ]);
    for (let layer = 0; layer < 2; layer++) {
      const normed = norm(file, x, width);
      const packed = file.add("Reshape", [
        file.linear(normed, width, 3 * width),
        file.shape(batch, 17, 3, heads, width / heads),
      ]);
      const turned = file.add("Transpose", [packed], {
        perm: [2, 0, 3, 1, 4],
      });
      const [q, k, v] = [0, 1, 2].map((i) =>
        file.add("Gather", [turned, file.int(i)], { axis: 0 })
      );
      const scaled = file.add("Mul", [q, file.float(8 ** -0.5)]);
      const shares = file.add("Softmax", [
        file.add("MatMul", [
          scaled,
          file.add("Transpose", [k], { perm: [0, 1, 3, 2] }),
        ]),
      ], { axis: -1 });
      const mixed = file.add("Reshape", [
        file.add("Transpose", [file.add("MatMul", [shares, v])], {
          perm: [0, 2, 1, 3],
        }),
        file.shape(batch, 17, width),
      ]);
      x = file.add("Add", [x, file.linear(mixed, width, width)]);
      const up = gelu(
        file,
        file.linear(norm(file, x, width), width, 2 * width),
      );
      x = file.add("Add", [x, file.linear(up, 2 * width, width)]);
    }
    const first = file.add("Gather", [norm(file, x, width), file.int(0)], {
      axis: 1,
    });
    file.add("Gemm", [first, file.weight(5, width), file.weight(5)], {
      transB: 1,
    }, "logits");
  },
};

/** Columns of an image, two bidirectional layers, scores of CTC with positions first. */
const textReader: Exported = {
  inputs: [{ name: "line", dims: ["batch", 1, 16, 24] }],
  outputs: ["scores"],
  opset: 13,
  write(file) {
    let x = file.add("MaxPool", [
      file.add("Relu", [conv(file, "line", [6, 1, 3, 3])]),
    ], { kernel_shape: [2, 2], strides: [2, 2] });
    x = file.add("MaxPool", [
      file.add("Relu", [conv(file, x, [8, 6, 3, 3])]),
    ], { kernel_shape: [2, 1], strides: [2, 1], pads: [0, 0, 0, 0] });
    x = file.add("Relu", [
      file.add("Conv", [x, file.weight(10, 8, 4, 2), file.weight(10)], {
        kernel_shape: [4, 2],
      }),
    ]);
    x = file.add("Squeeze", [x, file.ints(2)]);
    x = file.add("Transpose", [x], { perm: [2, 0, 1] });
    for (const [layer, from] of [10, 12].entries()) {
      const zeros = file.add("ConstantOfShape", [
        file.shape(2, file.size(x, 1), 6),
      ]);
      file.nodes.push(node(
        "LSTM",
        [
          x,
          file.weight(2, 24, from),
          file.weight(2, 24, 6),
          file.weight(2, 48),
          "",
          zeros,
          zeros,
        ],
        [`all${layer}`, "", ""],
        {
          hidden_size: 6,
          direction: "bidirectional",
        },
      ));
      x = file.add("Reshape", [
        file.add("Transpose", [`all${layer}`], { perm: [0, 2, 1, 3] }),
        file.ints(0, 0, -1),
      ]);
    }
    const flat = file.add("Reshape", [x, file.ints(-1, 12)]);
    const dense = file.add("Gemm", [
      flat,
      file.weight(9, 12),
      file.weight(9),
    ], { transB: 1 });
    const shaped = file.add("Reshape", [
      dense,
      file.shape(file.size(x, 0), file.size(x, 1), -1),
    ]);
    file.add("LogSoftmax", [shaped], { axis: 2 }, "scores");
  },
};

/** Down and up again, groups normalised by InstanceNormalization between reshapes. */
const uNet: Exported = {
  inputs: [{ name: "image", dims: ["batch", 2, 12, 12] }],
  outputs: ["mask"],
  opset: 17,
  write(file) {
    const group = (x: string, channels: number): string => {
      const grouped = file.add("Reshape", [x, file.ints(0, 2, -1)]);
      const ones = file.constant(plainOf("float32", [2], [1, 1]));
      const zeros = file.constant(plainOf("float32", [2], [0, 0]));
      const normed = file.add("InstanceNormalization", [grouped, ones, zeros], {
        epsilon: { float: 1e-5 },
      });
      const back = file.add("Reshape", [normed, file.add("Shape", [x])]);
      const scaled = file.add("Mul", [back, file.weight(channels, 1, 1)]);
      return silu(file, file.add("Add", [scaled, file.weight(channels, 1, 1)]));
    };
    const top = group(conv(file, "image", [8, 2, 3, 3]), 8);
    const low = group(conv(file, top, [16, 8, 3, 3], { stride: 2 }), 16);
    const up = file.add("Resize", [
      low,
      "",
      file.constant(plainOf("float32", [4], [1, 1, 2, 2])),
    ], {
      mode: "nearest",
      coordinate_transformation_mode: "asymmetric",
      nearest_mode: "floor",
    });
    const other = file.add("ConvTranspose", [low, file.weight(16, 8, 2, 2)], {
      strides: [2, 2],
      kernel_shape: [2, 2],
    });
    const joined = file.add("Concat", [top, up, other], { axis: 1 });
    file.add("Sigmoid", [conv(file, joined, [1, 32, 1, 1])], undefined, "mask");
  },
};

/** Boxes of a grid, as detectors decode them. */
const detector: Exported = {
  inputs: [{ name: "images", dims: [1, 3, 16, 16] }],
  outputs: ["boxes"],
  opset: 12,
  write(file) {
    const x = silu(file, conv(file, "images", [8, 3, 3, 3], { stride: 2 }));
    const deep = silu(file, conv(file, x, [8, 8, 3, 3], { stride: 2 }));
    const pools = [deep];
    for (let i = 0; i < 2; i++) {
      pools.push(file.add("MaxPool", [pools[i]], {
        kernel_shape: [5, 5],
        pads: [2, 2, 2, 2],
        strides: [1, 1],
      }));
    }
    const joined = file.add("Concat", pools, { axis: 1 });
    const up = file.add("Resize", [
      joined,
      file.constant(plainOf("float32", [0], [])),
      file.constant(plainOf("float32", [4], [1, 1, 2, 2])),
    ], {
      mode: "nearest",
      coordinate_transformation_mode: "asymmetric",
      nearest_mode: "floor",
    });
    const all = file.add("Concat", [up, x], { axis: 1 });
    const raw = conv(file, all, [3 * 7, 32, 1, 1]);
    const five = file.add("Transpose", [
      file.add("Reshape", [raw, file.ints(1, 3, 7, 8, 8)]),
    ], { perm: [0, 1, 3, 4, 2] });
    const sigmoid = file.add("Sigmoid", [five]);
    const cut = (from: number, to: number) =>
      file.add("Slice", [
        sigmoid,
        file.ints(from),
        file.ints(to),
        file.ints(4),
        file.ints(1),
      ]);
    const middle = file.add("Mul", [
      file.add("Add", [
        file.add("Sub", [
          file.add("Mul", [cut(0, 2), file.float(2)]),
          file.float(0.5),
        ]),
        file.weight(1, 1, 8, 8, 2),
      ]),
      file.float(2),
    ]);
    const size = file.add("Mul", [
      file.add("Pow", [
        file.add("Mul", [cut(2, 4), file.float(2)]),
        file.float(2),
      ]),
      file.weight(1, 3, 1, 1, 2),
    ]);
    const boxes = file.add("Concat", [middle, size, cut(4, 2 ** 31)], {
      axis: -1,
    });
    file.add("Reshape", [boxes, file.ints(1, -1, 7)], undefined, "boxes");
  },
};

/** By what they are like. */
export const EXPORTED_IMAGES: Readonly<Record<string, Exported>> = {
  "MobileNetV3": mobileNet,
  "a vision transformer": visionTransformer,
  "a reader of lines with CTC": textReader,
  "a U-Net with group norms": uNet,
  "a detector": detector,
};
