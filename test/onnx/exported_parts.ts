/** What networks of exporters have in common, and what a test is told of one. */
import type { Prng } from "../../src/base/prng.ts";
import type { PlainTensor } from "../../src/tensor/plain_tensor.ts";
import type { Writer } from "./sequence_models.ts";
import type { WrittenValue } from "./write_model.ts";

/** A file, and what its requests bring besides floats of the declared shapes. */
export interface Exported {
  readonly inputs: readonly WrittenValue[];
  readonly outputs: readonly string[];
  readonly opset: number;
  /** Writes the nodes. */
  write(file: Writer): void;
  /** Inputs that are no floats. */
  drawn?(prng: Prng): Record<string, PlainTensor>;
  readonly sizes?: Readonly<Record<string, number>>;
}

export const conv = (
  file: Writer,
  x: string,
  [to, from, ...kernel]: readonly number[],
  { stride = 1, group = 1, pad = Math.floor(kernel[0] / 2) } = {},
): string =>
  file.add("Conv", [x, file.weight(to, from, ...kernel), file.weight(to)], {
    kernel_shape: kernel,
    dilations: kernel.map(() => 1),
    group,
    pads: [...kernel, ...kernel].map(() => pad),
    strides: kernel.map(() => stride),
  });

export const silu = (file: Writer, x: string): string =>
  file.add("Mul", [x, file.add("Sigmoid", [x])]);

export const gelu = (file: Writer, x: string): string => {
  const erf = file.add("Erf", [
    file.add("Div", [x, file.float(Math.SQRT2)]),
  ]);
  const sum = file.add("Add", [erf, file.float(1)]);
  return file.add("Mul", [file.add("Mul", [x, sum]), file.float(0.5)]);
};

export const norm = (file: Writer, x: string, width: number): string =>
  file.add("LayerNormalization", [x, file.weight(width), file.weight(width)], {
    axis: -1,
    epsilon: { float: 1e-5 },
  });

const split = (file: Writer, x: string, heads: number, size: number) =>
  file.add("Transpose", [
    file.add("Reshape", [
      x,
      file.shape(file.size(x, 0), file.size(x, 1), heads, size),
    ]),
  ], { perm: [0, 2, 1, 3] });

/** Attention of positions of one value to those of another. */
export const attention = (
  file: Writer,
  x: string,
  to: string,
  { heads, size, bias, scale = true }: {
    heads: number;
    size: number;
    bias?: string;
    scale?: boolean;
  },
): string => {
  const width = heads * size;
  const [q, k, v] = [x, to, to].map((from) =>
    split(file, file.linear(from, width, width), heads, size)
  );
  let scores = file.add("MatMul", [
    q,
    file.add("Transpose", [k], { perm: [0, 1, 3, 2] }),
  ]);
  if (scale) {
    scores = file.add("Div", [scores, file.float(Math.sqrt(size))]);
  }
  if (bias !== undefined) scores = file.add("Add", [scores, bias]);
  const shares = file.add("Softmax", [scores], { axis: -1 });
  const mixed = file.add("Transpose", [file.add("MatMul", [shares, v])], {
    perm: [0, 2, 1, 3],
  });
  const joined = file.add("Reshape", [
    mixed,
    file.shape(file.size(mixed, 0), file.size(mixed, 1), width),
  ]);
  return file.linear(joined, width, width);
};
