/** Files with a free sequence axis, as exporters write them. */
import type { Prng } from "../../src/base/prng.ts";
import type { OnnxModel } from "../../src/onnx/ir.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import {
  plainOf,
  type PlainTensor,
  plainTensor,
  type PlainType,
} from "../../src/tensor/plain_tensor.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import {
  node,
  writeModel,
  type WrittenAttribute,
  type WrittenNode,
  type WrittenValue,
} from "./write_model.ts";

/** A file on its way. */
export class Writer {
  readonly nodes: WrittenNode[] = [];
  readonly constants: Record<string, PlainTensor> = {};
  #count = 0;

  constructor(readonly prng: Prng) {}

  /** A node of one result, whose name is returned. */
  add(
    op: string,
    inputs: readonly string[],
    attributes?: Readonly<Record<string, WrittenAttribute>>,
    name = `${op.toLowerCase()}_${this.#count++}`,
  ): string {
    this.nodes.push(node(op, inputs, [name], attributes));
    return name;
  }

  constant(tensor: PlainTensor): string {
    const name = `constant_${this.#count++}`;
    this.constants[name] = tensor;
    return name;
  }

  ints(...values: number[]): string {
    return this.constant(plainOf("int64", [values.length], values));
  }

  int(value: number): string {
    return this.constant(plainOf("int64", [], [value]));
  }

  float(value: number): string {
    return this.constant(plainOf("float32", [], [value]));
  }

  /** A weight of small numbers. */
  weight(...dims: number[]): string {
    return this.constant(this.drawn("float32", dims));
  }

  drawn(type: PlainType, dims: readonly number[], below = 1): PlainTensor {
    const count = elementCount(dims);
    return type === "float32"
      ? plainTensor(
        "float32",
        dims,
        Float32Array.from({ length: count }, () => this.prng.float() - 0.5),
      )
      : plainOf(
        type,
        dims,
        Array.from(
          { length: count },
          () => Math.floor(below * this.prng.float()),
        ),
      );
  }

  /** Element of the shape of a value, as tracing leaves it behind. */
  size(of: string, axis: number): string {
    return this.add("Gather", [this.add("Shape", [of]), this.int(axis)], {
      axis: 0,
    });
  }

  /** A shape put together of scalars and numbers. */
  shape(...sizes: (string | number)[]): string {
    const parts = sizes.map((size) =>
      typeof size === "number"
        ? this.ints(size)
        : this.add("Unsqueeze", [size, this.ints(0)])
    );
    return this.add("Concat", parts, { axis: 0 });
  }

  linear(x: string, inputs: number, outputs: number): string {
    const product = this.add("MatMul", [x, this.weight(inputs, outputs)]);
    return this.add("Add", [this.weight(outputs), product]);
  }

  read(
    inputs: readonly WrittenValue[],
    outputs: readonly string[],
    opset: number,
  ): OnnxModel {
    return readModel(this.bytes(inputs, outputs, opset));
  }

  bytes(
    inputs: readonly WrittenValue[],
    outputs: readonly string[],
    opset: number,
  ): Uint8Array<ArrayBuffer> {
    return writeModel({
      graph: {
        inputs,
        outputs: outputs.map((name) => ({ name })),
        initializers: this.constants,
        nodes: this.nodes,
      },
      opsets: { "": opset },
    });
  }
}

/** How a BERT is written. */
export interface BertFile {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly vocabulary: number;
  readonly positions: number;
  /** "added": (1 - mask) * -10000, [1, 1, 1, n]; "expanded": Where over [1, 1, n, n]; "none"; "causal": a triangle. */
  readonly mask: "added" | "expanded" | "none" | "causal";
  /** Layer norm written out, or as an operator. */
  readonly norm: "parts" | "operator";
  /** What it gives besides the last hidden states. */
  readonly head: "pooled" | "mean" | "masked mean" | "largest";
}

/**
 * An encoder as PyTorch's exporter traces Hugging Face's BERT: shapes by Shape, Gather, Unsqueeze and Concat, positions
 * cut off a constant, attention in parts.
 */
