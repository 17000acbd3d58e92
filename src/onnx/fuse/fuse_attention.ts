/**
 * Attention that exporters write out, softmax(scale Q K^T) V for every head without a mask, put together. With a mask it
 * stays in parts.
 */
import { ATTENTION_DOMAIN } from "../domains.ts";
import { attributeOf, type OnnxGraph, type OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import type { FusedGraph } from "./fuse_quantized.ts";
import { Parts } from "./pattern.ts";

/** An attention by its values: keys are columns. */
interface Found {
  readonly nodes: readonly OnnxNode[];
  readonly q: string;
  readonly keys: string;
  readonly v: string;
  readonly scale: number;
}

/** @param known type and dims of every value */
export function fuseAttention(
  graph: OnnxGraph,
  known: ReadonlyMap<string, KnownValue>,
): FusedGraph {
  const parts = new Parts(graph, known);
  const found = graph.nodes.flatMap((node) =>
    node.op === "Softmax" && node.domain === ""
      ? attentionOf(node, parts) ?? []
      : []
  );
  if (found.length === 0) return { graph, known };
  const all = new Map(known);
  const gone = new Set(found.flatMap(({ nodes }) => nodes));
  const made = new Map(found.map((attention) => {
    const last = attention.nodes[attention.nodes.length - 1];
    return [last, nodesOf(attention, last, all)];
  }));
  const nodes = graph.nodes.flatMap((node) =>
    made.get(node) ?? (gone.has(node) ? [] : [node])
  );
  return { graph: { ...graph, nodes }, known: all };
}

function attentionOf(softmax: OnnxNode, parts: Parts): Found | undefined {
  const nodes = [softmax];
  let scale = 1;
  let scores = softmax.inputs[0];
  let reader = softmax;
  let product: OnnxNode | undefined;
  // A scale before, behind, or none.
  while (product === undefined) {
    const node = parts.maker(scores, "MatMul", "Mul", "Div");
    if (!node || !parts.isOnlyFor(scores, [reader])) return undefined;
    nodes.unshift(node);
    if (node.op === "MatMul") product = node;
    else {
      const at = node.op === "Mul" && parts.number(node.inputs[0]) !== undefined
        ? 0
        : 1;
      const factor = parts.number(node.inputs[at]);
      if (factor === undefined) return undefined;
      scale *= node.op === "Mul" ? factor : 1 / factor;
      scores = node.inputs[1 - at];
      reader = node;
    }
  }
  const mixed = parts.reader(softmax.outputs[0], "MatMul");
  if (!mixed || mixed.inputs[0] !== softmax.outputs[0]) return undefined;
  const [q, keys] = product.inputs;
  const v = mixed.inputs[1];
  return isAttention(softmax, [q, keys, v], parts) && Number.isFinite(scale)
    ? { nodes: [...nodes, mixed], q, keys, v, scale }
    : undefined;
}

/** [.., m, d] by [.., d, n], over n, by [.., n, d], of values that are no constants and have the same axes in front. */
function isAttention(
  softmax: OnnxNode,
  names: readonly [string, string, string],
  { known }: Parts,
): boolean {
  const values = names.map((name) => known.get(name));
  if (values.some((value) => value?.type !== "float32" || value.constant)) {
    return false;
  }
  const [q, keys, v] = values.map((value) => value!.dims);
  const rank = q.length;
  const axis = attributeOf(softmax, "axis", "int") ??
    (softmax.version < 13 ? 1 : -1);
  const [m, d] = q.slice(-2);
  const [n] = v.slice(-2);
  return (rank === 3 || rank === 4) && (axis === -1 || axis === rank - 1) &&
    m > 1 && keys.length === rank && v.length === rank &&
    [...keys].join() === [...q.slice(0, -2), d, n].join() &&
    [...v].join() === [...q.slice(0, -2), n, d].join();
}

/** Keys as rows, and the operator. */
function nodesOf(
  { q, keys, v, scale }: Found,
  { name, outputs: [output] }: OnnxNode,
  known: Map<string, KnownValue>,
): OnnxNode[] {
  const { dims } = known.get(v)!;
  const rows = `${output}#keys`;
  known.set(rows, { type: "float32", dims });
  const order = dims.map((_, axis) => axis);
  const [before, last] = order.slice(-2);
  return [{
    ...{ name: rows, op: "Transpose", domain: "", version: 13 },
    ...{ inputs: [keys], outputs: [rows] },
    attributes: new Map([[
      "perm",
      { kind: "ints", value: [...order.slice(0, -2), last, before] },
    ]]),
  }, {
    ...{ name, op: "Attention", domain: ATTENTION_DOMAIN, version: 1 },
    ...{ inputs: [q, rows, v], outputs: [output] },
    attributes: new Map([["scale", { kind: "float", value: scale }]]),
  }];
}
