/**
 * Which axis of every value has one element for each row of a batch, found operator by operator: nothing may be summed,
 * sorted or taken apart along it. Sizes are those of one row.
 */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import {
  attributeOf,
  type OnnxAttributeKind,
  type OnnxAttributeValues,
  type OnnxNode,
} from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import { readNames } from "../names.ts";

/** More rows are no request: each becomes one of its own. */
export const ROWS_MAX = 2 ** 16;

/** The axis with a row each; "none" of what is the same for all rows, or one for each without an axis. */
export type BatchAxis = number | "none";

/** A node whose rows may depend on each other; the message says why. */
export class MixedRows extends Error {
  override name = "MixedRows";
}

/** What is known of values, by name. */
export interface BatchAxes {
  readonly known: ReadonlyMap<string, KnownValue>;
  readonly axes: ReadonlyMap<string, BatchAxis>;
}

/** The axes of a node's results, in order. @throws MixedRows */
export function batchAxesOf(node: OnnxNode, of: BatchAxes): BatchAxis[] {
  const view = new View(node, of);
  const all = (axis: BatchAxis) => node.outputs.map(() => axis);
  if (
    readNames(node).every((name) => (of.axes.get(name) ?? "none") === "none")
  ) {
    return all("none");
  }
  const rule = node.domain === "" && Object.hasOwn(RULES, node.op)
    ? RULES[node.op]
    : undefined;
  if (!rule) return view.fail("nobody knows what it does with rows");
  const found = rule(view);
  const axes = Array.isArray(found) ? found : all(found);
  node.outputs.forEach((name, i) => {
    const axis = axes[i];
    if (name !== "" && !of.known.has(name)) {
      view.fail("the size of what it makes depends on values");
    }
    if (name === "" || axis === "none" || view.outDims(i)[axis] === 1) return;
    view.fail("it makes several of a row");
  });
  return axes;
}

/** One axis for all results, or one for each. */
type Rule = (view: View) => BatchAxis | BatchAxis[];

class View {
  /** Of the inputs; of one that is left out "none". */
  readonly axes: readonly BatchAxis[];

  constructor(readonly node: OnnxNode, readonly of: BatchAxes) {
    this.axes = node.inputs.map((name) => of.axes.get(name) ?? "none");
  }

  fail(why: string): never {
    throw new MixedRows(why);
  }

  dims(i: number): readonly number[] {
    return this.of.known.get(this.node.inputs[i])!.dims;
  }

  outDims(i = 0): readonly number[] {
    return this.of.known.get(this.node.outputs[i])!.dims;
  }

  constant(i: number): PlainTensor | undefined {
    return this.of.known.get(this.node.inputs[i] ?? "")?.constant;
  }

  attribute<K extends OnnxAttributeKind>(
    name: string,
    kind: K,
  ): OnnxAttributeValues[K] | undefined {
    return attributeOf(this.node, name, kind);
  }

  /** The attribute `axis` as one from 0. */
  axis(absent: number, rank = this.dims(0).length): number {
    const axis = this.attribute("axis", "int") ?? absent;
    return axis < 0 ? axis + rank : axis;
  }

  /**
   * Numbers of an attribute, or from version `since` on of a constant input; undefined where there are none.
   * @throws MixedRows when they are computed
   */
  numbers(
    attribute: string,
    input: number,
    since: number,
  ): number[] | undefined {
    const { version, inputs } = this.node;
    if (version < since) return this.attribute(attribute, "ints")?.slice();
    if (!inputs[input]) return undefined;
    const { data } = this.constant(input) ??
      this.fail(`its ${attribute} are computed`);
    return Array.from<number | bigint>(data).map(Number);
  }

  /** The same of axes, from 0. */
  named(since: number, input = 1, rank = this.dims(0).length) {
    return this.numbers("axes", input, since)?.map((axis) =>
      axis < 0 ? axis + rank : axis
    );
  }

  /** The axis of the first input; others have none. */
  get first(): number {
    const [first, ...others] = this.axes;
    if (first === "none" || others.some((axis) => axis !== "none")) {
      return this.fail("what it is parametrised with differs from row to row");
    }
    return first;
  }