export function bertFile(
  prng: Prng,
  { layers, hidden, heads, vocabulary, positions, mask, norm, head }: BertFile,
): Writer {
  const file = new Writer(prng);
  const size = hidden / heads;
  const layerNorm = (x: string): string => {
    const [scale, shift] = [file.weight(hidden), file.weight(hidden)];
    if (norm === "operator") {
      return file.add("LayerNormalization", [x, scale, shift], {
        axis: -1,
        epsilon: { float: 1e-5 },
      });
    }
    const mean = file.add("ReduceMean", [x], { axes: [-1] });
    const centred = file.add("Sub", [x, mean]);
    const square = file.add("Pow", [centred, file.float(2)]);
    const variance = file.add("ReduceMean", [square], { axes: [-1] });
    const root = file.add("Sqrt", [
      file.add("Add", [variance, file.float(1e-5)]),
    ]);
    const normed = file.add("Div", [centred, root]);
    return file.add("Add", [file.add("Mul", [normed, scale]), shift]);
  };
  const length = file.size("input_ids", 1);
  const ids = file.add("Slice", [
    file.constant(
      plainOf(
        "int64",
        [1, positions],
        Array.from({ length: positions }, (_, i) => i),
      ),
    ),
    file.ints(0),
    file.add("Unsqueeze", [length, file.ints(0)]),
    file.ints(1),
  ]);
  const table = file.weight(vocabulary, hidden);
  const word = file.add("Gather", [table, "input_ids"]);
  const type = file.add("Gather", [file.weight(2, hidden), "token_type_ids"]);
  const place = file.add("Gather", [file.weight(positions, hidden), ids]);
  let x = layerNorm(
    file.add("Add", [file.add("Add", [word, type]), place]),
  );
  const scores = masked(file, mask, length);
  for (let layer = 0; layer < layers; layer++) {
    const split = (value: string): string => {
      const shape = file.shape(
        file.size(value, 0),
        file.size(value, 1),
        heads,
        size,
      );
      return file.add("Reshape", [value, shape]);
    };
    const [q, k, v] = [0, 1, 2].map(() =>
      split(file.linear(x, hidden, hidden))
    );
    const query = file.add("Transpose", [q], { perm: [0, 2, 1, 3] });
    const key = file.add("Transpose", [k], { perm: [0, 2, 3, 1] });
    const value = file.add("Transpose", [v], { perm: [0, 2, 1, 3] });
    const product = file.add("MatMul", [query, key]);
    const scaled = file.add("Div", [product, file.float(Math.sqrt(size))]);
    const weights = file.add("Softmax", [scores(scaled)], { axis: -1 });
    const mixed = file.add("MatMul", [weights, value]);
    const turned = file.add("Transpose", [mixed], { perm: [0, 2, 1, 3] });
    const joined = file.add("Reshape", [
      turned,
      file.shape(file.size(turned, 0), file.size(turned, 1), hidden),
    ]);
    x = layerNorm(
      file.add("Add", [file.linear(joined, hidden, hidden), x]),
    );
    const up = file.linear(x, hidden, 2 * hidden);
    const erf = file.add("Erf", [
      file.add("Div", [up, file.float(Math.SQRT2)]),
    ]);
    const gelu = file.add("Mul", [
      file.add("Mul", [up, file.add("Add", [erf, file.float(1)])]),
      file.float(0.5),
    ]);
    x = layerNorm(
      file.add("Add", [file.linear(gelu, 2 * hidden, hidden), x]),
    );
  }
  file.add("Identity", [x], undefined, "last_hidden_state");
  file.add("Identity", [headOf(file, head, x, hidden)], undefined, "head");
  return file;
}

/** Scores with what the mask makes of them. */
function masked(
  file: Writer,
  mask: BertFile["mask"],
  length: string,
): (scores: string) => string {
  if (mask === "none") return (scores) => scores;
  if (mask === "causal") {
    const square = file.shape(length, length);
    const ones = file.add("ConstantOfShape", [square], {
      value: { tensor: plainOf("float32", [1], [1]) },
    });
    const lower = file.add("Trilu", [ones], { upper: 0 });
    const isSeen = file.add("Cast", [lower], { to: 9 });
    const low = file.float(-3.4028234663852886e38);
    return (scores) => file.add("Where", [isSeen, scores, low]);
  }
  const axes = file.ints(1, 2);
  const wide = file.add("Unsqueeze", ["attention_mask", axes]);
  if (mask === "added") {
    const float = file.add("Cast", [wide], { to: 1 });
    const off = file.add("Sub", [file.float(1), float]);
    const added = file.add("Mul", [off, file.float(-10000)]);
    return (scores) => file.add("Add", [scores, added]);
  }
  const to = file.shape(1, 1, length, length);
  const minus = file.add("Equal", [to, file.ints(-1, -1, -1, -1)]);
  const ones = file.add("ConstantOfShape", [file.add("Shape", [to])], {
    value: { tensor: plainOf("int64", [1], [1]) },
  });
  const shape = file.add("Where", [minus, ones, to]);
  const all = file.add("Cast", [file.add("Expand", [wide, shape])], { to: 1 });
  const off = file.add("Sub", [file.float(1), all]);
  const isOff = file.add("Cast", [off], { to: 9 });
  const low = file.float(-3.4028234663852886e38);
  const added = file.add("Where", [isOff, low, off]);
  return (scores) => file.add("Add", [scores, added]);
}

