/** Small networks over sequences and signals, written as PyTorch's exporters write them. */
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import {
  attention,
  conv,
  type Exported,
  gelu,
  norm,
  silu,
} from "./exported_parts.ts";
import type { Writer } from "./sequence_models.ts";
import { node } from "./write_model.ts";

/** Half a dense layer, attention, a gated convolution along time, half a dense layer. */
const conformer: Exported = {
  inputs: [{ name: "frames", dims: ["batch", "time", 12] }],
  outputs: ["tokens"],
  opset: 17,
  sizes: { time: 9 },
  write(file) {
    const width = 16;
    let x = file.linear("frames", 12, width);
    const half = (x: string): string => {
      const up = silu(
        file,
        file.linear(norm(file, x, width), width, 2 * width),
      );
      const down = file.linear(up, 2 * width, width);
      return file.add("Add", [x, file.add("Mul", [down, file.float(0.5)])]);
    };
    x = half(x);
    const normed = norm(file, x, width);
    x = file.add("Add", [
      x,
      attention(file, normed, normed, { heads: 2, size: 8 }),
    ]);
    const turned = file.add("Transpose", [norm(file, x, width)], {
      perm: [0, 2, 1],
    });
    const wide = conv(file, turned, [2 * width, width, 1]);
    file.nodes.push(
      node("Split", [wide, file.ints(width, width)], ["left", "right"], {
        axis: 1,
      }),
    );
    const gated = file.add("Mul", ["left", file.add("Sigmoid", ["right"])]);
    const deep = conv(file, gated, [width, 1, 5], { group: width });
    const variance = file.constant(
      plainOf("float32", [width], Array.from({ length: width }, () => 0.7)),
    );
    const batchNorm = file.add("BatchNormalization", [
      deep,
      file.weight(width),
      file.weight(width),
      file.weight(width),
      variance,
    ], { epsilon: { float: 1e-5 } });
    const out = conv(file, silu(file, batchNorm), [width, width, 1]);
    x = file.add("Add", [
      x,
      file.add("Transpose", [out], { perm: [0, 2, 1] }),
    ]);
    x = norm(file, half(x), width);
    file.add("LogSoftmax", [file.linear(x, width, 7)], { axis: -1 }, "tokens");
  },
};

/** Two convolutions along time, the second of every other position, then attention. */
const speechEncoder: Exported = {
  inputs: [{ name: "mel", dims: ["batch", 10, 14] }],
  outputs: ["hidden"],
  opset: 17,
  write(file) {
    const width = 16;
    const first = gelu(file, conv(file, "mel", [width, 10, 3]));
    const second = gelu(
      file,
      conv(file, first, [width, width, 3], { stride: 2 }),
    );
    let x = file.add("Add", [
      file.add("Transpose", [second], { perm: [0, 2, 1] }),
      file.weight(7, width),
    ]);
    const normed = norm(file, x, width);
    x = file.add("Add", [
      x,
      attention(file, normed, normed, { heads: 4, size: 4 }),
    ]);
    file.add("Identity", [norm(file, x, width)], undefined, "hidden");
  },
};

const rmsNorm = (file: Writer, x: string, width: number): string => {
  const mean = file.add("ReduceMean", [
    file.add("Pow", [x, file.float(2)]),
  ], { axes: [-1] });
  const root = file.add("Sqrt", [
    file.add("Add", [mean, file.float(1e-6)]),
  ]);
  const normed = file.add("Mul", [
    x,
    file.add("Div", [file.float(1), root]),
  ]);
  return file.add("Mul", [file.weight(width), normed]);
};

