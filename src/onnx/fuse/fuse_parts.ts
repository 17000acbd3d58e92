/**
 * Operators that exporters write out are put together again, where nobody needs what lies between: x Sigmoid(x), the
 * exact GELU, and normalisation of a layer. What is left is ONNX's own operators, of newer sets.
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
    const match = MATCHERS[node.op](node, parts);
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

/** x / 2 (1 + erf(x / sqrt 2)), its three factors in any order. */
const gelu: Matcher = (erf, parts) => {
  const scaled = parts.maker(erf.inputs[0], "Div", "Mul");
  const sum = parts.reader(erf.outputs[0], "Add");
  if (!scaled || !sum || !parts.isOnlyFor(erf.inputs[0], [erf])) {
    return undefined;
  }
  const one = otherThan(sum, erf.outputs[0]);
  const x = scaled.inputs.find((name) => parts.number(name) === undefined);
  const factor = x && otherThan(scaled, x);
  const isScaled = factor !== undefined &&
    (scaled.op === "Mul"
      ? parts.isNumber(factor, Math.SQRT1_2)
      : scaled.inputs[0] === x && parts.isNumber(factor, Math.SQRT2));
  if (!x || !isScaled || !one || !parts.isNumber(one, 1)) return undefined;
  const first = parts.reader(sum.outputs[0], "Mul");
  const other = first && otherThan(first, sum.outputs[0]);
  if (!first || !other) return undefined;
  const before = [scaled, erf, sum];
  const half = parts.maker(other, "Mul");
  if (half && parts.isOnlyFor(other, [first])) {
    const factor = otherThan(half, x);
    if (factor && parts.isNumber(factor, 0.5)) {
      return match([...before, half, first], "Gelu", 20, [x]);
    }
  }
  const last = parts.reader(first.outputs[0], "Mul");
  const rest = last && otherThan(last, first.outputs[0]);
  const isWhole = rest !== undefined &&
    (other === x
      ? parts.isNumber(rest, 0.5)
      : rest === x && parts.isNumber(other, 0.5));
  return isWhole
    ? match([...before, first, last!], "Gelu", 20, [x])
    : undefined;
};

/** (x - mean) / sqrt(variance + epsilon) scale + shift, over the last axis. */
const layerNorm: Matcher = (mean, parts) => {
  const [x] = mean.inputs;
  const width = parts.known.get(x)?.dims.at(-1);
  const centred = parts.reader(mean.outputs[0], "Sub");
  if (!parts.isOverLast(mean) || centred?.inputs[0] !== x) return undefined;
  const [d] = centred.outputs;
  const square = parts.readers(d).find((node) =>
    node.op === "Pow" && parts.number(node.inputs[1]) === 2 ||
    node.op === "Mul" && node.inputs[0] === d && node.inputs[1] === d
  );
  const variance = square && parts.reader(square.outputs[0], "ReduceMean");
  const sum = variance && parts.isOverLast(variance) &&
    parts.reader(variance.outputs[0], "Add");
  const epsilon = sum
    ? parts.number(otherThan(sum, variance.outputs[0]) ?? "")
    : undefined;
  const root = sum && parts.reader(sum.outputs[0], "Sqrt");
  const quotient = root && parts.reader(root.outputs[0], "Div");
  if (!quotient || quotient.inputs[0] !== d || epsilon === undefined) {
    return undefined;
  }
  if (!parts.isOnlyFor(d, [square, quotient])) return undefined;
  const product = parts.reader(quotient.outputs[0], "Mul");
  const scale = product && otherThan(product, quotient.outputs[0]);
  const shifted = product && parts.reader(product.outputs[0], "Add");
  const shift = shifted && otherThan(shifted, product.outputs[0]);
  const isRow = (name: string | undefined): name is string => {
    const constant = parts.known.get(name ?? "")?.constant;
    return constant?.dims.length === 1 && constant.dims[0] === width;
  };
  if (!isRow(scale) || !isRow(shift)) return undefined;
  return match(
    [mean, centred, square, variance, sum, root, quotient, product!, shifted!],
    "LayerNormalization",
    17,
    [x, scale, shift],
    [["axis", { kind: "int", value: -1 }], [
      "epsilon",
      { kind: "float", value: epsilon },
    ]],
  );
};

const MATCHERS: Readonly<Record<string, Matcher>> = {
  Sigmoid: silu,
  Erf: gelu,
  ReduceMean: layerNorm,
};