  /** What axis of a result of rank `rank` those of inputs are that are aligned with its last axes. */
  aligned(inputs: readonly number[], rank: number): BatchAxis {
    let found: BatchAxis = "none";
    for (const i of inputs) {
      const axis = this.axes[i];
      if (axis === undefined || axis === "none") continue;
      const own = axis + rank - this.dims(i).length;
      if (found !== "none" && found !== own) {
        return this.fail("rows of its inputs lie along different axes");
      }
      found = own;
    }
    if (found === "none") return found;
    return found;
  }
}

const elementwise: Rule = (view) =>
  view.aligned(view.node.inputs.map((_, i) => i), view.outDims().length);

/** Images and signals, of which the first axis is the batch. */
const images: Rule = (view) =>
  view.first === 0
    ? 0
    : view.fail("it takes its first axis for the batch, rows lie elsewhere");

/** Where maxima lie is said by positions in the whole batch. */
const maxPool: Rule = (view) =>
  view.node.outputs.length > 1
    ? view.fail("it says where its maxima lie among all rows")
    : images(view);

const batchNormalization: Rule = (view) =>
  view.attribute("training_mode", "int") === 1
    ? view.fail("it takes statistics of all rows")
    : images(view);

/** Mixes along one axis. */
const along = (absent: number): Rule => (view) => {
  const { first } = view;
  return view.axis(absent) === first
    ? view.fail("it computes along the rows")
    : first;
};

/** Mixes all axes from one on. */
const from = (absent: number): Rule => (view) => {
  const { first } = view;
  return view.axis(absent) <= first
    ? view.fail("it computes across the rows")
    : first;
};

const softmax: Rule = (view) =>
  view.node.version >= 13 ? along(-1)(view) : from(1)(view);

/** Axes that are taken out. */
function without(
  axis: number,
  gone: readonly number[],
): number {
  return axis - gone.filter((one) => one < axis).length;
}

const reduce: Rule = (view) => {
  const { first } = view;
  const axes = view.named(view.node.op === "ReduceSum" ? 13 : 18);
  const isEmpty = axes === undefined || axes.length === 0;
  if (isEmpty && view.attribute("noop_with_empty_axes", "int") === 1) {
    return first;
  }
  if (isEmpty || axes.includes(first)) {
    return view.fail("it computes across the rows");
  }
  return view.attribute("keepdims", "int") === 0 ? without(first, axes) : first;
};

const argument: Rule = (view) => {
  const axis = view.axis(0);
  const first = along(0)(view) as number;
  return view.attribute("keepdims", "int") === 0
    ? without(first, [axis])
    : first;
};

/** Rows of the left operand, or of what is in front of both matrices. */
const product = (right: number): Rule => (view) => {
  const [a, b] = [0, right];
  const left = view.dims(a).length;
  const { length: rank } = view.outDims();
  const [x, y] = [view.axes[a], view.axes[b]];
  const others = view.axes.some((axis, i) =>
    axis !== "none" && i !== a && i !== b
  );
  if (others || left < 2 || view.dims(b).length < 2) {
    return view.fail("rows lie where it does not look for them");
  }
  if (x === left - 1 || y === view.dims(b).length - 2) {
    return view.fail("it sums the rows up");
  }
  return view.aligned([a, b].filter((i) => view.axes[i] !== "none"), rank);
};

const gemm: Rule = (view) => {
  const [a, b, c = "none"] = view.axes;
  const isRow = a === 0 && (view.attribute("transA", "int") ?? 0) === 0;
  if (!isRow || b !== "none") {
    return view.fail("rows are no rows of its left matrix");
  }
  const own = c === "none" ? 0 : c + 2 - view.dims(2).length;
  return own === 0 ? 0 : view.fail("what it adds lies the other way");
};

/** The same elements in the same order: axes up to the rows' stay as they are. */
const reshape: Rule = (view) => {
  const { first } = view;
  const out = view.outDims();
  const dims = view.dims(0);
  for (let axis = 0; axis <= first; axis++) {
    if (out[axis] !== dims[axis]) {
      return view.fail("it puts rows together with another axis");
    }
  }
  return first;
};

