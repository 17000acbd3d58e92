/**
 * Which nodes compute every position of a sequence by itself, so that they are the same over the positions of many
 * requests, one behind the other. Where the free axis stands is known of every value; a rule says what must hold for
 * none of its elements to meet another one's.
 */
import { attributeOf, type OnnxNode } from "../ir.ts";
import { capturedBy } from "../names.ts";
import { type Dim, productOf } from "../shapes/dim.ts";
import type { InferredValue } from "../shapes/value.ts";

/** A node whose first result has positions. */
export interface TokenNode {
  readonly node: OnnxNode;
  /** The free axis of each input: undefined for one that has none. */
  readonly axes: readonly (number | undefined)[];
  readonly inputs: readonly (InferredValue | undefined)[];
  /** The free axis of each result. */
  readonly results: readonly number[];
  readonly outputs: readonly InferredValue[];
}

/** @returns why positions meet, or may; undefined where they do not */
type Rule = (node: TokenNode) => string | undefined;

/** Inputs that only say sizes or axes, by operator: numbers of them are taken at one position. */
export const SIZE_INPUTS: Readonly<Record<string, readonly number[]>> = {
  Reshape: [1],
  Expand: [1],
  Slice: [1, 2, 3, 4],
  Squeeze: [1],
  Unsqueeze: [1],
  Split: [1],
  Pad: [1, 3],
  TopK: [1],
  ReduceSum: [1],
  ReduceMean: [1],
  ReduceMax: [1],
  ReduceMin: [1],
  ReduceProd: [1],
  ReduceL1: [1],
  ReduceL2: [1],
  ReduceSumSquare: [1],
  ReduceLogSum: [1],
  ReduceLogSumExp: [1],
};

/** What a node reads, in graphs inside it, too, besides what says sizes. */
export function operandsOf(node: OnnxNode): string[] {
  const sizes = SIZE_INPUTS[node.op] ?? [];
  return [
    ...node.inputs.filter((_, i) => !sizes.includes(i)),
    ...capturedBy(node) ?? [],
  ];
}

const MEETS = "it computes positions together";

const rankOf = (value: InferredValue | undefined) => value?.dims?.length ?? 0;

/** An axis from 0. */
const from0 = (axis: number, rank: number) => axis < 0 ? axis + rank : axis;

/** Broadcasting: the free axis stands as far from the end everywhere. */
const elementwise: Rule = ({ axes, inputs, results: [axis], outputs: [out] }) =>
  axes.every((each, i) =>
      each === undefined ||
      rankOf(inputs[i]) - each === rankOf(out) - axis
    )
    ? undefined
    : "positions of its inputs are not on one axis";

/** The same elements: as many behind each position as there were. */
const reshaped: Rule = (
  { axes: [from], inputs: [x], results: [to], outputs: [y] },
) => {
  const behind = (dims: readonly Dim[], axis: number) =>
    productOf(dims.slice(axis + 1));
  return from !== undefined && behind(x!.dims!, from) === behind(y.dims!, to)
    ? undefined
    : "it mixes the axis of positions with others";
};

/** All but some axes are by themselves. */
const over =
  (axesOf: (node: TokenNode) => readonly number[] | undefined): Rule =>
  (node) => {
    const [axis] = node.axes;
    const axes = axesOf(node)?.map((each) =>
      from0(each, rankOf(node.inputs[0]))
    );
    if (axes === undefined) return "its axes are not known";
    return axis === undefined || axes.includes(axis)
      ? `${MEETS}: it goes along their axis`
      : undefined;
  };

const axis = (absent: number) =>
  over(({ node }) => [attributeOf(node, "axis", "int") ?? absent]);

/** From an axis on. */
const fromAxis = (absent: number) =>
  over(({ node, inputs: [x] }) => {
    const rank = rankOf(x);
    const from = from0(attributeOf(node, "axis", "int") ?? absent, rank);
    return Array.from({ length: Math.max(0, rank - from) }, (_, i) => from + i);
  });

const softmax: Rule = (node) =>
  (node.node.version < 13 ? fromAxis(1) : axis(-1))(node);

const reduced = over(({ node, inputs: [x, axes] }) => {
  const given = axes?.elements ?? attributeOf(node, "axes", "ints");
  if (given?.every((each) => typeof each === "number") && given.length > 0) {
    return given;
  }
  if (attributeOf(node, "noop_with_empty_axes", "int")) return [];
  return Array.from({ length: rankOf(x) }, (_, i) => i);
});

/** Rows of the first matrix are by themselves; those of a product of two sequences are not. */
const product: Rule = ({ axes: [a, b], inputs: [x] }) => {
  if (a !== undefined && b !== undefined) {
    return `${MEETS}, and is no attention of a sequence to itself as exporters write it`;
  }
  return a !== undefined && a < rankOf(x) - 1
    ? undefined
    : `${MEETS}: it sums over them, or they are columns`;
};

