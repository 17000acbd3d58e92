/**
 * Operator set 11, the first with DynamicQuantizeLinear, for files of older ones: what most operators mean is the same
 * there.
 */
import { type RawGraph, rawGraphsOf, type RawNode } from "../read/raw_graph.ts";
import { nameOf } from "./layers.ts";

/** The operator set that is needed. */
export const OPSET_NEEDED = 11;

/** The file format that goes with it. */
export const IR_NEEDED = 6;

/**
 * Operators that were written otherwise before a version up to 11: inputs were attributes, or the operator was
 * another one (onnx, docs/Changelog.md). Others have only gained types, optional attributes or negative axes since 7.
 */
const CHANGED: Readonly<Record<string, number>> = {
  Upsample: 10,
  Resize: 11,
  Slice: 10,
  TopK: 10,
  Clip: 11,
  Pad: 11,
  Scan: 9,
};

/** Attributes that nodes have no more in operator set 11, and that may be left out there: they say the default. */
export function leftOut(
  { op, domain }: Pick<RawNode, "op" | "domain">,
): readonly string[] {
  return op === "BatchNormalization" && domain === "" ? ["spatial"] : [];
}

/**
 * A node that means something else in operator set 11; undefined where there is none.
 * @param opset of the file
 * @param isInside whether nodes of the graph are kept as they are written
 */
export function changedNode(
  graph: RawGraph,
  opset: number,
  isInside = false,
): { name: string; op: string } | undefined {
  for (const node of graph.nodes) {
    if (node.domain !== "") continue;
    // BatchNormalization lost its attribute "spatial" in 9, of which 1 is the default.
    const spatial = node.attributes.get("spatial");
    const isSpatial = spatial === undefined ||
      spatial.kind === "int" && spatial.value === 1 && !isInside;
    const since = node.op === "BatchNormalization" && !isSpatial
      ? 9
      : Object.hasOwn(CHANGED, node.op)
      ? CHANGED[node.op]
      : 0;
    if (opset < since) return { name: nameOf(node), op: node.op };
    for (const attribute of node.attributes.values()) {
      for (const inner of rawGraphsOf(attribute)) {
        const found = changedNode(inner, opset, true);
        if (found) return found;
      }
    }
  }
  return undefined;
}
