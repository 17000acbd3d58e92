/**
 * "CALC" memory: never stalls, counts the traffic. An operand's DRAM reads are the misses of a
 * buffer of 50 * floor(kB * 1024 / 100) words that takes words in demand order and is emptied
 * completely the moment it is full.
 *
 * Where every word of the demand sequence is distinct within a pass, the misses follow from
 * counting (`cyclicMisses`). Where im2col repeats words, the sequence is walked.
 */
import { colsUsed, type FoldGrid, rowsUsed } from "../dataflow.ts";
import { distinctIfmapWords } from "../conv_geometry.ts";
import type { FoldTiming } from "../timing.ts";
import { addressMatrix } from "./addresses.ts";
import { WalkedBuffer } from "./walked_buffer.ts";
import { busyCycles, Demand } from "./demand.ts";
import type { ScaleSimLayer } from "./layer.ts";
import { WriteBuffer } from "./write_buffer.ts";

export interface BufferSizes {
  ifmapKb: number;
  filterKb: number;
  ofmapKb: number;
}

export interface CalcMemory {
  dramIfmapReads: number;
  dramFilterReads: number;
  dramOfmapWrites: number;
  /** Cycle, from the start of the layer, that the last line written to DRAM is reported in. */
  dramOfmapLastCycle: number;
  /** The latest of those cycles: the tool's last flush may begin before the drain before it ends. */
  dramOfmapEndCycle: number;
  /** Cycles before the layer in which the first read buffer begins to fill, at 10 words a cycle. */
  prefillCycles: number;
}

export function calcMemory(
  layer: ScaleSimLayer,
  { grid, timing, buffers }: {
    grid: FoldGrid;
    timing: FoldTiming;
    buffers: BufferSizes;
  },
): CalcMemory {
  const ofmap = ofmapWrites({ grid, timing, ofmapKb: buffers.ofmapKb });
  const read = (operand: "ifmap" | "filter", kb: number) => {
    const setWords = Math.floor(kb * 1024 / 100);
    const capacity = SETS * setWords;
    const misses = operandMisses(layer, { operand, grid, timing, capacity });
    // A buffer that gets full is filled to end with its first use, any other to end with cycle -1.
    const fits = misses < capacity;
    const fillWords = (fits ? Math.ceil(misses / setWords) : SETS) * setWords;
    const fold = { grid, timing, rowFold: 0, colFold: 0 };
    const firstUse = fits ? 0 : busyCycles(operand, fold).first;
    return {
      misses,
      prefillCycles: Math.ceil(fillWords / FILL_WORDS_PER_CYCLE) - firstUse,
    };
  };
  const ifmap = read("ifmap", buffers.ifmapKb);
  const filter = read("filter", buffers.filterKb);
  return {
    dramIfmapReads: ifmap.misses,
    dramFilterReads: filter.misses,
    dramOfmapWrites: ofmap.dramWrites,
    dramOfmapLastCycle: ofmap.drainEndCycle,
    dramOfmapEndCycle: ofmap.drainEndCycleMax,
    prefillCycles: Math.max(ifmap.prefillCycles, filter.prefillCycles),
  };
}

/** Sets in the half of a read buffer that is in use. */
const SETS = 50;
/** Fixed in the tool, whatever the configuration says. */
const FILL_WORDS_PER_CYCLE = 10;

interface MissOptions {
  operand: "ifmap" | "filter";
  grid: FoldGrid;
  timing: FoldTiming;
  capacity: number;
}

function operandMisses(layer: ScaleSimLayer, options: MissOptions): number {
  const { operand, grid, capacity } = options;
  const { mapping, sr, sc, t, rowFolds, colFolds } = grid;
  const isLeft = operand === mapping.left;
  if (operand === "ifmap" && layer.geometry !== undefined) {
    const distinct = distinctIfmapWords(layer.geometry, "ceil");
    return distinct < capacity ? distinct : walkedMisses(layer, options);
  }
  if (isLeft) {
    return new FlushedBuffer(capacity).cyclic(sr * t, colFolds).misses;
  }
  if (mapping.topResident) return sr * sc;
  const buffer = new FlushedBuffer(capacity);
  for (let colFold = 0; colFold < colFolds; colFold++) {
    buffer.cyclic(colsUsed(grid, colFold) * t, rowFolds);
  }
  return buffer.misses;
}

/** Counts misses of passes over distinct words without walking them. */
class FlushedBuffer {
  misses = 0;
  #held = 0;

  constructor(readonly capacity: number) {}

  /** `passes` times the same sequence of `length` words, none of which is held at the start. */
  cyclic(length: number, passes: number): this {
    const room = this.capacity - this.#held;
    if (length < room) {
      this.#held += length;
      this.misses += length;
      return this;
    }
    // The buffer is emptied after `room` words. What follows is again all new: the rest of this
    // pass, and of the next one the part that was emptied.
    const rest = length * passes - room;
    const missed = length < this.capacity ? Math.min(rest, length) : rest;
    this.misses += room + missed;
    this.#held = missed % this.capacity;
    return this;
  }
}

