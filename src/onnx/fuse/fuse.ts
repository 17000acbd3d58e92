/**
 * What exporters write in parts, put together: quantised products, one-hot codes, steps of recurrent layers, then the
 * rest.
 */
import type { OnnxGraph } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import type { Place } from "../place.ts";
import { fuseAttention } from "./fuse_attention.ts";
import { fuseCells } from "./fuse_cells.ts";
import { fuseOneHot } from "./fuse_one_hot.ts";
import { fuseParts } from "./fuse_parts.ts";
import { type FusedGraph, fuseQuantized } from "./fuse_quantized.ts";

/**
 * @param known type and dims of every value, and which are constant
 * @throws OnnxError naming a node that refuses its constants
 */
export function fuse(
  graph: OnnxGraph,
  known: ReadonlyMap<string, KnownValue>,
  place: Place,
): FusedGraph {
  const quantized = fuseQuantized(graph, known, place);
  const embedded = fuseOneHot(quantized.graph, quantized.known);
  const cells = fuseCells(embedded.graph, embedded.known);
  const attention = fuseAttention(cells.graph, cells.known);
  const { known: all } = attention;
  return { graph: fuseParts(attention.graph, all), known: all };
}