/** Buckets of distances, computed in the file, whose scores are added to those of attention. */
const t5Encoder: Exported = {
  inputs: [
    { name: "input_ids", type: "int64", dims: ["batch", "length"] },
    { name: "attention_mask", type: "int64", dims: ["batch", "length"] },
  ],
  outputs: ["hidden"],
  opset: 17,
  sizes: { length: 11 },
  drawn: (prng) => ({
    input_ids: plainOf(
      "int64",
      [1, 11],
      Array.from({ length: 11 }, () => prng.int(13)),
    ),
    attention_mask: plainOf(
      "int64",
      [1, 11],
      Array.from({ length: 11 }, (_, i) => i < 5 + prng.int(7) ? 1 : 0),
    ),
  }),
  write(file) {
    const [width, heads] = [16, 4];
    const length = file.size("input_ids", 1);
    const range = file.add("Range", [file.int(0), length, file.int(1)]);
    const distance = file.add("Sub", [
      file.add("Unsqueeze", [range, file.ints(0)]),
      file.add("Unsqueeze", [range, file.ints(1)]),
    ]);
    const isLater = file.add("Cast", [
      file.add("Greater", [distance, file.int(0)]),
    ], { to: 7 });
    const side = file.add("Mul", [isLater, file.int(4)]);
    const far = file.add("Abs", [distance]);
    const isNear = file.add("Less", [far, file.int(2)]);
    const ratio = file.add("Log", [
      file.add("Div", [
        file.add("Cast", [far], { to: 1 }),
        file.float(2),
      ]),
    ]);
    const large = file.add("Add", [
      file.add("Cast", [
        file.add("Mul", [
          file.add("Div", [ratio, file.float(Math.log(16))]),
          file.float(2),
        ]),
      ], { to: 7 }),
      file.int(2),
    ]);
    const cut = file.add("Min", [large, file.int(3)]);
    const bucket = file.add("Add", [
      side,
      file.add("Where", [isNear, far, cut]),
    ]);
    const found = file.add("Gather", [file.weight(8, heads), bucket]);
    const bias = file.add("Unsqueeze", [
      file.add("Transpose", [found], { perm: [2, 0, 1] }),
      file.ints(0),
    ]);
    const wide = file.add("Unsqueeze", ["attention_mask", file.ints(1, 2)]);
    const off = file.add("Mul", [
      file.add("Sub", [
        file.float(1),
        file.add("Cast", [wide], { to: 1 }),
      ]),
      file.float(-3.4028234663852886e38),
    ]);
    const both = file.add("Add", [bias, off]);
    let x = file.add("Gather", [file.weight(13, width), "input_ids"]);
    for (let layer = 0; layer < 2; layer++) {
      const normed = rmsNorm(file, x, width);
      x = file.add("Add", [
        x,
        attention(file, normed, normed, {
          heads,
          size: width / heads,
          bias: both,
          scale: false,
        }),
      ]);
      const up = file.add("Relu", [
        file.linear(rmsNorm(file, x, width), width, 2 * width),
      ]);
      x = file.add("Add", [x, file.linear(up, 2 * width, width)]);
    }
    file.add("Identity", [rmsNorm(file, x, width)], undefined, "hidden");
  },
};

/** A packed sequence: lengths go into the layer, and what is behind them comes out as zeros. */
const packed = (op: "LSTM" | "GRU"): Exported => ({
  inputs: [
    { name: "ids", type: "int64", dims: ["batch", 8] },
    { name: "lengths", type: "int64", dims: ["batch"] },
  ],
  outputs: ["tags"],
  opset: 17,
  drawn: (prng) => ({
    ids: plainOf(
      "int64",
      [1, 8],
      Array.from({ length: 8 }, () => prng.int(11)),
    ),
    lengths: plainOf("int64", [1], [1 + prng.int(8)]),
  }),
  write(file) {
    const gates = op === "LSTM" ? 4 : 3;
    const looked = file.add("Gather", [file.weight(11, 6), "ids"]);
    const turned = file.add("Transpose", [looked], { perm: [1, 0, 2] });
    const lengths = file.add("Cast", ["lengths"], { to: 6 });
    file.nodes.push(node(
      op,
      [
        turned,
        file.weight(2, gates * 5, 6),
        file.weight(2, gates * 5, 5),
        file.weight(2, 2 * gates * 5),
        lengths,
      ],
      ["all", "last"],
      {
        hidden_size: 5,
        direction: "bidirectional",
        ...(op === "GRU" && { linear_before_reset: 1 }),
      },
    ));
    const batchFirst = file.add("Transpose", ["all"], { perm: [2, 0, 1, 3] });
    const rows = file.add("Reshape", [batchFirst, file.ints(0, 0, -1)]);
    file.add("Identity", [file.linear(rows, 10, 4)], undefined, "tags");
  },
});

/** Causal, dilated convolutions of signals with a chomp behind each, and a gate. */
const waveNet: Exported = {
  inputs: [{ name: "signal", dims: [null, 1, 40] }],
  outputs: ["next"],
  opset: 11,
  write(file) {
    let x = conv(file, "signal", [6, 1, 1]);
    let skip: string | undefined;
    for (const dilation of [1, 2, 4]) {
      const branch = (): string => {
        const wide = file.add(
          "Conv",
          [x, file.weight(6, 6, 2), file.weight(6)],
          {
            kernel_shape: [2],
            dilations: [dilation],
            pads: [dilation, dilation],
          },
        );
        return file.add("Slice", [
          wide,
          file.ints(0),
          file.ints(-dilation),
          file.ints(2),
        ]);
      };
      const gated = file.add("Mul", [
        file.add("Tanh", [branch()]),
        file.add("Sigmoid", [branch()]),
      ]);
      const out = conv(file, gated, [6, 6, 1]);
      skip = skip === undefined ? out : file.add("Add", [skip, out]);
      x = file.add("Add", [x, out]);
    }
    const head = conv(file, file.add("Elu", [skip!]), [5, 6, 1]);
    const last = file.add("Gather", [head, file.int(-1)], { axis: 2 });
    file.add("Softmax", [last], { axis: 1 }, "next");
  },
};

/** By what they are like. */
export const EXPORTED_SEQUENCES: Readonly<Record<string, Exported>> = {
  "a conformer": conformer,
  "an encoder of speech": speechEncoder,
  "an encoder with relative positions": t5Encoder,
  "an LSTM of packed sequences": packed("LSTM"),
  "a GRU of packed sequences": packed("GRU"),
  "WaveNet": waveNet,
};