const squeeze: Rule = (view) => {
  const { first } = view;
  const dims = view.dims(0);
  const axes = view.named(13) ??
    dims.flatMap((size, axis) => size === 1 ? [axis] : []);
  return axes.includes(first)
    ? view.fail("it takes the axis of the rows away")
    : without(first, axes);
};

const unsqueeze: Rule = (view) => {
  const { first } = view;
  const rank = view.outDims().length;
  const added = view.named(13, 1, rank) ?? [];
  let kept = -1;
  for (let axis = 0; axis < rank; axis++) {
    if (!added.includes(axis) && ++kept === first) return axis;
  }
  return view.fail("it has not the axes that it says");
};

const transpose: Rule = (view) => {
  const rank = view.dims(0).length;
  const perm = view.attribute("perm", "ints") ??
    view.dims(0).map((_, i) => rank - 1 - i);
  return perm.indexOf(view.first);
};

const flatten: Rule = (view) => {
  const { first } = view;
  const axis = view.axis(1);
  return first === 0 && axis > 0
    ? 0
    : view.fail("it puts rows together with another axis");
};

const concat: Rule = (view) => {
  const rank = view.outDims().length;
  const found = view.aligned(view.node.inputs.map((_, i) => i), rank);
  return found === view.axis(0)
    ? view.fail("it puts something beside the rows")
    : found;
};

const slice: Rule = (view) => {
  const { first } = view;
  const [starts, ends] = [
    view.numbers("starts", 1, 10),
    view.numbers("ends", 2, 10),
  ];
  const steps = view.numbers("steps", 4, 10);
  const axes = view.named(10, 3) ?? view.dims(0).map((_, axis) => axis);
  const at = axes.indexOf(first);
  const isWhole = starts?.[at] === 0 && (ends?.[at] ?? 0) >= ROWS_MAX &&
    (steps?.[at] ?? 1) === 1;
  return at < 0 || isWhole ? first : view.fail("it takes some of the rows");
};

/** Sizes are those of one row, which has to be as long as before; so no scale may say otherwise. */
const resize: Rule = (view) => {
  const { first, node: { op, version } } = view;
  const { length: rank } = view.dims(0);
  const axes =
    view.attribute("axes", "ints")?.map((axis) =>
      axis < 0 ? axis + rank : axis
    ) ?? view.dims(0).map((_, axis) => axis);
  const at = axes.indexOf(first);
  if (at < 0) return first;
  const numbers = (input: number) =>
    view.node.inputs[input]
      ? [...view.constant(input)?.data ?? view.fail("its scales are computed")]
      : undefined;
  const scales = op === "Upsample" && version < 9
    ? view.attribute("scales", "floats")
    : numbers(op === "Upsample" || version < 11 ? 1 : 2);
  const isScaled = scales !== undefined && scales.length > 0
    ? scales[at] !== 1
    : (view.attribute("keep_aspect_ratio_policy", "string") ?? "stretch") !==
      "stretch";
  const isCrop = view.attribute("coordinate_transformation_mode", "string") ===
    "tf_crop_and_resize";
  const region = isCrop ? numbers(1) : undefined;
  const isCropped = region !== undefined &&
    (region[at] !== 0 || region[at + axes.length] !== 1);
  return isScaled || isCropped
    ? view.fail("it makes others of the rows")
    : first;
};

const pad: Rule = (view) => {
  const { first } = view;
  const pads = view.numbers("pads", 1, 11) ?? [];
  const axes = view.named(18, 3) ?? view.dims(0).map((_, axis) => axis);
  const at = axes.indexOf(first);
  return at < 0 || pads[at] === 0 && pads[at + axes.length] === 0
    ? first
    : view.fail("it puts something beside the rows");
};

const gather: Rule = (view) => {
  const [data, indices] = view.axes;
  const axis = view.axis(0);
  if (data === "none") return axis + (indices as number);
  if (indices !== "none" || data === axis) {
    return view.fail("it picks from the rows, or for each of them another");
  }
  return data < axis ? data : data - 1 + view.dims(1).length;
};

const gatherElements: Rule = (view) => {
  const [data, indices] = view.axes;
  return data !== indices || data === view.axis(0)
    ? view.fail("it picks from the rows")
    : data;
};

