/**
 * Operators of cells as ONNX nodes. A value is [batch, width], of a ragged cell [batch, tokens, width], an image
 * [batch, channels, height, width], an id [batch] or [batch, tokens].
 */
import type {
  CacheRef,
  Operator,
  OperatorName,
  OperatorOf,
  Value,
} from "../../../src/graph/operator.ts";
import type { ImageShape } from "../../../src/tensor/image_shape.ts";
import { type Tensor, tensor } from "../../../src/tensor/tensor.ts";
import type { OnnxWriter } from "./writer.ts";

/** Keys and values that a cache holds, [batch, positions, width] each. */
export interface CacheValues {
  key: string;
  value: string;
}

/** How attention is written: in ONNX's older operators, or in ONNX Runtime's own one. */
export type AttentionForm = "operators" | "MultiHeadAttention";

/** What an operator is written in the midst of. */
export interface CellContext {
  writer: OnnxWriter;
  batch: number;
  /** Tokens of the node's rows; undefined in a cell that is not ragged. */
  tokens: number | undefined;
  attention: AttentionForm;
  /** Name of a value of the cell. */
  of(value: Value): string;
  /** What a cache holds by now; undefined if nothing. */
  cache(ref: CacheRef): CacheValues | undefined;
  setCache(ref: CacheRef, values: CacheValues): void;
}

/** @returns a name for each output */
type Exporter<Name extends OperatorName> = (
  operator: OperatorOf<Name>,
  context: CellContext,
) => string[];

type Exporters = { readonly [Name in OperatorName]?: Exporter<Name> };

/** @throws {RangeError} on an operator, or a form of one, that is not written as ONNX here */
export function exportOperator(
  operator: Operator,
  context: CellContext,
): string[] {
  const write = (EXPORTERS as Record<string, unknown>)[operator.op] as
    | Exporter<OperatorName>
    | undefined;
  if (write === undefined) {
    throw new RangeError(`Operator ${operator.op} is not exported`);
  }
  return write(operator, context);
}

/** Operators of the same name and inputs. */
const asIs = <Name extends OperatorName>(): Exporter<Name> =>
(
  { op, inputs },
  { writer, of },
) => [writer.one(op, inputs.map(of))];

const elementwise = {
  Add: asIs<"Add">(),
  Sub: asIs<"Sub">(),
  Mul: asIs<"Mul">(),
  Relu: asIs<"Relu">(),
  Sigmoid: asIs<"Sigmoid">(),
  Tanh: asIs<"Tanh">(),
  Exp: asIs<"Exp">(),
  Gelu: asIs<"Gelu">(),
  GeluTanh: ({ inputs: [x] }, { writer, of }) => [
    writer.one("Gelu", [of(x)], { approximate: "tanh" }),
  ],
  Softmax: ({ inputs: [x] }, { writer, of }) => [
    writer.one("Softmax", [of(x)], { axis: -1 }),
  ],
  Clip: ({ inputs: [x], least, most }, { writer, of }) => [
    writer.one("Clip", [
      of(x),
      least === undefined ? "" : writer.scalar(least),
      ...(most === undefined ? [] : [writer.scalar(most)]),
    ]),
  ],
} satisfies Exporters;

const dense = {
  Gather: ({ inputs: [id], table }, { writer, of }) => [
    writer.one("Gather", [writer.weight(table), of(id)], { axis: 0 }),
  ],
  Gemm({ inputs: [x], weight, bias }, { writer, of, tokens }) {
    const rows = x.image ? writer.one("Flatten", [of(x)]) : of(x);
    if (tokens === undefined) {
      const inputs = [rows, writer.weight(weight)];
      if (bias) inputs.push(writer.weight(bias));
      return [writer.one("Gemm", inputs, { transB: 1 })];
    }
    const product = writer.one("MatMul", [rows, writer.turned(weight)]);
    return [bias ? writer.one("Add", [product, writer.weight(bias)]) : product];
  },
  ArgMax({ inputs: [x] }, { writer, of }) {
    const id = writer.one("ArgMax", [of(x)], { axis: -1, keepdims: 0 });
    return [writer.one("Cast", [id], { to: ONNX_INT32 })];
  },
} satisfies Exporters;