function headOf(
  file: Writer,
  head: BertFile["head"],
  x: string,
  hidden: number,
): string {
  switch (head) {
    case "pooled": {
      const first = file.add("Gather", [x, file.int(0)], { axis: 1 });
      return file.add("Tanh", [
        file.add("Gemm", [
          first,
          file.weight(hidden, hidden),
          file.weight(hidden),
        ], {
          transB: 1,
        }),
      ]);
    }
    case "mean":
      return file.add("ReduceMean", [x], { axes: [1], keepdims: 0 });
    case "largest":
      return file.linear(
        file.add("ReduceMax", [x], { axes: [1], keepdims: 0 }),
        hidden,
        3,
      );
    case "masked mean": {
      const wide = file.add("Unsqueeze", ["attention_mask", file.ints(2)]);
      const all = file.add("Cast", [
        file.add("Expand", [wide, file.add("Shape", [x])]),
      ], { to: 1 });
      const sum = file.add("ReduceSum", [
        file.add("Mul", [x, all]),
        file.ints(1),
      ], { keepdims: 0 });
      const count = file.add("Clip", [
        file.add("ReduceSum", [all, file.ints(1)], { keepdims: 0 }),
        file.float(1e-9),
      ]);
      return file.add("Div", [sum, count]);
    }
  }
}

/** Inputs of such a file. */
export const BERT_INPUTS: readonly WrittenValue[] = [
  { name: "input_ids", type: "int64", dims: ["batch", "sequence"] },
  { name: "attention_mask", type: "int64", dims: ["batch", "sequence"] },
  { name: "token_type_ids", type: "int64", dims: ["batch", "sequence"] },
];

/** How a network of recurrent layers is written. */
export interface RecurrentFile {
  readonly op: "LSTM" | "GRU" | "RNN";
  readonly direction: "forward" | "reverse" | "bidirectional";
  readonly layers: number;
  readonly hidden: number;
  /** Frames of so many numbers, or ids of so many words. */
  readonly input: { readonly frame: number } | { readonly words: number };
  /** Between layers: nothing, or a dense layer of every position. */
  readonly between: "nothing" | "dense";
  /** What it gives: of every position, of the last states, or of all positions together. */
  readonly head: "tags" | "states" | "first" | "mean" | "largest";
}

/** Recurrent layers as PyTorch's exporter writes them: [positions, batch, features] between transposes. */
export function recurrentFile(
  prng: Prng,
  { op, direction, layers, hidden, input, between, head }: RecurrentFile,
): Writer {
  const file = new Writer(prng);
  const gates = { LSTM: 4, GRU: 3, RNN: 1 }[op];
  const ways = direction === "bidirectional" ? 2 : 1;
  let width: number;
  let x: string;
  if ("frame" in input) {
    width = input.frame;
    x = file.add("Transpose", ["frames"], { perm: [1, 0, 2] });
  } else {
    width = 6;
    const table = file.weight(input.words, width);
    const ids = file.add("Gather", [table, "ids"]);
    x = file.add("Transpose", [ids], { perm: [1, 0, 2] });
  }
  const zeros = file.add("ConstantOfShape", [
    file.shape(ways, file.size(x, 1), hidden),
  ]);
  const last: string[] = [];
  for (let layer = 0; layer < layers; layer++) {
    const name = `layer${layer}`;
    const states = [
      `${name}_y`,
      `${name}_h`,
      ...op === "LSTM" ? [`${name}_c`] : [],
    ];
    file.nodes.push(node(
      op,
      [
        x,
        file.weight(ways, gates * hidden, width),
        file.weight(ways, gates * hidden, hidden),
        file.weight(ways, 2 * gates * hidden),
        "",
        ...states.slice(1).map(() => zeros),
      ],
      states,
      {
        hidden_size: hidden,
        direction,
        ...op === "GRU" && { linear_before_reset: 1 },
      },
    ));
    last.push(states[1]);
    const turned = file.add("Transpose", [states[0]], { perm: [0, 2, 1, 3] });
    x = file.add("Reshape", [turned, file.ints(0, 0, -1)]);
    width = ways * hidden;
    if (between === "dense" && layer < layers - 1) {
      x = file.add("Relu", [file.linear(x, width, 7)]);
      width = 7;
    }
  }
  const all = file.add("Transpose", [x], { perm: [1, 0, 2] });
  const made = (): string => {
    switch (head) {
      case "tags":
        return file.add("LogSoftmax", [file.linear(all, width, 4)], {
          axis: -1,
        });
      case "states": {
        const states = layers === 1
          ? last[0]
          : file.add("Concat", last, { axis: 0 });
        const picked = Array.from(
          { length: ways },
          (_, i) => file.add("Gather", [states, file.int(-1 - i)], { axis: 0 }),
        );
        const joined = ways === 1
          ? picked[0]
          : file.add("Concat", picked, { axis: 1 });
        return file.linear(joined, width, 3);
      }
      case "first":
        return file.linear(
          file.add("Gather", [all, file.int(-1)], { axis: 1 }),
          width,
          3,
        );
      case "mean":
        return file.linear(
          file.add("ReduceMean", [all], { axes: [1], keepdims: 0 }),
          width,
          3,
        );
      case "largest":
        return file.add("ReduceMax", [all], { axes: [1], keepdims: 1 });
    }
  };
  file.add("Identity", [made()], undefined, "head");
  return file;
}