/** Of values that all have positions, along another axis. */
const concat: Rule = (node) =>
  node.axes.every((each) => each === node.results[0])
    ? axis(0)(node)
    : "positions of its inputs are not on one axis";

const gemm: Rule = ({ node, axes: [a, b, c] }) =>
  a === 0 && !attributeOf(node, "transA", "int") && b === undefined &&
    c === undefined
    ? undefined
    : MEETS;

/** Of a table, or along another axis. */
const gather: Rule = ({ node, axes: [x, ids], inputs: [data] }) => {
  if (x === undefined) return undefined;
  if (ids !== undefined) return "it takes positions by number";
  const along = from0(attributeOf(node, "axis", "int") ?? 0, rankOf(data));
  return along === x ? "it takes positions by number" : undefined;
};

const slice: Rule = (
  { node, axes: [x], inputs: [data, starts, , axes, steps] },
) => {
  const given = node.version < 10
    ? attributeOf(node, "axes", "ints")
    : axes?.elements ?? (axes ? null : undefined);
  const count = node.version < 10
    ? attributeOf(node, "starts", "ints")?.length
    : starts?.dims?.[0];
  if (given === null || typeof count !== "number") {
    return "its axes are not known";
  }
  const all = given ?? Array.from({ length: count }, (_, i) => i);
  const i = all.findIndex((each) =>
    typeof each === "number" && from0(each, rankOf(data)) === x
  );
  // All positions in their order: as many as there were.
  const isWhole = i < 0 || !steps || steps.elements?.[i] === 1;
  return x !== undefined && isWhole ? undefined : MEETS;
};

/** A convolution of one position. */
const pointwise: Rule = ({ node, axes: [x, w], inputs: [, weight] }) => {
  const isOne = (name: string, value: number) =>
    attributeOf(node, name, "ints")?.every((each) => each === value) ?? true;
  const isPointwise = w === undefined && x !== undefined && x >= 2 &&
    weight?.dims?.slice(2).every((size) => size === 1) &&
    isOne("strides", 1) && isOne("pads", 0);
  return isPointwise
    ? undefined
    : `${MEETS}: a convolution along the sequence takes several of them`;
};

const channels: Rule = ({ axes: [x] }) =>
  x !== undefined && x !== 1 ? undefined : MEETS;

const free: Rule = () => undefined;

const named = (rule: Rule, ...ops: readonly string[]) =>
  ops.map((op) => [op, rule] as const);

const RULES: ReadonlyMap<string, Rule> = new Map([
  ...named(
    elementwise,
    ...["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean", "Mod"],
    ...["And", "Or", "Xor", "Not", "Equal", "Greater", "Less", "Where"],
    ...["GreaterOrEqual", "LessOrEqual", "BitwiseAnd", "BitwiseOr"],
    ...["Abs", "Neg", "Sign", "Ceil", "Floor", "Round", "Sqrt", "Exp", "Log"],
    ...["Reciprocal", "Erf", "Sigmoid", "Tanh", "Relu", "PRelu", "LeakyRelu"],
    ...["Elu", "Selu", "Celu", "Gelu", "Swish", "Mish", "HardSigmoid"],
    ...["HardSwish", "Softplus", "Softsign", "ThresholdedRelu", "Clip"],
    ...["Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh"],
    ...["Cast", "CastLike", "Identity", "Dropout", "IsNaN", "IsInf"],
    ...["QuantizeLinear", "DequantizeLinear", "Expand"],
  ),
  ...named(reshaped, "Reshape", "Flatten", "Squeeze", "Unsqueeze"),
  ...named(free, "Transpose"),
  ...named(softmax, "Softmax", "LogSoftmax", "Hardmax"),
  ...named(
    fromAxis(-1),
    ...["LayerNormalization", "RMSNormalization"],
  ),
  ...named(axis(-1), "LpNormalization", "TopK"),
  ...named(axis(0), "Split", "ArgMax", "ArgMin"),
  ...named(concat, "Concat"),
  ...named(
    reduced,
    ...["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"],
    ...["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum"],
    ...["ReduceLogSumExp"],
  ),
  ...named(product, "MatMul"),
  ...named(gemm, "Gemm"),
  ...named(gather, "Gather"),
  ...named(slice, "Slice"),
  ...named(pointwise, "Conv"),
  ...named(channels, "BatchNormalization"),
]);

/** Why a node is not for every position by itself; undefined where it is. */
export function whyNotByToken(node: TokenNode): string | undefined {
  const rule = RULES.get(node.node.op);
  if (rule === undefined) return MEETS;
  const [first, ...others] = node.results;
  const isOne = others.every((each) =>
    each === first || node.node.op === "TopK"
  );
  return isOne ? rule(node) : MEETS;
}
