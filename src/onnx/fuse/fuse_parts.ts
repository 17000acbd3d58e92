/**
 * Operators that exporters write out are put together again, where nobody needs what lies between: SiLU, both GELUs,
 * and normalisation of a layer. What is left is ONNX's own operators, of newer sets.
 */
import type { OnnxAttribute, OnnxGraph, OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import { otherThan, Parts } from "./pattern.ts";

/** Nodes that one node takes the place of; its result is the last one's. */
interface Match {
  readonly parts: readonly OnnxNode[];
  readonly node: OnnxNode;
}

/** A match that a node of the pattern begins. */
type Matcher = (node: OnnxNode, parts: Parts) => Match | undefined;

/** The graph with patterns as single nodes. */
export function fuseParts(
  graph: OnnxGraph,
  known: ReadonlyMap<string, KnownValue>,
): OnnxGraph {
  const parts = new Parts(graph, known);
  const gone = new Set<OnnxNode>();
  const made = new Map<OnnxNode, OnnxNode>();
  for (const node of graph.nodes) {
    if (node.domain !== "" || !Object.hasOwn(MATCHERS, node.op)) continue;
    const match = firstOf(MATCHERS[node.op], node, parts);
    if (!match || match.parts.some((part) => gone.has(part))) continue;
    for (const part of match.parts) gone.add(part);
    made.set(match.parts[match.parts.length - 1], match.node);
  }
  const nodes = graph.nodes.flatMap((node) => {
    const instead = made.get(node);
    return instead ? [instead] : gone.has(node) ? [] : [node];
  });
  return { ...graph, nodes };
}

function firstOf(
  matchers: readonly Matcher[],
  node: OnnxNode,
  parts: Parts,
): Match | undefined {
  for (const matcher of matchers) {
    const found = matcher(node, parts);
    if (found) return found;
  }
  return undefined;
}

function match(
  parts: readonly OnnxNode[],
  op: string,
  version: number,
  inputs: readonly string[],
  attributes: readonly (readonly [string, OnnxAttribute])[] = [],
): Match {
  const { name, outputs } = parts[parts.length - 1];
  return {
    parts,
    node: {
      ...{ name, op, domain: "", version, inputs, outputs },
      attributes: new Map(attributes),
    },
  };
}

/** x Sigmoid(x). */
const silu: Matcher = (sigmoid, parts) => {
  const product = parts.reader(sigmoid.outputs[0], "Mul");
  const [x] = sigmoid.inputs;
  return product && otherThan(product, sigmoid.outputs[0]) === x
    ? match([sigmoid, product], "Swish", 24, [x])
    : undefined;
};

/** 1 / (1 + exp(-x)), and x times that: as one quotient, or as a product. */
const sigmoid: Matcher = (exp, parts) => {
  const negated = parts.maker(exp.inputs[0], "Neg");
  const sum = parts.reader(exp.outputs[0], "Add");
  const one = sum && otherThan(sum, exp.outputs[0]);
  const quotient = sum && parts.reader(sum.outputs[0], "Div");
  const isWhole = negated && one && parts.isNumber(one, 1) &&
    parts.isOnlyFor(exp.inputs[0], [exp]) &&
    quotient?.inputs[1] === sum.outputs[0];
  if (!isWhole) return undefined;
  const [x] = negated.inputs;
  const nodes = [negated, exp, sum, quotient];
  if (quotient.inputs[0] === x) return match(nodes, "Swish", 24, [x]);
  if (!parts.isNumber(quotient.inputs[0], 1)) return undefined;
  const product = parts.reader(quotient.outputs[0], "Mul");
  return product && otherThan(product, quotient.outputs[0]) === x
    ? match([...nodes, product], "Swish", 24, [x])
    : match(nodes, "Sigmoid", 13, [x]);
};

/** x / 2 (1 + erf(x / sqrt 2)). */
const gelu: Matcher = (erf, parts) => {
  const scaled = parts.maker(erf.inputs[0], "Div", "Mul");
  if (!scaled || !parts.isOnlyFor(erf.inputs[0], [erf])) return undefined;
  const x = scaled.inputs.find((name) => parts.number(name) === undefined);
  const factor = x && otherThan(scaled, x);
  const isScaled = factor !== undefined &&
    (scaled.op === "Mul"
      ? parts.isNumber(factor, Math.SQRT1_2)
      : scaled.inputs[0] === x && parts.isNumber(factor, Math.SQRT2));
  return x && isScaled ? half([scaled, erf], x, parts, "none") : undefined;
};

/** x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), also with x taken out of the inner sum. */
const tanhGelu: Matcher = (tanh, parts) => {
  const scaled = ownProduct(tanh.inputs[0], tanh, parts);
  if (!scaled) return undefined;
  for (const name of scaled.inputs) {
    const sum = parts.maker(name, "Add");
    const other = otherThan(scaled, name);
    if (!sum || other === undefined || !parts.isOnlyFor(name, [scaled])) {
      continue;
    }
    for (const inner of sum.inputs) {
      const x = otherThan(sum, inner);
      const isWhole = x !== undefined && parts.isNumber(other, TANH_GELU_SCALE);
      const cube = isWhole && power(inner, sum, x, 3, parts);
      if (cube) {
        return half([...cube, sum, scaled, tanh], x, parts, "tanh");
      }
      if (x === undefined || !parts.isNumber(x, 1)) continue;
      const first = ownProduct(other, scaled, parts);
      const from = first?.inputs.find((name) =>
        parts.number(name) === undefined
      );
      const scale = first && from && otherThan(first, from);
      const isScaled = scale !== undefined &&
        parts.isNumber(scale, TANH_GELU_SCALE);
      const square = isScaled && power(inner, sum, from!, 2, parts);
      if (square) {
        return half(
          [...square, sum, first!, scaled, tanh],
          from!,
          parts,
          "tanh",
        );
      }
    }
  }
  return undefined;
};

const TANH_GELU_SCALE = Math.sqrt(2 / Math.PI);

/** A product that one node reads. */
function ownProduct(
  name: string,
  reader: OnnxNode,
  parts: Parts,
): OnnxNode | undefined {
  const found = parts.maker(name, "Mul");
  return found && parts.isOnlyFor(name, [reader]) ? found : undefined;
}

/**
 * The nodes of 0.044715 x^2 or x^3, made of products in any order, or of a Pow; undefined where a value is something
 * else, or not read by one node alone.
 */
function power(
  name: string,
  reader: OnnxNode,
  x: string,
  exponent: number,
  parts: Parts,
): OnnxNode[] | undefined {
  const nodes: OnnxNode[] = [];
  let left = exponent;
  let isScaled = false;
  const open = [{ name, reader }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.name === x) {
      left--;
      continue;
    }
    if (parts.number(next.name) !== undefined) {
      if (isScaled || !parts.isNumber(next.name, 0.044715)) return undefined;
      isScaled = true;
      continue;
    }
    const node = parts.maker(next.name, "Mul", "Pow");
    const isOwn = parts.isOnlyFor(next.name, [next.reader]);
    if (!node || !isOwn || nodes.length > exponent) return undefined;
    nodes.push(node);
    if (node.op === "Mul") {
      open.push(...node.inputs.map((name) => ({ name, reader: node })));
    } else {
      const times = parts.number(node.inputs[1]);
      if (node.inputs[0] !== x || times === undefined) return undefined;
      left -= times;
    }
  }
  return left === 0 && isScaled ? nodes.toReversed() : undefined;
}