/** TensorProto.DataType. */
const ONNX_INT32 = 6;

/** Tokens take the place of the batch where there are any. */
function recurrent(
  opType: "LSTM" | "GRU",
  operator: OperatorOf<"LSTM"> | OperatorOf<"GRU">,
  { writer, of, tokens }: CellContext,
): string[] {
  if (tokens !== undefined) {
    throw new RangeError(`${opType} in a ragged cell is not exported`);
  }
  const { inputs, w, r, b } = operator;
  const axis = writer.integers(0);
  const [x, ...states] = inputs.map((value) =>
    writer.one("Unsqueeze", [of(value), axis])
  );
  const hidden = r.shape[1];
  const outputs = writer.emit(opType, [
    x,
    writer.weight(w, [1, ...w.shape]),
    writer.weight(r, [1, ...r.shape]),
    b ? writer.weight(b, [1, ...b.shape]) : "",
    "",
    ...states,
  ], {
    attributes: {
      hidden_size: hidden,
      ...(opType === "GRU" && { linear_before_reset: 1 }),
    },
    outputs: [false, ...states.map(() => true)],
  });
  return outputs.slice(1).map((name) => writer.one("Squeeze", [name, axis]));
}

/** Columns [from, to) of the last axis. */
function columns(
  writer: OnnxWriter,
  x: string,
  from: number,
  to: number,
): string {
  return writer.one("Slice", [
    x,
    writer.integers(from),
    writer.integers(to),
    writer.integers(-1),
  ]);
}

/** Gates of a product, each `hidden` wide, behind their activations. */
function gates(
  { writer }: CellContext,
  product: string,
  hidden: number,
  activations: readonly ("Sigmoid" | "Tanh")[],
): string[] {
  return activations.map((activation, i) =>
    writer.one(activation, [
      columns(writer, product, i * hidden, (i + 1) * hidden),
    ])
  );
}

/** Sources: Tai, Socher and Manning 2015, equations of the N-ary form. */
const recurrences = {
  LSTM: (operator, context) => recurrent("LSTM", operator, context),
  GRU: (operator, context) => recurrent("GRU", operator, context),
  TreeLSTMLeaf({ inputs: [x], outputs: [{ width }], w, b }, context) {
    const { writer, of } = context;
    const product = writer.one("Gemm", [
      of(x),
      writer.weight(w),
      ...(b ? [writer.weight(b)] : []),
    ], { transB: 1 });
    const [i, o, u] = gates(context, product, width, [
      ...["Sigmoid", "Sigmoid", "Tanh"] as const,
    ]);
    const c = writer.one("Mul", [i, u]);
    return [writer.one("Mul", [o, writer.one("Tanh", [c])]), c];
  },
  TreeLSTMNode({ inputs, outputs: [{ width }], arity, u, b }, context) {
    const { writer, of } = context;
    const children = inputs.map(of);
    const product = writer.one("Gemm", [
      writer.one("Concat", children.slice(0, arity), { axis: -1 }),
      writer.weight(u),
      ...(b ? [writer.weight(b)] : []),
    ], { transB: 1 });
    const forget = new Array<"Sigmoid">(arity).fill("Sigmoid");
    const all = gates(context, product, width, [
      ...["Sigmoid", ...forget, "Sigmoid", "Tanh"] as const,
    ]);
    const [i, o, candidate] = [all[0], all[1 + arity], all[2 + arity]];
    let c = writer.one("Mul", [i, candidate]);
    for (let l = 0; l < arity; l++) {
      const kept = writer.one("Mul", [all[1 + l], children[arity + l]]);
      c = writer.one("Add", [c, kept]);
    }
    return [writer.one("Mul", [o, writer.one("Tanh", [c])]), c];
  },
} satisfies Exporters;

/** A row as one token: [batch, width] to [batch, 1, width]. */
function asToken({ writer, tokens }: CellContext, x: string): string {
  return tokens === undefined
    ? writer.one("Unsqueeze", [x, writer.integers(1)])
    : x;
}

/** The other way round. */
function asRow({ writer, tokens }: CellContext, x: string): string {
  return tokens === undefined
    ? writer.one("Squeeze", [x, writer.integers(1)])
    : x;
}

