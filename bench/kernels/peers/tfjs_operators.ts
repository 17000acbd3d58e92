/** ONNX operators as calls of tfjs. */
import {
  type OnnxNode,
  type PlainTensor,
  transposed,
} from "../../../test/kernels/equivalent.ts";

/** The part of tfjs's interface the benches use. */
export interface TfTensor {
  shape: number[];
  dataSync(): Float32Array | Int32Array;
  dispose(): void;
}
type Unary = (x: TfTensor) => TfTensor;
type Binary = (a: TfTensor, b: TfTensor) => TfTensor;
type Padding = "valid" | [[0, 0], [number, number], [number, number], [0, 0]];
interface ConvOptions {
  x: TfTensor;
  filter: TfTensor;
  strides: readonly number[];
  pad: Padding;
  dilations: readonly number[];
  bias?: TfTensor;
}
type Pool = (
  x: TfTensor,
  kernel: readonly number[],
  strides: readonly number[],
  pad: Padding | number,
) => TfTensor;
type Resize = (
  x: TfTensor,
  size: readonly number[],
  alignCorners: boolean,
  halfPixelCenters: boolean,
) => TfTensor;

export interface Tf extends
  Record<
    "relu" | "sigmoid" | "tanh" | "exp" | "erf" | "neg" | "abs" | "sqrt",
    Unary
  >,
  Record<"add" | "sub" | "mul" | "div" | "maximum" | "minimum", Binary> {
  env(): {
    getAsync(flag: string): Promise<unknown>;
    set(flag: string, value: boolean): void;
  };
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  tidy(compute: () => TfTensor[]): TfTensor[];
  tensor(
    data: Float32Array | Int32Array,
    shape: readonly number[],
    type: "float32" | "int32",
  ): TfTensor;
  fused: {
    matMul(
      options: { a: TfTensor; b: TfTensor; bias?: TfTensor },
    ): TfTensor;
    conv2d(options: ConvOptions): TfTensor;
    depthwiseConv2d(options: ConvOptions): TfTensor;
  };
  conv2dTranspose(
    x: TfTensor,
    filter: TfTensor,
    outShape: readonly number[],
    strides: readonly number[],
    pad: Padding,
  ): TfTensor;
  maxPool: Pool;
  avgPool: Pool;
  image: { resizeBilinear: Resize; resizeNearestNeighbor: Resize };
  transpose(x: TfTensor, perm: readonly number[]): TfTensor;
  softmax(x: TfTensor): TfTensor;
  argMax(x: TfTensor, axis: number): TfTensor;
  topk(x: TfTensor, k: number): { values: TfTensor; indices: TfTensor };
  gather(x: TfTensor, ids: TfTensor): TfTensor;
  concat(parts: readonly TfTensor[], axis: number): TfTensor;
  split(x: TfTensor, count: number, axis: number): TfTensor[];
}

const UNARY: Record<
  string,
  "relu" | "sigmoid" | "tanh" | "exp" | "erf" | "neg" | "abs" | "sqrt"
> = {
  Relu: "relu",
  Sigmoid: "sigmoid",
  Tanh: "tanh",
  Exp: "exp",
  Erf: "erf",
  Neg: "neg",
  Abs: "abs",
  Sqrt: "sqrt",
};
const BINARY: Record<
  string,
  "add" | "sub" | "mul" | "div" | "maximum" | "minimum"
> = {
  Add: "add",
  Sub: "sub",
  Mul: "mul",
  Div: "div",
  Max: "maximum",
  Min: "minimum",
};

/** Makes a tensor that is released with the operation. */
type Make = (
  data: Float32Array | Int32Array,
  shape: readonly number[],
  type?: "float32" | "int32",
) => TfTensor;