/** What is left of a GELU behind its inner function: 1 is added, x and a half are multiplied, in any order. */
function half(
  nodes: readonly OnnxNode[],
  x: string,
  parts: Parts,
  approximate: "none" | "tanh",
): Match | undefined {
  const [inner] = nodes[nodes.length - 1].outputs;
  const sum = parts.reader(inner, "Add");
  const one = sum && otherThan(sum, inner);
  if (!one || !parts.isNumber(one, 1)) return undefined;
  const first = parts.reader(sum.outputs[0], "Mul");
  const other = first && otherThan(first, sum.outputs[0]);
  if (!first || !other) return undefined;
  const made = (last: readonly OnnxNode[]) =>
    match([...nodes, sum, ...last], "Gelu", 20, [x], [
      ["approximate", { kind: "string", value: approximate }],
    ]);
  const halved = parts.maker(other, "Mul");
  if (halved && parts.isOnlyFor(other, [first])) {
    const factor = otherThan(halved, x);
    if (factor && parts.isNumber(factor, 0.5)) return made([halved, first]);
  }
  const last = parts.reader(first.outputs[0], "Mul");
  const rest = last && otherThan(last, first.outputs[0]);
  const isWhole = rest !== undefined &&
    (other === x
      ? parts.isNumber(rest, 0.5)
      : rest === x && parts.isNumber(other, 0.5));
  return isWhole ? made([first, last!]) : undefined;
}

