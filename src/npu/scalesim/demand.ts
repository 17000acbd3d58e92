/**
 * Which words an operand's ports carry in each cycle of each fold, in port order. One class for the
 * three operands and dataflows: what differs is which axis lies along the ports and whether the
 * words stream (skewed) or load row by row.
 *
 * Cycles are relative to the fold's start:
 *     left, port r:             word (rows r, time t)  at preload + t + r
 *     top streamed, port c:     word (time t, cols c)  at t + c
 *     top resident, port c:     word (rows r, cols c)  at rows - 1 - r
 *     bottom, partial sums, c:  word (time t, cols c)  at 2*rows - 1 + t + c
 *     bottom, os results, c:    word (rows r, cols c)  at time - 1 + (rows - 1 - r) + c + drain
 * with drain = 0 in `scalesim` mode (which is why its os results are not causal) and rows - 1 in
 * `causal` mode.
 */
import {
  type Axis,
  colsUsed,
  type FoldGrid,
  type Operand,
  rowsUsed,
} from "../dataflow.ts";
import type { FoldTiming } from "../timing.ts";
import { type AddressMatrix, NO_ADDRESS } from "./addresses.ts";

type Flow =
  | "left"
  | "topStreamed"
  | "topResident"
  | "bottomSums"
  | "bottomResults";

export class Demand {
  /** Words of the last line asked for: `words[0..count)`, on ports `firstPort` and up. */
  readonly words: Int32Array;
  firstPort = 0;
  count = 0;
  readonly ports: number;

  readonly #grid: FoldGrid;
  readonly #timing: FoldTiming;
  readonly #flow: Flow;
  /** Word i of a located line is portTerm[port + i] + otherTerm[other + step * i], if on the map. */
  readonly portTerm: Int32Array;
  readonly otherTerm: Int32Array;
  readonly onMap?: (port: number, other: number) => boolean;
  port = 0;
  other = 0;
  step = 0;

  constructor(
    operand: Operand,
    { grid, timing, addresses }: {
      grid: FoldGrid;
      timing: FoldTiming;
      addresses: AddressMatrix;
    },
  ) {
    this.#grid = grid;
    this.#timing = timing;
    this.#flow = flowOf(operand, grid);
    const portAxis: Axis = this.#flow === "left"
      ? grid.mapping.rows
      : grid.mapping.cols;
    this.ports = this.#flow === "left" ? grid.array.rows : grid.array.cols;
    this.words = new Int32Array(this.ports);
    const portIsFirst = addresses.axes[0] === portAxis;
    this.portTerm = portIsFirst ? addresses.first : addresses.second;
    this.otherTerm = portIsFirst ? addresses.second : addresses.first;
    const onMap = addresses.onMap;
    if (onMap !== undefined) {
      this.onMap = portIsFirst ? onMap : (p, o) => onMap(o, p);
    }
  }

  /** Fills `words`, `firstPort` and `count` for cycle `cycle` of the fold. Returns `count`. */
  line(cycle: number, rowFold: number, colFold: number): number {
    const count = this.locate(cycle, rowFold, colFold);
    const { words } = this;
    const portTerm = this.portTerm;
    const otherTerm = this.otherTerm;
    const port = this.port;
    const other = this.other;
    const step = this.step;
    for (let i = 0; i < count; i++) {
      words[i] = portTerm[port + i] + otherTerm[other + step * i];
    }
    if (this.onMap !== undefined) {
      for (let i = 0; i < count; i++) {
        if (!this.onMap(port + i, other + step * i)) words[i] = NO_ADDRESS;
      }
    }
    return count;
  }

  /** As `line`, without the words: sets `firstPort` and `count` only. */
  locate(cycle: number, rowFold: number, colFold: number): number {
    const used = this.#usedPorts(rowFold, colFold);
    const { first, last, other, step } = this.#span(cycle, used, rowFold);
    const { rows, cols } = this.#grid.array;
    this.firstPort = first;
    this.count = Math.max(0, last - first + 1);
    this.port = (this.#flow === "left" ? rowFold * rows : colFold * cols) +
      first;
    this.other = other;
    this.step = step;
    return this.count;
  }

  #usedPorts(rowFold: number, colFold: number): number {
    return this.#flow === "left"
      ? rowsUsed(this.#grid, rowFold)
      : colsUsed(this.#grid, colFold);
  }

  /**
   * The ports [first, last] that carry a word in this cycle, the index `other` of the word on
   * `first` along the axis that is not the ports', and its `step` from port to port.
   */
  #span(cycle: number, used: number, rowFold: number): Span {
    const { t, array } = this.#grid;
    const { rows } = array;
    switch (this.#flow) {
      case "left":
        return skewed(cycle - this.#timing.preloadCycles, { length: t, used });
      case "topStreamed":
        return skewed(cycle, { length: t, used });
      case "bottomSums":
        return skewed(cycle - (2 * rows - 1), { length: t, used });
      case "topResident": {
        const row = rows - 1 - cycle;
        const loaded = row >= 0 && row < rowsUsed(this.#grid, rowFold);
        return {
          first: 0,
          last: loaded ? used - 1 : -1,
          other: rowFold * rows + row,
          step: 0,
        };
      }
      case "bottomResults": {
        // Row r leaves through port c when r = last row + c - (cycle - cycle of the last sum).
        const rowOnPort0 = t - 1 + rows - 1 + this.#timing.drainCycles - cycle;
        const first = Math.max(0, -rowOnPort0);
        const last = Math.min(
          used - 1,
          rowsUsed(this.#grid, rowFold) - 1 - rowOnPort0,
        );
        return {
          first,
          last,
          other: rowFold * rows + rowOnPort0 + first,
          step: 1,
        };
      }
    }
  }
}

interface Span {
  first: number;
  last: number;
  other: number;
  step: number;
}

/** First and last cycle of a fold in which some port of the operand carries a word (on the map or off it). */
export function busyCycles(
  operand: Operand,
  { grid, timing, rowFold, colFold }: {
    grid: FoldGrid;
    timing: FoldTiming;
    rowFold: number;
    colFold: number;
  },
): { first: number; last: number } {
  const { t, array } = grid;
  const rows = rowsUsed(grid, rowFold);
  const cols = colsUsed(grid, colFold);
  const { preloadCycles, drainCycles } = timing;
  switch (flowOf(operand, grid)) {
    case "left":
      return { first: preloadCycles, last: preloadCycles + t + rows - 2 };
    case "topStreamed":
      return { first: 0, last: t + cols - 2 };
    case "topResident":
      return { first: array.rows - rows, last: array.rows - 1 };
    case "bottomSums": {
      const first = 2 * array.rows - 1;
      return { first, last: first + t + cols - 2 };
    }
    case "bottomResults": {
      const first = t - 1 + array.rows - rows + drainCycles;
      return { first, last: first + rows + cols - 2 };
    }
  }
}

/** Port p carries index (cycle - p), if that is within [0, length). */
function skewed(
  cycle: number,
  { length, used }: { length: number; used: number },
): Span {
  const first = Math.max(0, cycle - length + 1);
  return {
    first,
    last: Math.min(used - 1, cycle),
    other: cycle - first,
    step: -1,
  };
}

function flowOf(operand: Operand, { mapping }: FoldGrid): Flow {
  if (operand === mapping.left) return "left";
  if (operand === mapping.top) {
    return mapping.topResident ? "topResident" : "topStreamed";
  }
  return mapping.topResident ? "bottomSums" : "bottomResults";
}
