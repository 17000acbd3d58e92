import type { Dtype } from "../tensor/tensor.ts";
import type { CacheSpec } from "./cache.ts";
import type { ImageSize, Operator, Value } from "./operator.ts";

/** What LazyBatching's Algorithm 1 needs to know of a cell. */
export type Phase = "static" | "encoder" | "decoder";

/** A named row that enters or leaves a cell. */
export interface Port {
  readonly name: string;
  readonly dtype: Dtype;
  /** Elements per row. */
  readonly width: number;
  /** Present if the row is an image. */
  readonly image?: ImageSize;
}

/** A cache that a cell reads or appends to. */
export interface CachePort extends CacheSpec {
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
  readonly name: string;
  readonly phase: Phase;
  /** A cell that can follow itself, so that requests at different steps share a batch. */
  readonly recurrent: boolean;
  /** Larger runs first among equals (Cellular Batching, section 4.3): later cells get more. */
  readonly priority: number;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly caches: readonly CachePort[];
  /** Caches of a node's tokens that only the node itself reads; in a ragged cell. */
  readonly localCaches: readonly CacheSpec[];
  /**
   * Of a ragged cell: most tokens of a node. Its nodes bring a number of tokens each; rows of its ports
   * are `[tokens][width]`, and its operators are applied to every token by itself, but for attention.
   */
  readonly tokensMax?: number;
  readonly operators: readonly Operator[];
  /** The values that become the outputs, by port. */
  readonly results: readonly Value[];
  /** A step of this cell ends its request's growth when i32 output `port` equals `token`, or at the length limit. */
  readonly stop?: { readonly port: number; readonly token: number | null };
}