const expand: Rule = (view) =>
  view.first + view.outDims().length - view.dims(0).length;

const oneHot: Rule = (view) => {
  const { first } = view;
  const axis = view.axis(-1, view.dims(0).length + 1);
  return axis <= first ? first + 1 : first;
};

/** X [positions][rows][features], states [directions][rows][hidden]. */
const recurrent: Rule = (view) => {
  const [x, ...others] = view.axes;
  const isStates = others.every((axis, i) =>
    axis === "none" || i >= 4 && i <= 5 && axis === 1
  );
  if (x !== 1 || !isStates || view.attribute("layout", "int") === 1) {
    return view.fail("rows lie where it does not look for them");
  }
  return view.node.outputs.map((_, i) => i === 0 ? 2 : 1);
};

const attention: Rule = (view) =>
  view.axes.every((axis) => axis === 0 || axis === "none")
    ? 0
    : view.fail("it takes its first axis for the batch, rows lie elsewhere");

const dynamicQuantize: Rule = (view) => [view.first, "none", "none"];

/** Each element by itself, or along other axes. */
const kept: Rule = (view) => view.first;

function named(rule: Rule, ...names: string[]): [string, Rule][] {
  return names.map((name) => [name, rule]);
}

const RULES: Readonly<Record<string, Rule>> = Object.fromEntries([
  ...named(elementwise, "Add", "Sub", "Mul", "Div", "Pow", "Mod", "PRelu"),
  ...named(elementwise, "Max", "Min", "Sum", "Mean", "Where", "And", "Or"),
  ...named(elementwise, "Xor", "Not", "Equal", "Less", "LessOrEqual"),
  ...named(elementwise, "Greater", "GreaterOrEqual", "BitShift"),
  ...named(elementwise, "BitwiseAnd", "BitwiseOr", "BitwiseXor"),
  ...named(kept, "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh"),
  ...named(kept, "BitwiseNot", "Cast", "CastLike", "Ceil", "Celu", "Clip"),
  ...named(kept, "Cos", "Cosh", "Dropout", "Elu", "Erf", "Exp", "Floor"),
  ...named(kept, "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf"),
  ...named(kept, "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal"),
  ...named(kept, "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign"),
  ...named(kept, "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish"),
  ...named(kept, "Tan", "Tanh", "ThresholdedRelu"),
  ...named(kept, "QuantizeLinear", "DequantizeLinear"),
  ...named(images, "Conv", "ConvTranspose", "ConvInteger", "QLinearConv"),
  ...named(images, "AveragePool", "LpPool", "GlobalAveragePool"),
  ...named(images, "GlobalMaxPool", "GlobalLpPool"),
  ...named(images, "InstanceNormalization", "GroupNormalization", "LRN"),
  ...named(images, "DepthToSpace", "SpaceToDepth"),
  ...named(from(-1), "LayerNormalization", "RMSNormalization"),
  ...named(softmax, "Softmax", "LogSoftmax", "Hardmax"),
  ...named(along(-1), "LpNormalization", "TopK"),
  ...named(argument, "ArgMax", "ArgMin"),
  ...named(reduce, "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"),
  ...named(reduce, "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"),
  ...named(reduce, "ReduceSum", "ReduceSumSquare"),
  ...named(product(1), "MatMul", "MatMulInteger"),
  ...named(product(3), "QLinearMatMul"),
  ...named(along(0), "Split"),
  // Where they change the number of rows, there are several.
  ...named(kept, "Tile", "CenterCropPad"),
  ...named(resize, "Resize", "Upsample"),
  ...named(recurrent, "LSTM", "GRU", "RNN"),
  ...Object.entries({
    ...{ Gemm: gemm, Reshape: reshape, Flatten: flatten, Squeeze: squeeze },
    ...{ Unsqueeze: unsqueeze, Transpose: transpose, Concat: concat },
    ...{ Slice: slice, Gather: gather, GatherElements: gatherElements },
    ...{ Expand: expand, OneHot: oneHot, Attention: attention },
    DynamicQuantizeLinear: dynamicQuantize,
    ...{ BatchNormalization: batchNormalization, MaxPool: maxPool, Pad: pad },
  }),
]);
