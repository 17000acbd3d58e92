/** Rules of products of matrices, of recurrent networks and attention, of quantisation and normalisation. */
import type { PlainType } from "../../tensor/plain_tensor.ts";
import { broadcastDims, commonDim } from "./broadcast.ts";
import { addDims, type Dim, floorDivDims, multiplyDims } from "./dim.ts";
import { typeAttribute } from "./elementwise.ts";
import type { NodeView, ShapeRule } from "./node_view.ts";
import { describeDims, type InferredValue } from "./value.ts";

/** [..., m, k] by [..., k, n]; of a vector an axis is made and taken out again. */
function product(
  view: NodeView,
  a: InferredValue["dims"],
  b: InferredValue["dims"],
): InferredValue["dims"] {
  const { place } = view;
  if (a === null || b === null) return null;
  if (a.length === 0 || b.length === 0) place.fail("an input is no matrix");
  const left = a.length === 1 ? [1, a[0]] : a;
  const right = b.length === 1 ? [b[0], 1] : b;
  if (commonDim(left[left.length - 1], right[right.length - 2]) === undefined) {
    place.fail(`${describeDims(a)} by ${describeDims(b)} is no product`);
  }
  const batch = broadcastDims([left.slice(0, -2), right.slice(0, -2)], view);
  return batch && [
    ...batch,
    ...(a.length === 1 ? [] : [left[left.length - 2]]),
    ...(b.length === 1 ? [] : [right[right.length - 1]]),
  ];
}

const matMul: ShapeRule = (view) => {
  const [a, b] = [view.first, view.input(1)];
  return [{
    type: view.sameType(a, b),
    dims: product(view, a.dims, b.dims),
  }];
};

const gemm: ShapeRule = (view) => {
  const [a, b, c] = [view.first, view.input(1), view.optional(2)];
  const type = view.sameType(a, b, c);
  const matrix = ({ dims }: InferredValue, name: string) => {
    if (dims === null) return view.unknowns(2);
    if (dims.length !== 2) {
      view.place.fail(`${describeDims(dims)} is no matrix`);
    }
    return view.flag(name) ? dims.toReversed() : dims;
  };
  const [left, right] = [matrix(a, "transA"), matrix(b, "transB")];
  if (commonDim(left[1], right[0]) === undefined) {
    view.place.fail(
      `${describeDims(left)} by ${describeDims(right)} is no product`,
    );
  }
  const dims = [left[0], right[1]];
  const sum = broadcastDims([dims, c?.dims ?? []], view);
  const isWider = sum?.length !== 2 ||
    sum.some((size, axis) =>
      typeof size === "number" && dims[axis] === 1 && size !== 1
    );
  if (c?.dims && isWider) {
    view.place.fail(
      `a summand of ${describeDims(c.dims)} for ${describeDims(dims)}`,
    );
  }
  return [{ type, dims }];
};

/** LSTM, GRU and RNN: X [T, B, I], R [D, gates * H, H]. @param states final states that it returns */
function recurrent(states: number): ShapeRule {
  return (view) => {
    const { first: { type, dims }, place } = view;
    const isBatchFirst = view.flag("layout");
    const [w, r] = [view.input(1).dims, view.input(2).dims];
    for (const each of [dims, w, r]) {
      if (each !== null && each.length !== 3) {
        place.fail(`${describeDims(each)} has not 3 axes`);
      }
    }
    const direction = view.text("direction", "forward");
    if (!["forward", "reverse", "bidirectional"].includes(direction)) {
      view.at("direction").fail(`it is ${JSON.stringify(direction)}`);
    }
    const directions = direction === "bidirectional" ? 2 : 1;
    if (typeof r?.[0] === "number" && r[0] !== directions) {
      place.fail(`weights of ${describeDims(r)} for ${directions} directions`);
    }
    if (dims && w && commonDim(dims[2], w[2]) === undefined) {
      place.fail(`weights of ${describeDims(w)} for ${describeDims(dims)}`);
    }
    const declared = view.has("hidden_size")
      ? view.int("hidden_size", 0)
      : undefined;
    const hidden: Dim = r?.[2] ?? declared ?? view.unknown(3);
    if (declared !== undefined && commonDim(hidden, declared) === undefined) {
      view.at("hidden_size").fail(
        `it is ${declared}, the weights' is ${describeDims([hidden])}`,
      );
    }
    const [time, batch] = isBatchFirst
      ? [dims?.[1] ?? view.unknown(1), dims?.[0] ?? view.unknown(0)]
      : [dims?.[0] ?? view.unknown(0), dims?.[1] ?? view.unknown(2)];
    const state = isBatchFirst
      ? [batch, directions, hidden]
      : [directions, batch, hidden];
    const all = isBatchFirst
      ? [batch, time, directions, hidden]
      : [time, directions, batch, hidden];
    return [
      { type, dims: all },
      ...Array.from({ length: states }, () => ({ type, dims: state })),
    ];
  };
}