function walkedMisses(layer: ScaleSimLayer, options: MissOptions): number {
  const { operand, grid, timing, capacity } = options;
  const addresses = addressMatrix(layer, operand);
  const demand = new Demand(operand, { grid, timing, addresses });
  const buffer = new WalkedBuffer(capacity, addresses.span);
  const { portTerm, otherTerm } = demand;
  const { rows, cols } = grid.array;
  for (let colFold = 0; colFold < grid.colFolds; colFold++) {
    for (let rowFold = 0; rowFold < grid.rowFolds; rowFold++) {
      const firstRow = rowFold * rows;
      const endRow = firstRow + rowsUsed(grid, rowFold);
      if (demand.onMap === undefined && operand === grid.mapping.left) {
        buffer.takeStream(portTerm.subarray(firstRow, endRow), otherTerm);
        continue;
      }
      if (demand.onMap === undefined) {
        // An ifmap that is not on the left is resident (is).
        const firstCol = colFold * cols;
        buffer.takeRows(
          portTerm.subarray(firstCol, firstCol + colsUsed(grid, colFold)),
          otherTerm.subarray(firstRow, endRow),
        );
        continue;
      }
      for (let cycle = 0; cycle < timing.foldCycles; cycle++) {
        buffer.takeLine(demand.words, demand.line(cycle, rowFold, colFold));
      }
    }
  }
  return buffer.misses;
}

/** Runs the write buffer over the layer, jumping from drain to drain. */
function ofmapWrites(
  { grid, timing, ofmapKb }: {
    grid: FoldGrid;
    timing: FoldTiming;
    ofmapKb: number;
  },
): WriteBuffer {
  const buffer = new WriteBuffer({
    capacityWords: ofmapKb * 1024,
    bandwidthWords: grid.array.cols,
  });
  const outputs = new OutputSchedule(grid, timing);
  const lines = grid.folds * timing.foldCycles;
  for (let line = 0; line < lines;) {
    // The next line in which a drain can start: enough words gathered, and no drain running. In
    // between the buffer cannot fill: a drain frees half of it, and empties as fast as words come.
    const before = outputs.wordsBefore(line);
    const gathered = outputs.lineOfWord(before + buffer.wordsUntilDrain, lines);
    const next = Math.max(
      line,
      gathered,
      Math.min(buffer.drainEndCycle, lines),
    );
    buffer.take(outputs.wordsBefore(next) - before);
    if (next < lines) {
      buffer.write(
        outputs.wordsBefore(next + 1) - outputs.wordsBefore(next),
        next,
      );
    }
    line = next + 1;
  }
  buffer.flush(lines - 1);
  return buffer;
}

/** How many ofmap words have left the array before a given cycle, and the inverse. */
export class OutputSchedule {
  readonly #grid: FoldGrid;
  readonly #timing: FoldTiming;

  constructor(grid: FoldGrid, timing: FoldTiming) {
    this.#grid = grid;
    this.#timing = timing;
  }

  wordsBefore(line: number): number {
    const { rowFolds, folds } = this.#grid;
    const fold = Math.min(folds, Math.floor(line / this.#timing.foldCycles));
    let words = 0;
    const colFold = Math.floor(fold / rowFolds);
    for (let column = 0; column < colFold; column++) {
      words += this.#columnWords(column);
    }
    for (let row = 0; row < fold - colFold * rowFolds; row++) {
      words += this.#foldWords(row, colFold);
    }
    if (fold === folds) return words;
    const cycle = line - fold * this.#timing.foldCycles;
    return words +
      this.#wordsBeforeCycle(cycle, fold - colFold * rowFolds, colFold);
  }

  /** The first line before whose end more than `words` words have left; `lines` if none. */
  lineOfWord(words: number, lines: number): number {
    let low = 0;
    let high = lines;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.wordsBefore(middle + 1) > words) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #length(rowFold: number): number {
    return this.#grid.mapping.topResident
      ? this.#grid.t
      : rowsUsed(this.#grid, rowFold);
  }

  #foldWords(rowFold: number, colFold: number): number {
    return this.#length(rowFold) * colsUsed(this.#grid, colFold);
  }

  #columnWords(colFold: number): number {
    const { mapping, t, rowFolds, sr } = this.#grid;
    return colsUsed(this.#grid, colFold) *
      (mapping.topResident ? t * rowFolds : sr);
  }

  /** Columns start one cycle after another and each passes `length` words. */
  #wordsBeforeCycle(cycle: number, rowFold: number, colFold: number): number {
    const { array, t, mapping } = this.#grid;
    const length = this.#length(rowFold);
    const start = mapping.topResident
      ? 2 * array.rows - 1
      : t - 1 + array.rows - rowsUsed(this.#grid, rowFold) +
        this.#timing.drainCycles;
    const used = colsUsed(this.#grid, colFold);
    return ramp(cycle - start, used) - ramp(cycle - start - length, used);
  }
}

/** Sum over c in [0, used) of max(0, elapsed - c). */
function ramp(elapsed: number, used: number): number {
  if (elapsed <= 0) return 0;
  const begun = Math.min(elapsed, used);
  return begun * elapsed - begun * (begun - 1) / 2;
}