function held(context: CellContext, ref: CacheRef): CacheValues {
  const values = context.cache(ref);
  if (values === undefined) throw new RangeError("A cache is read while empty");
  return values;
}

/** [batch, positions, heads size] to [batch, heads, positions, size], or with the last two axes exchanged. */
function split(
  { writer }: CellContext,
  x: string,
  heads: number,
  perm: readonly number[],
): string {
  // 0: as it is; -1: what is left.
  const shape = writer.integers(0, 0, heads, -1);
  return writer.one("Transpose", [writer.one("Reshape", [x, shape])], { perm });
}

/** What is added to scores so that a token sees none behind it; of caches that were empty before. */
function upTo(tokens: number): Tensor {
  const mask = new Float32Array(tokens * tokens);
  for (let row = 0; row < tokens; row++) {
    mask.fill(-Infinity, row * tokens + row + 1, (row + 1) * tokens);
  }
  return tensor([tokens, tokens], mask);
}

const attentions = {
  CacheAppend({ inputs: [k, v], cache }, context) {
    const { writer, of } = context;
    const before = context.cache(cache);
    const behind = (held: string | undefined, value: Value) => {
      const token = asToken(context, of(value));
      return held === undefined
        ? token
        : writer.one("Concat", [held, token], { axis: 1 });
    };
    context.setCache(cache, {
      key: behind(before?.key, k),
      value: behind(before?.value, v),
    });
    return [];
  },
  Attention({ inputs: [q], cache, heads, kvHeads, scale, causal }, context) {
    const { writer, of, tokens = 1 } = context;
    if (kvHeads !== heads) {
      throw new RangeError("Attention of shared heads is not exported");
    }
    // One token sees all that there is.
    const isMasked = causal && tokens > 1;
    const { key, value } = held(context, cache);
    const query = asToken(context, of(q));
    if (context.attention === "MultiHeadAttention") {
      const [mixed] = writer.emit("MultiHeadAttention", [query, key, value], {
        domain: "com.microsoft",
        attributes: {
          num_heads: heads,
          scale: { float: scale },
          ...(isMasked && { unidirectional: 1 }),
        },
      });
      return [asRow(context, mixed)];
    }
    const scores = writer.one("Mul", [
      writer.one("MatMul", [
        split(context, query, heads, [0, 2, 1, 3]),
        split(context, key, heads, [0, 2, 3, 1]),
      ]),
      writer.scalar(scale),
    ]);
    const seen = isMasked
      ? writer.one("Add", [
        scores,
        writer.weight(upTo(tokens), [tokens, tokens]),
      ])
      : scores;
    const mixed = writer.one("MatMul", [
      writer.one("Softmax", [seen], { axis: -1 }),
      split(context, value, heads, [0, 2, 1, 3]),
    ]);
    const turned = writer.one("Transpose", [mixed], { perm: [0, 2, 1, 3] });
    const joined = writer.integers(0, 0, -1);
    return [asRow(context, writer.one("Reshape", [turned, joined]))];
  },
  AdditiveAttention({ inputs: [q], cache, v }, context) {
    const { writer, of } = context;
    const { key, value } = held(context, cache);
    const sum = writer.one("Add", [key, asToken(context, of(q))]);
    // [batch, positions, 1]
    const scores = writer.one("MatMul", [
      writer.one("Tanh", [sum]),
      writer.weight(v, [v.data.length, 1]),
    ]);
    const shares = writer.one("Transpose", [
      writer.one("Softmax", [scores], { axis: 1 }),
    ], { perm: [0, 2, 1] });
    return [asRow(context, writer.one("MatMul", [shares, value]))];
  },
  LayerNormalization({ inputs: [x], scale, bias, epsilon }, { writer, of }) {
    const inputs = [of(x), writer.weight(scale)];
    if (bias) inputs.push(writer.weight(bias));
    return [
      writer.one("LayerNormalization", inputs, {
        axis: -1,
        epsilon: { float: epsilon },
      }),
    ];
  },
} satisfies Exporters;