/** Of `com.microsoft`: X [T, B, I], W [D, I, 4 H] and R [D, H, 4 H] of bytes. */
export const dynamicQuantizeLstm: ShapeRule = (view) => {
  const [x, w, r] = [0, 1, 2].map((i) => view.input(i).dims);
  for (const each of [x, w, r]) {
    if (each !== null && each.length !== 3) {
      view.place.fail(`${describeDims(each)} has not 3 axes`);
    }
  }
  const [time, batch] = [x?.[0] ?? view.unknown(0), x?.[1] ?? view.unknown(2)];
  const directions = r?.[0] ?? view.unknown(1);
  const hidden = r?.[1] ?? view.unknown(3);
  const state = { type: view.type, dims: [directions, batch, hidden] };
  const dims = [time, directions, batch, hidden];
  return [{ type: view.type, dims }, state, state];
};

/** Queries [B, H, L, E] or, with the numbers of heads as attributes, [B, L, H * E]; keys and values alike. */
const attention: ShapeRule = (view) => {
  const [q, k, v] = [0, 1, 2].map((i) => view.input(i));
  const type = view.sameType(q, k);
  const open = { type, dims: null };
  if (q.dims === null || k.dims === null || v.dims === null) return [open];
  const is3 = q.dims.length === 3;
  const heads = (name: string) => {
    if (is3 && !view.has(name)) view.place.fail(`it has no ${name}`);
    return view.int(name, 0);
  };
  const split = (dims: readonly Dim[], name: string): readonly Dim[] => {
    if (dims.length !== q.dims?.length || dims.length < 3 || dims.length > 4) {
      view.place.fail(
        `queries, keys and values of ${
          [q, k, v].map(({ dims }) => describeDims(dims)).join(", ")
        }`,
      );
    }
    if (!is3) return dims;
    const count = heads(name);
    if (!(count >= 1)) view.at(name).fail(`it is ${count}`);
    return [dims[0], count, dims[1], floorDivDims(dims[2], count)];
  };
  const [queries, keys, values] = [
    split(q.dims, "q_num_heads"),
    split(k.dims, "kv_num_heads"),
    split(v.dims, "kv_num_heads"),
  ];
  const past = (i: number) => {
    const given = view.optional(i);
    return given === undefined ? 0 : given.dims?.[2] ?? view.unknown(2);
  };
  const key = keys.with(2, addDims(past(4), keys[2]));
  const value = values.with(2, addDims(past(5), values[2]));
  const [batch, count, length] = queries;
  const width = values[3];
  return [
    {
      type,
      dims: is3
        ? [batch, length, multiplyDims(count, width)]
        : [batch, count, length, width],
    },
    { type: k.type, dims: key },
    { type: v.type, dims: value },
    { type, dims: [batch, count, length, key[2]] },
  ];
};

/** The result, and mean and deviation over the axes from `axis` on. */
const layerNormalization: ShapeRule = (view) => {
  const { first: { type, dims } } = view;
  if (dims === null) return [{ type, dims }];
  const from = view.axis(view.int("axis", -1), dims.length);
  const statistics = dims.map((size, axis) => axis < from ? size : 1);
  return [
    { type, dims },
    { type: "float32", dims: statistics },
    { type: "float32", dims: statistics },
  ];
};

/** The result, and the mean and variance that follow of every channel. */
const batchNormalization: ShapeRule = (view) => {
  const { type, dims } = view.first;
  const statistics = { type, dims: view.optional(3)?.dims ?? null };
  return [{ type, dims }, statistics, statistics];
};

const quantizeLinear: ShapeRule = (view) => {
  const zero = view.optional(2);
  const type: PlainType | null = zero
    ? zero.type
    : view.version >= 21 && view.int("output_dtype", 0) !== 0
    ? typeAttribute(view, "output_dtype", null)
    : "uint8";
  return [{ type, dims: view.first.dims }];
};

/** By name. */
export const MATRICES: Readonly<Record<string, ShapeRule>> = {
  MatMul: matMul,
  MatMulInteger: (view) => [{
    type: "int32",
    dims: product(view, view.first.dims, view.input(1).dims),
  }],
  QLinearMatMul: (view) => [{
    type: view.input(7).type,
    dims: product(view, view.first.dims, view.input(3).dims),
  }],
  Gemm: gemm,
  LSTM: recurrent(2),
  GRU: recurrent(1),
  RNN: recurrent(1),
  Attention: attention,
  LayerNormalization: layerNormalization,
  BatchNormalization: batchNormalization,
  QuantizeLinear: quantizeLinear,
  DequantizeLinear: ({ first: { dims } }) => [{ type: "float32", dims }],
  DynamicQuantizeLinear: ({ first: { dims } }) => [
    { type: "uint8", dims },
    { type: "float32", dims: [] },
    { type: "uint8", dims: [] },
  ],
};