/** (x - mean) / sqrt(variance + epsilon) scale + shift, over the last axis. */
const layerNorm: Matcher = (mean, parts) => {
  const [x] = mean.inputs;
  const width = parts.known.get(x)?.dims.at(-1);
  // Some write the difference twice.
  const differences = parts.readers(mean.outputs[0]);
  const isCentred = differences.length <= 2 &&
    parts.isOnlyFor(mean.outputs[0], differences) &&
    differences.every(({ op, inputs }) =>
      op === "Sub" && inputs[0] === x && inputs[1] === mean.outputs[0]
    );
  if (!parts.isOverLast(mean) || !isCentred) return undefined;
  const square =
    differences.flatMap(({ outputs: [d] }) =>
      parts.readers(d).filter((node) => isSquare(node, d, parts))
    )[0];
  const variance = square && parts.reader(square.outputs[0], "ReduceMean");
  const sum = variance && parts.isOverLast(variance) &&
    parts.reader(variance.outputs[0], "Add");
  const epsilon = sum
    ? parts.number(otherThan(sum, variance.outputs[0]) ?? "")
    : undefined;
  const root = sum && parts.reader(sum.outputs[0], "Sqrt");
  const quotient = root && parts.reader(root.outputs[0], "Div");
  if (!quotient || epsilon === undefined) return undefined;
  const isOfDifference =
    differences.some(({ outputs: [d] }) => d === quotient.inputs[0]) &&
    differences.every(({ outputs: [d] }) =>
      parts.isOnlyFor(d, [square, quotient])
    );
  if (!isOfDifference) return undefined;
  const product = parts.reader(quotient.outputs[0], "Mul");
  const scale = product && otherThan(product, quotient.outputs[0]);
  const shifted = product && parts.reader(product.outputs[0], "Add");
  const shift = shifted && otherThan(shifted, product.outputs[0]);
  const isRow = (name: string | undefined): name is string =>
    isRowOf(name, width, parts);
  if (!isRow(scale) || !isRow(shift)) return undefined;
  return match(
    [
      ...[mean, ...differences, square, variance, sum, root, quotient],
      ...[product!, shifted!],
    ],
    "LayerNormalization",
    17,
    [x, scale, shift],
    [["axis", { kind: "int", value: -1 }], [
      "epsilon",
      { kind: "float", value: epsilon },
    ]],
  );
};

/** x / sqrt(mean of squares + epsilon) scale, over the last axis. */
const rmsNorm: Matcher = (mean, parts) => {
  const square = parts.maker(mean.inputs[0], "Mul", "Pow");
  const [x] = square?.inputs ?? [];
  const isMean = square && isSquare(square, x, parts) &&
    parts.isOnlyFor(square.outputs[0], [mean]) && parts.isOverLast(mean);
  const sum = isMean && parts.reader(mean.outputs[0], "Add");
  const epsilon = sum
    ? parts.number(otherThan(sum, mean.outputs[0]) ?? "")
    : undefined;
  const root = sum && parts.reader(sum.outputs[0], "Sqrt");
  if (!root || epsilon === undefined || epsilon < 0) return undefined;
  const nodes = [square, mean, sum, root];
  const divided = parts.reader(root.outputs[0], "Div", "Reciprocal");
  if (!divided) return undefined;
  nodes.push(divided);
  let [last] = divided.outputs;
  if (divided.op === "Reciprocal" || parts.isNumber(divided.inputs[0], 1)) {
    const isInverse = divided.op === "Reciprocal" ||
      divided.inputs[1] === root.outputs[0];
    const product = parts.reader(last, "Mul");
    if (!isInverse || !product || otherThan(product, last) !== x) {
      return undefined;
    }
    nodes.push(product);
    [last] = product.outputs;
  } else if (divided.inputs[0] !== x) return undefined;
  const scaled = parts.reader(last, "Mul");
  const scale = scaled && otherThan(scaled, last);
  if (!isRowOf(scale, parts.known.get(x)?.dims.at(-1), parts)) return undefined;
  return match([...nodes, scaled!], "RMSNormalization", 23, [x, scale], [
    ["axis", { kind: "int", value: -1 }],
    ["epsilon", { kind: "float", value: epsilon }],
  ]);
};

function isSquare({ op, inputs }: OnnxNode, x: string, parts: Parts): boolean {
  return op === "Pow" && inputs[0] === x && parts.number(inputs[1]) === 2 ||
    op === "Mul" && inputs[0] === x && inputs[1] === x;
}

/** Whether a value is a constant of one row. */
function isRowOf(
  name: string | undefined,
  width: number | undefined,
  parts: Parts,
): name is string {
  const constant = parts.known.get(name ?? "")?.constant;
  return constant?.dims.length === 1 && constant.dims[0] === width;
}

const MATCHERS: Readonly<Record<string, readonly Matcher[]>> = {
  Sigmoid: [silu],
  Exp: [sigmoid],
  Erf: [gelu],
  Tanh: [tanhGelu],
  ReduceMean: [layerNorm, rmsNorm],
};
