/**
 * "USER" memory: three DRAM ports of a fixed number of words per cycle; stalls by the rules of
 * SCALE-Sim v2 (the version without the double-counted stalls).
 *
 * A read buffer has a fixed fetch order: the operand cut into folds along the array, stacked, the
 * streamed operands read along anti-diagonals, the resident one row by row. The order is cut into
 * sets; a window of sets is on chip and moves on, cyclically, until it holds the word asked for.
 * The k-th move is ready at cycle -1 + k * (ceil(half / bandwidth) + 1), whether or not there was
 * room to fetch that early. The stalls of the three ports combine by max.
 */
import type { FoldGrid, Operand } from "../dataflow.ts";
import type { FoldTiming } from "../timing.ts";
import { positiveInteger } from "../checks.ts";
import { type AccessSpan, HIT_LATENCY_CYCLES } from "./access_span.ts";
import { addressMatrix, NO_ADDRESS } from "./addresses.ts";
import type { BufferSizes } from "./calc_memory.ts";
import { Demand } from "./demand.ts";
import { fetchOrder } from "./fetch_order.ts";
import type { ScaleSimLayer } from "./layer.ts";
import { WriteBuffer } from "./write_buffer.ts";

export interface UserMemory {
  /** Index of the last cycle, stalls included. */
  totalCycles: number;
  stallCycles: number;
  /** Slots fetched, which the tool counts as words. */
  dramIfmapReads: number;
  dramFilterReads: number;
  dramOfmapWrites: number;
  dramOfmapLastCycle: number;
  /** Cycles, stalls included, of the first and last scratchpad access per operand. */
  sramCycles: Record<Operand, AccessSpan>;
}

export interface UserMemoryOptions {
  grid: FoldGrid;
  timing: FoldTiming;
  buffers: BufferSizes;
  bandwidthWords: number;
}

export function userMemory(
  layer: ScaleSimLayer,
  options: UserMemoryOptions,
): UserMemory {
  const { grid, timing, buffers } = options;
  const bandwidthWords = positiveInteger(
    options.bandwidthWords,
    "bandwidth (words per cycle)",
  );
  const reader = (operand: "ifmap" | "filter", kb: number) =>
    new ReadBuffer(layer, {
      operand,
      grid,
      timing,
      capacityWords: kb * 1024,
      bandwidthWords,
    });
  const ifmap = reader("ifmap", buffers.ifmapKb);
  const filter = reader("filter", buffers.filterKb);
  const ofmap = new WriteBuffer({
    capacityWords: buffers.ofmapKb * 1024,
    bandwidthWords,
  });
  const outputs = new Demand("ofmap", {
    grid,
    timing,
    addresses: addressMatrix(layer, "ofmap"),
  });
  const written = new Span();
  let stallCycles = 0;
  let lastWriteStall = 0;
  let line = 0;
  for (let colFold = 0; colFold < grid.colFolds; colFold++) {
    for (let rowFold = 0; rowFold < grid.rowFolds; rowFold++) {
      for (let cycle = 0; cycle < timing.foldCycles; cycle++, line++) {
        const now = line + stallCycles;
        const ifmapStall = ifmap.read({ cycle, rowFold, colFold, now });
        const filterStall = filter.read({ cycle, rowFold, colFold, now });
        const words = outputs.locate(cycle, rowFold, colFold);
        lastWriteStall = ofmap.write(words, now);
        if (words > 0) written.add(now + lastWriteStall);
        stallCycles += Math.max(ifmapStall, filterStall, lastWriteStall);
        if (cycle === timing.foldCycles - 1) {
          // The last line's own read stalls come after its write.
          lastWriteStall -= Math.max(ifmapStall, filterStall, lastWriteStall);
        }
      }
    }
  }
  const totalCycles = line - 1 + stallCycles + lastWriteStall;
  ofmap.flush(totalCycles);
  return {
    totalCycles,
    stallCycles,
    dramIfmapReads: ifmap.slotsFetched,
    dramFilterReads: filter.slotsFetched,
    dramOfmapWrites: ofmap.dramWrites,
    dramOfmapLastCycle: ofmap.drainEndCycle,
    sramCycles: { ifmap: ifmap.span, filter: filter.span, ofmap: written },
  };
}

class Span implements AccessSpan {
  first = Infinity;
  last = -Infinity;

