import { BYTES_PER_ELEMENT } from "../tensor/tensor.ts";

/**
 * Positions that the tokens of a request fill one after the other and later tokens look back at: the keys
 * and values of an attention. Every cache is a request's own, in its slot; a cell declares what it needs.
 *
 * Layout: keys in panels of 8 positions, `[position / 8][keyWidth][position % 8]`, then, from the next
 * multiple of 8 positions on, values `[position][valueWidth]`; f32.
 */
export interface CacheSpec {
  /** Elements of a key, over all heads. */
  readonly keyWidth: number;
  /** Elements of a value, over all heads. */
  readonly valueWidth: number;
  /** Most positions of any request; scratch memory is planned for them. */
  readonly positionsMax: number;
}

/** Positions of a panel of keys. */
export const PANEL_POSITIONS = 8;

/** Positions rounded up to whole panels. */
export function wholePanels(positions: number): number {
  return Math.ceil(positions / PANEL_POSITIONS) * PANEL_POSITIONS;
}

/** Bytes of the keys, and of keys and values, of a cache with room for `positions`. */
export function cacheBytes(
  { keyWidth, valueWidth }: Pick<CacheSpec, "keyWidth" | "valueWidth">,
  positions: number,
): { keys: number; all: number } {
  const keys = wholePanels(positions) * keyWidth * BYTES_PER_ELEMENT;
  return { keys, all: keys + positions * valueWidth * BYTES_PER_ELEMENT };
}

/**
 * A cache of one request, written and read by nodes of its graph (see CacheSpec). A model makes it with
 * `CellGraph.cache` and hands it to nodes; it stays until the request departs.
 */
export class Cache<Node = unknown> {
  /**
   * Byte offset within the slot; assigned by the slot plan.
   * @internal
   */
  offset = -1;
  /** Positions that hold something once all nodes appended so far have run. */
  filled: number = 0;
  /** The node that appended last; a node that uses the cache follows it. Undefined before the first. */
  writer: Node | undefined = undefined;

  /**
   * Use `CellGraph.cache`.
   * @internal
   */
  constructor(
    /** The graph of the request that it is of. */
    readonly graph: object,
    /** Elements of a key. */
    readonly keyWidth: number,
    /** Elements of a value. */
    readonly valueWidth: number,
    /** Positions it has room for. */
    readonly positions: number,
  ) {}
}

/** What a node does with a cache: read it, and append to it if the port does. */
export interface CacheUse<Node = unknown> {
  /** One of the request's caches. */
  readonly cache: Cache<Node>;
  /** Positions filled before it: where its first token is appended, counted from 0. */
  readonly position: number;
  /** Positions that hold something once it has appended: as many as an attention looks at. */
  readonly seen: number;
}

/** How much there is of a row: what a batch of ragged rows or over caches costs depends on it. */
export interface Extent {
  /** Tokens: 1 unless the cell is ragged. */
  readonly length: number;
  /** By cache port of the cell: positions seen. */
  readonly caches: readonly { readonly seen: number }[];
}

/** How much there is of the rows of a batch: one by one, or the same of every row. */
export type Extents = Extent | readonly Extent[];

export function isUniform(extents: Extents): extents is Extent {
  return !Array.isArray(extents);
}

/** Whether what a batch of the cell costs depends on extents. */
export function hasExtents(
  { tokensMax, caches }: {
    readonly tokensMax?: number;
    readonly caches: readonly unknown[];
  },
): boolean {
  return tokensMax !== undefined || caches.length > 0;
}

/** The larger of two extents of one cell, in every respect. */
export function largerExtent(a: Extent, b: Extent): Extent {
  return {
    length: Math.max(a.length, b.length),
    caches: a.caches.map(({ seen }, i) => ({
      seen: Math.max(seen, b.caches[i].seen),
    })),
  };
}