/** What computes the operator's outputs, or undefined where tfjs-wasm has none. */
export function translate(
  tf: Tf,
  node: OnnxNode,
  values: ReadonlyMap<string, PlainTensor>,
  make: Make,
  feed: (name: string) => TfTensor,
): (() => TfTensor[]) | undefined {
  const { opType, attributes = {} } = node;
  const constant = (i: number) => values.get(node.inputs[i] ?? "")!;
  const has = (i: number) => (node.inputs[i] ?? "") !== "";
  const unary = UNARY[opType];
  if (unary !== undefined) {
    const x = feed(node.inputs[0]);
    return () => [tf[unary](x)];
  }
  const binary = BINARY[opType];
  if (binary !== undefined) {
    const [a, b] = [feed(node.inputs[0]), feed(node.inputs[1])];
    return () => [tf[binary](a, b)];
  }
  switch (opType) {
    case "Gemm":
      return gemm();
    case "Conv":
      return conv();
    case "ConvTranspose":
      return convTranspose();
    case "MaxPool":
    case "AveragePool":
      return pool();
    case "Resize":
      return resize();
    case "Softmax": {
      const x = feed(node.inputs[0]);
      return () => [tf.softmax(x)];
    }
    case "Transpose": {
      const x = feed(node.inputs[0]);
      return () => [tf.transpose(x, attributes.perm as number[])];
    }
    case "ArgMax": {
      const x = feed(node.inputs[0]);
      return () => [tf.argMax(x, 1)];
    }
    case "TopK": {
      const x = feed(node.inputs[0]);
      const k = Number(constant(1).data[0]);
      return () => {
        const { values, indices } = tf.topk(x, k);
        return [values, indices];
      };
    }
    case "Gather": {
      const table = feed(node.inputs[0]);
      const { data, shape } = constant(1);
      const ids = make(data as Int32Array, shape, "int32");
      return () => [tf.gather(table, ids)];
    }
    case "LSTM":
      return lstm();
    default:
      return undefined;
  }

  function bias(i: number): { bias?: TfTensor } {
    if (!has(i)) return {};
    const { data, shape } = constant(i);
    return { bias: make(data as Float32Array, shape) };
  }

  /** Weights that are inputs are packed anew in a network; here tfjs would pack them once. */
  function gemm() {
    if (node.inputs[1] === "b") return undefined;
    const { data, shape: [n, k] } = constant(1) as PlainTensor & {
      shape: [number, number];
    };
    const a = feed(node.inputs[0]);
    const b = make(transposed(data as Float32Array, n, k), [k, n]);
    const rest = bias(2);
    return () => [tf.fused.matMul({ a, b, ...rest })];
  }

  function padding(): Padding {
    const [top, left, bottom, right] = attributes.pads as number[];
    const none = [top, left, bottom, right].every((pad) => pad === 0);
    return none ? "valid" : [[0, 0], [top, bottom], [left, right], [0, 0]];
  }

  function conv() {
    const { data, shape } = constant(1);
    const [outChannels, own, kh, kw] = shape as [
      number,
      number,
      number,
      number,
    ];
    const group = attributes.group as number;
    const depthwise = own === 1 && group === outChannels;
    if (group > 1 && !depthwise) return undefined;
    const options = {
      x: feed(node.inputs[0]),
      // [out][own][taps] to [taps][own][out], or [taps][channels][1].
      filter: make(
        transposed(data as Float32Array, outChannels * own, kh * kw)
          .map((_, i, turned) => {
            const tap = Math.floor(i / (own * outChannels));
            const [c, o] = [
              Math.floor(i / outChannels) % own,
              i % outChannels,
            ];
            return turned[tap * own * outChannels + o * own + c];
          }),
        depthwise ? [kh, kw, outChannels, 1] : [kh, kw, own, outChannels],
      ),
      strides: attributes.strides as number[],
      pad: padding(),
      dilations: attributes.dilations as number[],
      ...bias(2),
    };
    return depthwise
      ? () => [tf.fused.depthwiseConv2d(options)]
      : () => [tf.fused.conv2d(options)];
  }

  function convTranspose() {
    const { data, shape } = constant(1);
    const [channels, out, kh, kw] = shape as [number, number, number, number];
    const grouped = attributes.group !== 1;
    const dilated = (attributes.dilations as number[]).some((by) => by > 1);
    if (grouped || dilated) return undefined;
    const x = feed(node.inputs[0]);
    // [channels][out][taps] to [taps][out][channels].
    const filter = make(
      Float32Array.from(data as Float32Array, (_, i) => {
        const tap = Math.floor(i / (out * channels));
        const [o, c] = [Math.floor(i / channels) % out, i % channels];
        return Number(data[(c * out + o) * kh * kw + tap]);
      }),
      [kh, kw, out, channels],
    );
    const strides = attributes.strides as number[];
    const pads = attributes.pads as number[];
    const extra = attributes.output_padding as number[];
    const size = (axis: 0 | 1, taps: number) =>
      (x.shape[1 + axis] - 1) * strides[axis] - pads[axis] -
      pads[axis + 2] + taps + extra[axis];
    const outShape = [x.shape[0], size(0, kh), size(1, kw), out];
    const { bias: b } = bias(2);
    return () => {
      const y = tf.conv2dTranspose(x, filter, outShape, strides, padding());
      return [b === undefined ? y : tf.add(y, b)];
    };
  }

  function pool() {
    if (attributes.count_include_pad === 1) return undefined;
    const x = feed(node.inputs[0]);
    const kernel = attributes.kernel_shape as number[];
    const strides = attributes.strides as number[];
    const pads = attributes.pads as number[];
    if (pads.some((pad) => pad !== pads[0])) return undefined;
    const run = opType === "MaxPool" ? tf.maxPool : tf.avgPool;
    return () => [run(x, kernel, strides, pads[0])];
  }

  function resize() {
    const x = feed(node.inputs[0]);
    const sizes = constant(3).data as BigInt64Array;
    const size = [Number(sizes[2]), Number(sizes[3])];
    const run = attributes.mode === "nearest"
      ? tf.image.resizeNearestNeighbor
      : tf.image.resizeBilinear;
    return () => [run(x, size, false, true)];
  }

  /** One step from tfjs's operators, as its own basicLSTMCell: one product, then gates. */
  function lstm() {
    const [w, r, b] = [constant(1), constant(2), constant(3)];
    const [, gates, inputSize] = w.shape as [number, number, number];
    const hidden = gates / 4;
    const rows = constant(0).shape[1];
    const weights = new Float32Array((inputSize + hidden) * gates);
    weights.set(transposed(w.data as Float32Array, gates, inputSize));
    weights.set(
      transposed(r.data as Float32Array, gates, hidden),
      inputSize * gates,
    );
    const kernel = make(weights, [inputSize + hidden, gates]);
    const sums = Float32Array.from(
      { length: gates },
      (_, j) => Number(b.data[j]) + Number(b.data[gates + j]),
    );
    const shift = make(sums, [gates]);
    const state = (i: number, width: number) =>
      make(constant(i).data as Float32Array, [rows, width]);
    const [x, h, c] = [state(0, inputSize), state(5, hidden), state(6, hidden)];
    return () => {
      const a = tf.concat([x, h], 1);
      const product = tf.fused.matMul({ a, b: kernel, bias: shift });
      const [i, o, f, g] = tf.split(product, 4, 1) as [
        TfTensor,
        TfTensor,
        TfTensor,
        TfTensor,
      ];
      const next = tf.add(
        tf.mul(tf.sigmoid(f), c),
        tf.mul(tf.sigmoid(i), tf.tanh(g)),
      );
      return [tf.mul(tf.sigmoid(o), tf.tanh(next)), next];
    };
  }
}