const rows = {
  Concat: ({ inputs }, { writer, of }) => [
    writer.one("Concat", inputs.map(of), { axis: inputs[0].image ? 1 : -1 }),
  ],
  Slice: ({ inputs: [x], start, outputs: [{ width }] }, { writer, of }) => [
    columns(writer, of(x), start, start + width),
  ],
  Constant({ value, outputs: [{ width }] }, { writer, batch, tokens }) {
    const lead = tokens === undefined ? [batch] : [batch, tokens];
    return [
      writer.one("Expand", [
        writer.weight(value, [width]),
        writer.integers(...lead, width),
      ]),
    ];
  },
} satisfies Exporters;

/** Attributes of a sliding window. */
function windowOf(
  { kernel, stride, pads, dilation }: ImageShape,
): Record<string, readonly number[]> {
  return {
    kernel_shape: kernel,
    strides: stride,
    pads,
    dilations: dilation,
  };
}

/** Lines that a window reaches over. */
function reach({ kernel, dilation }: ImageShape, axis: 0 | 1): number {
  return (kernel[axis] - 1) * dilation[axis] + 1;
}

/** 1 where a window leaves the image at its end: more comes out than rounding down gives. */
function ceilMode(shape: ImageShape): number {
  const { height, width, outHeight, outWidth, pads, stride } = shape;
  const steps = (size: number, axis: 0 | 1) =>
    Math.floor(
      (size + pads[axis] + pads[axis + 2] - reach(shape, axis)) / stride[axis],
    );
  return Number(
    outHeight > 1 + steps(height, 0) || outWidth > 1 + steps(width, 1),
  );
}

const images = {
  Conv({ inputs: [x], weight, bias, shape }, { writer, of }) {
    const inputs = [of(x), writer.weight(weight)];
    if (bias) inputs.push(writer.weight(bias));
    const attributes = { ...windowOf(shape), group: shape.groups };
    return [writer.one("Conv", inputs, attributes)];
  },
  ConvTranspose({ inputs: [x], weight, bias, shape }, { writer, of }) {
    const inputs = [of(x), writer.weight(weight)];
    if (bias) inputs.push(writer.weight(bias));
    const { height, width, outHeight, outWidth, pads, stride } = shape;
    const extra = (size: number, out: number, axis: 0 | 1) =>
      out - (size - 1) * stride[axis] + pads[axis] + pads[axis + 2] -
      reach(shape, axis);
    return [
      writer.one("ConvTranspose", inputs, {
        ...windowOf(shape),
        group: shape.groups,
        output_padding: [
          extra(height, outHeight, 0),
          extra(width, outWidth, 1),
        ],
      }),
    ];
  },
  BatchNormalization(
    { inputs: [x], scale, shift, mean, variance, epsilon },
    { writer, of },
  ) {
    const weights = [scale, shift, mean, variance]
      .map((tensor) => writer.weight(tensor));
    return [
      writer.one("BatchNormalization", [of(x), ...weights], {
        epsilon: { float: epsilon },
      }),
    ];
  },
  MaxPool: ({ inputs: [x], shape }, { writer, of }) => [
    writer.one("MaxPool", [of(x)], {
      ...windowOf(shape),
      ceil_mode: ceilMode(shape),
    }),
  ],
  AveragePool: (
    { inputs: [x], shape, countIncludePad },
    { writer, of },
  ) => [
    writer.one("AveragePool", [of(x)], {
      ...windowOf(shape),
      ceil_mode: ceilMode(shape),
      count_include_pad: Number(countIncludePad),
    }),
  ],
  GlobalAveragePool: asIs<"GlobalAveragePool">(),
  CenterCropPad({ inputs: [x], outputs: [y] }, { writer, of }) {
    const { height, width } = y.image!;
    const from = [
      Math.floor((x.image!.height - height) / 2),
      Math.floor((x.image!.width - width) / 2),
    ] as const;
    return [
      writer.one("Slice", [
        of(x),
        writer.integers(...from),
        writer.integers(from[0] + height, from[1] + width),
        writer.integers(2, 3),
      ]),
    ];
  },
  Flatten: asIs<"Flatten">(),
} satisfies Exporters;

const EXPORTERS: Exporters = {
  ...elementwise,
  ...dense,
  ...recurrences,
  ...attentions,
  ...rows,
  ...images,
};