  add(cycle: number): void {
    this.first = Math.min(this.first, cycle);
    this.last = Math.max(this.last, cycle);
  }
}

interface ReadBufferOptions {
  operand: "ifmap" | "filter";
  grid: FoldGrid;
  timing: FoldTiming;
  capacityWords: number;
  bandwidthWords: number;
}

class ReadBuffer {
  readonly span = new Span();

  readonly #demand: Demand;
  /** For word w: the sets that hold it are setIds[setsFrom[w] .. setsFrom[w + 1]). */
  readonly #setsFrom: Int32Array;
  readonly #setIds: Int32Array;
  readonly #sets: number;
  readonly #activeSets: number;
  readonly #step: number;
  readonly #moveCycles: number;
  readonly #firstFillLines: number;
  readonly #bandwidth: number;
  #start = 0;
  #moves = 0;

  constructor(layer: ScaleSimLayer, options: ReadBufferOptions) {
    const { operand, grid, timing, capacityWords, bandwidthWords } = options;
    const addresses = addressMatrix(layer, operand);
    this.#demand = new Demand(operand, { grid, timing, addresses });
    const order = fetchOrder(operand, { grid, addresses });
    const half = Math.ceil(capacityWords * 0.5);
    const setWords = Math.ceil(capacityWords / 100);
    const index = indexBySet(order, { setWords, span: addresses.span });
    this.#setsFrom = index.setsFrom;
    this.#setIds = index.setIds;
    this.#sets = index.sets;
    const windowSets = Math.ceil(half / setWords);
    this.#activeSets = Math.min(this.#sets, windowSets);
    this.#step = Math.min(
      this.#sets - this.#activeSets,
      Math.ceil((capacityWords - half) / setWords),
    );
    this.#bandwidth = bandwidthWords;
    this.#moveCycles = Math.ceil((capacityWords - half) / bandwidthWords) + 1;
    this.#firstFillLines = Math.min(
      Math.ceil(half / bandwidthWords),
      Math.ceil(order.length / bandwidthWords),
    );
  }

  /** Serves one line of demands. Returns the cycles the array has to wait for it. */
  read(
    { cycle, rowFold, colFold, now }: {
      cycle: number;
      rowFold: number;
      colFold: number;
      now: number;
    },
  ): number {
    const count = this.#demand.line(cycle, rowFold, colFold);
    const { words } = this.#demand;
    const movesBefore = this.#moves;
    let reads = 0;
    for (let i = 0; i < count; i++) {
      if (words[i] !== NO_ADDRESS) {
        while (!this.#holds(words[i])) this.#move();
        reads++;
      }
    }
    const readyCycle = this.#moves * this.#moveCycles - 1;
    const stall = this.#moves === movesBefore
      ? 0
      : Math.max(0, readyCycle - (now + 1));
    if (reads > 0) this.span.add(now + stall + HIT_LATENCY_CYCLES);
    return stall;
  }

  get slotsFetched(): number {
    return this.#bandwidth *
      (this.#firstFillLines + this.#moves * (this.#moveCycles - 1));
  }

  #holds(word: number): boolean {
    for (let at = this.#setsFrom[word]; at < this.#setsFrom[word + 1]; at++) {
      let distance = this.#setIds[at] - this.#start;
      if (distance < 0) distance += this.#sets;
      if (distance < this.#activeSets) return true;
    }
    return false;
  }

  #move(): void {
    this.#moves++;
    this.#start = (this.#start + this.#step) % this.#sets;
  }
}

/** Cuts the fetch order into sets of `setWords` words and lists, per word, the sets it is in. */
function indexBySet(
  order: Int32Array,
  { setWords, span }: { setWords: number; span: number },
): { setsFrom: Int32Array; setIds: Int32Array; sets: number } {
  const setsFrom = new Int32Array(span + 1);
  let words = 0;
  for (const word of order) {
    if (word === NO_ADDRESS) continue;
    setsFrom[word + 1]++;
    words++;
  }
  for (let word = 0; word < span; word++) setsFrom[word + 1] += setsFrom[word];
  const setIds = new Int32Array(words);
  const next = setsFrom.slice(0, span);
  let at = 0;
  for (const word of order) {
    if (word !== NO_ADDRESS) setIds[next[word]++] = Math.floor(at++ / setWords);
  }
  // A set is begun even if no word is left for it.
  return { setsFrom, setIds, sets: Math.floor(words / setWords) + 1 };
}
