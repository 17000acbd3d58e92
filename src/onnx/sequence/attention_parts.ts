/**
 * Attention of a sequence to itself, as exporters write it out: softmax(scale Q K^T + mask) V for every head, or ONNX's
 * own operator. Sizes say it all: in the product of queries and keys the free axis meets itself, once as rows and once
 * as columns, which is nothing else.
 */
import { attributeOf, type OnnxGraph, type OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import { otherThan, Parts } from "../fuse/pattern.ts";
import type { Dim } from "../shapes/dim.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import { type FreeAxis, isFree } from "./free_axis.ts";
import type { HostValues } from "./host_values.ts";

/** What says which positions are looked at. */
export interface MaskPart {
  readonly name: string;
  /** Numbers that are added to scores; or whether these are kept, or dropped. */
  readonly kind: "add" | "keep" | "drop";
}

/** An attention, by its values. */
export interface AttentionParts {
  readonly q: string;
  readonly k: string;
  readonly v: string;
  readonly heads: number;
  readonly kvHeads: number;
  /** Undefined: 1 / sqrt of a head's width. */
  readonly scale: number | undefined;
  /** Whether the operator itself says so; what masks say is seen where they are computed. */
  readonly isCausal: boolean;
  readonly masks: readonly MaskPart[];
  /** All nodes, the last one makes the result. */
  readonly nodes: readonly OnnxNode[];
}

/** Scores that are set to this or less are those of positions that are not looked at. */
export const MASKED_SCORE = -1e4;

/** Steps from a softmax back to the product that it is of. */
const STEPS_MAX = 8;

/** All attentions of a graph, by the node that makes their result. */
export function findAttention(
  graph: OnnxGraph,
  values: InferredValues,
  known: ReadonlyMap<string, KnownValue>,
  host: HostValues,
): Map<OnnxNode, AttentionParts> {
  const parts = new Parts(graph, known);
  const search = new AttentionSearch(parts, values, host, host.free);
  const found = new Map<OnnxNode, AttentionParts>();
  for (const node of graph.nodes) {
    if (node.domain !== "") continue;
    const attention = node.op === "Softmax"
      ? search.writtenOut(node)
      : node.op === "Attention"
      ? search.operator(node)
      : undefined;
    if (attention) found.set(attention.nodes.at(-1)!, attention);
  }
  return found;
}

class AttentionSearch {
  constructor(
    readonly parts: Parts,
    readonly values: InferredValues,
    readonly host: HostValues,
    readonly free: FreeAxis,
  ) {}

  writtenOut(softmax: OnnxNode): AttentionParts | undefined {
    if (!this.#isOverKeys(softmax)) return undefined;
    const before = this.#scores(softmax);
    const behind = this.#mixed(softmax);
    if (!before || !behind) return undefined;
    const [q, k] = before.product.inputs;
    const { product, nodes } = behind;
    const v = product.inputs[1];
    const [qDims, kDims, vDims] = [q, k, v].map((name) => this.#dims(name));
    const [queries, keys, mixed] = [
      cut(qDims, -2, this.free),
      cut(kDims, -1, this.free),
      cut(vDims, -2, this.free),
    ];
    if (!queries || !keys || !mixed) return undefined;
    const isOfHeads = queries.count === keys.count &&
      queries.count === mixed.count && queries.width === keys.width &&
      queries.width === mixed.width;
    if (!isOfHeads) return undefined;
    return {
      ...{ q, k, v, heads: queries.count, kvHeads: queries.count },
      scale: before.scale,
      isCausal: false,
      masks: before.masks,
      nodes: [before.product, ...before.nodes, softmax, ...nodes, product],
    };
  }

  /** ONNX's operator, without past and with no result but the first. */
  operator(node: OnnxNode): AttentionParts | undefined {
    const { inputs: [q, k, v, mask = "", ...past], outputs } = node;
    const int = (name: string) => attributeOf(node, name, "int") ?? 0;
    const isSimple = past.every((name) => name === "") &&
      outputs.slice(1).every((name) => name === "") &&
      (attributeOf(node, "softcap", "float") ?? 0) === 0;
    const [qDims, kDims, vDims] = [q, k, v].map((name) => this.#dims(name));
    const isFlat = qDims?.length === 3;
    const axes = [qDims, kDims, vDims].map((dims) => cut(dims, -2, this.free));
    const [queries, keys, mixed] = axes;
    if (!isSimple || !queries || !keys || !mixed) return undefined;
    const [heads, kvHeads] = isFlat
      ? [int("q_num_heads"), int("kv_num_heads")]
      : [queries.count, keys.count];
    // Heads of rank 4 lie as in rank 3 where a request has one position.
    const isOfHeads = keys.count === mixed.count && heads > 0 && kvHeads > 0 &&
      keys.width === mixed.width &&
      queries.count * queries.width * kvHeads ===
        keys.count * keys.width * heads;
    if (!isOfHeads) return undefined;
    const known = this.values.get(mask);
    const kind = known?.type === "bool" ? "keep" : "add";
    return {
      ...{ q, k, v, heads, kvHeads },
      scale: attributeOf(node, "scale", "float"),
      isCausal: int("is_causal") === 1,
      masks: mask === "" ? [] : [{ name: mask, kind }],
      nodes: [node],
    };
  }

  /** From a softmax back to the product of queries and keys. */
  #scores(softmax: OnnxNode):
    | {
      product: OnnxNode;
      scale: number;
      masks: MaskPart[];
      nodes: OnnxNode[];
    }
    | undefined {
    const masks: MaskPart[] = [];
    const nodes: OnnxNode[] = [];
    let scale = 1;
    let value = softmax.inputs[0];
    let reader = softmax;
    for (let step = 0; step < STEPS_MAX; step++) {
      if (!this.parts.isOnlyFor(value, [reader])) return undefined;
      const node = this.parts.maker(
        value,
        ...["MatMul", "Add", "Mul", "Div", "Where"],
      );
      if (!node) return undefined;
      if (node.op === "MatMul") {
        return { product: node, scale, masks, nodes };
      }
      const next = this.#scored(node);
      if (!next) return undefined;
      scale *= next.scale;
      if (next.mask) masks.push(next.mask);
      nodes.unshift(node);
      value = next.value;
      reader = node;
    }
    return undefined;
  }

  /** What a node does to scores, and those that it is given. */
  #scored(
    node: OnnxNode,
  ): { value: string; scale: number; mask?: MaskPart } | undefined {
    const [a, b, c] = node.inputs;
    switch (node.op) {
      case "Mul": {
        const factor = this.parts.number(a) ?? this.parts.number(b);
        const value = this.parts.number(a) === undefined ? a : b;
        return factor === undefined ? undefined : { value, scale: factor };
      }
      case "Div": {
        const divisor = this.parts.number(b);
        return divisor === undefined
          ? undefined
          : { value: a, scale: 1 / divisor };
      }
      case "Add": {
        // Scores follow from products, masks do not.
        const name = [a, b].find((each) => this.host.has(each));
        const value = name && otherThan(node, name);
        return name === undefined || value === undefined
          ? undefined
          : { value, scale: 1, mask: { name, kind: "add" } };
      }
      case "Where": {
        const isLow = (name: string) =>
          (this.parts.number(name) ?? 0) <= MASKED_SCORE;
        if (isLow(c)) {
          return { value: b, scale: 1, mask: { name: a, kind: "keep" } };
        }
        return isLow(b)
          ? { value: c, scale: 1, mask: { name: a, kind: "drop" } }
          : undefined;
      }
    }
    return undefined;
  }

  /** From a softmax to the product with values; rows that nothing is looked at in, NaN, may be made 0 before. */
  #mixed(
    softmax: OnnxNode,
  ): { product: OnnxNode; nodes: OnnxNode[] } | undefined {
    const [weights] = softmax.outputs;
    const direct = this.parts.reader(weights, "MatMul");
    if (direct) {
      return direct.inputs[0] === weights
        ? { product: direct, nodes: [] }
        : undefined;
    }
    const check = this.parts.readers(weights).find(({ op }) => op === "IsNaN");
    const choice = check && this.parts.reader(check.outputs[0], "Where");
    if (!check || !choice || choice.inputs[2] !== weights) return undefined;
    if (this.parts.number(choice.inputs[1]) !== 0) return undefined;
    if (!this.parts.isOnlyFor(weights, [check, choice])) return undefined;
    const product = this.parts.reader(choice.outputs[0], "MatMul");
    return product?.inputs[0] === choice.outputs[0]
      ? { product, nodes: [check, choice] }
      : undefined;
  }

  #isOverKeys(softmax: OnnxNode): boolean {
    const dims = this.#dims(softmax.inputs[0]);
    if (!dims || dims.length < 2) return false;
    const absent = softmax.version < 13 ? 1 : -1;
    const axis = attributeOf(softmax, "axis", "int") ?? absent;
    const isLast = axis === -1 || axis === dims.length - 1;
    return isLast && dims.slice(-2).every((dim) => isFree(dim, this.free));
  }

  #dims(name: string): readonly Dim[] | null | undefined {
    return this.values.get(name)?.dims;
  }
}

/** Matrices of which an axis, counted from behind, is the free one: how many, and the size of the other axis. */
function cut(
  dims: readonly Dim[] | null | undefined,
  axis: -1 | -2,
  free: FreeAxis,
): { count: number; width: number } | undefined {
  if (!dims || dims.length < 2) return undefined;
  const width = dims.at(axis === -1 ? -2 : -1)!;
  const before = dims.slice(0, -2);
  if (!isFree(dims.at(axis)!, free) || typeof width !== "number") {
    return undefined;
  }
  let count = 1;
  for (const dim of before) {
    if (typeof dim !== "number") return undefined;
    count *= dim;
  }
  return { count, width };
}
