import { expansionOf } from "./contrib/registry.ts";
import type { OnnxNode } from "./ir.ts";
import { checkOperator } from "./lower/lower_graph.ts";
import { graphsOf } from "./names.ts";
import { type Place, quoted } from "./place.ts";

/** @throws OnnxError when a node, or one of its graphs, is of an operator that there is not */
export function checkOperators(node: OnnxNode, at: Place): void {
  if (expansionOf(node) === undefined) checkOperator(node, at);
  for (const [name, attribute] of node.attributes) {
    const inside = at.in(`attribute ${quoted(name)}`);
    for (const graph of graphsOf(attribute)) {
      for (const node of graph.nodes) checkOperators(node, inside.node(node));
    }
  }
}
