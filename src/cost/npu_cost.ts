import { type Extent, type Extents, isUniform } from "../graph/cache.ts";
import type { Cell } from "../graph/cell.ts";
import { batchLayers, extentLayers, tokensOf } from "../npu/cell_layers.ts";
import type { LayerSpec } from "../npu/layer_spec.ts";
import { cyclesToNs, type Npu } from "../npu/npu.ts";
import type { CostModel } from "./cost_model.ts";

/** Cycles of a cell, computed once per number of tokens and per extent of a row. */
interface Known {
  readonly batch: Map<number, number>;
  readonly rows: ByExtent;
}

/**
 * Cycles of rows: step by step by length and what each cache holds. A single number of all of them would run out of
 * digits behind three caches, and a decoder's step from a file has two or more for every layer.
 */
class ByExtent {
  cycles: number | undefined = undefined;
  readonly #next = new Map<number, ByExtent>();

  at(length: number): ByExtent {
    let next = this.#next.get(length);
    if (next === undefined) this.#next.set(length, next = new ByExtent());
    return next;
  }
}

/**
 * Latencies of a modelled NPU: those of the batch's tokens together, and of every row's attention.
 * Assumption: rows attend one after the other, also where several are of one size.
 *
 * @example A simulation's cost on a published machine
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm } from "@shoal/core";
 * import { createNpu, preset } from "@shoal/core/npu";
 * import { NpuCost } from "@shoal/core/simulate";
 *
 * const [step] = lstm({ hidden: 256, vocabulary: 100 }).cells;
 * const cost = new NpuCost(createNpu(preset("lazybatching")));
 * assert(cost.latencyNs(step, 16) < 16 * cost.latencyNs(step, 1));
 * ```
 */
export class NpuCost implements CostModel {
  readonly #npu: Npu;
  readonly #known = new WeakMap<Cell, Known>();

  /** Costs on one machine, as `createNpu` makes it. */
  constructor(npu: Npu) {
    this.#npu = npu;
  }

  /**
   * Cycles of the batch as integer nanoseconds, rounded up; computed once per cell, number of tokens and extent.
   * @param extents needed for ragged cells and those that read caches
   * @throws RangeError when `rows` is not a positive integer, extents are missing, or the cell does not
   * fit the machine
   */
  latencyNs(cell: Cell, rows: number, extents?: Extents): number {
    let known = this.#known.get(cell);
    if (known === undefined) {
      known = { batch: new Map(), rows: new ByExtent() };
      this.#known.set(cell, known);
    }
    const tokens = tokensOf(cell, rows, extents);
    let cycles = known.batch.get(tokens);
    if (cycles === undefined) {
      cycles = this.#cycles(batchLayers(cell, tokens));
      known.batch.set(tokens, cycles);
    }
    if (extents !== undefined) {
      if (isUniform(extents)) {
        cycles += rows * this.#rowCycles(cell, extents, known.rows);
      } else {
        for (const extent of extents) {
          cycles += this.#rowCycles(cell, extent, known.rows);
        }
      }
    }
    return cyclesToNs(cycles, this.#npu.config.clockHz);
  }

  #rowCycles(cell: Cell, extent: Extent, rows: ByExtent): number {
    let known = rows.at(extent.length);
    for (const { seen } of extent.caches) known = known.at(seen);
    return known.cycles ??= this.#cycles(extentLayers(cell, extent));
  }

  #cycles(layers: readonly LayerSpec[]): number {
    return layers.reduce((sum, spec) => sum + this.#npu.layer(spec).cycles, 0);
  }
}
