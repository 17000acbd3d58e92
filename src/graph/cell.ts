import type { CacheSpec } from "./cache.ts";
import type { Operator, Value } from "./operator.ts";
import type { RowShape } from "./row_layout.ts";

/**
 * How often a request executes a cell, as LazyBatching's Algorithm 1 has to know (section IV-C): "static" as often
 * as its unfolded graph says, "encoder" once per token of its input, "decoder" once per step that its graph grows
 * by, a number that nobody knows before.
 */
export type Phase = "static" | "encoder" | "decoder";

/** A named row that enters or leaves a cell: what a node of it reads or makes, per request. */
export interface Port extends RowShape {
  /** What `CellGraph.node` and `CellGraph.output` call it. */
  readonly name: string;
}

/** A cache that a cell reads or appends to. */
export interface CachePort extends CacheSpec {
  /** What `CellGraph.node` calls it in its `caches`. */
  readonly name: string;
  /** Whether the cell writes its tokens' keys and values into it, before anyone in the cell reads them. */
  readonly appends: boolean;
}

/**
 * A subgraph of operators with its weights: the unit of batching. Two nodes may share a batch when
 * they are of the same `Cell` object (same operators, same weights, same row shapes).
 * Source: Cellular Batching, section 3.1.
 */
export interface Cell {
  /** What profiles, cost tables and records tell it apart by, and messages call it. */
  readonly name: string;
  /** How often a request executes it; "decoder" for cells that a graph grows by. */
  readonly phase: Phase;
  /** A cell that can follow itself, so that requests at different steps share a batch. */
  readonly recurrent: boolean;
  /** Larger runs first among equals (Cellular Batching, section 4.3): later cells get more. */
  readonly priority: number;
  /** What a node reads, in the order of `CellNode.inputs`. */
  readonly inputs: readonly Port[];
  /** What a node makes; `NodeOutput.port` is an index into them. */
  readonly outputs: readonly Port[];
  /** Caches of the request that a node reads or appends to, in the order of `CellNode.caches`. */
  readonly caches: readonly CachePort[];
  /** Caches of a node's tokens that only the node itself reads; in a ragged cell. */
  readonly localCaches: readonly CacheSpec[];
  /**
   * Of a ragged cell: most tokens of a node. Its nodes bring a number of tokens each; rows of its ports
   * are `[tokens][width]`, and its operators are applied to every token by itself, but for attention.
   */
  readonly tokensMax?: number;
  /** What a node computes, in this order. Every value is made before it is read. */
  readonly operators: readonly Operator[];
  /** The values that become the outputs, by port. */
  readonly results: readonly Value[];
  /** A step of this cell ends its request's growth when i32 output `port` equals `token`, or at the length limit. */
  readonly stop?: { readonly port: number; readonly token: number | null };
}
