/**
 * Words that only pass the vector unit (residuals, pooling, table rows), as a program for the pipeline:
 * equal pieces, double-buffered in the activation scratchpad.
 *
 * Several sizes of pieces are tried, which do not depend on the scratchpad; it decides which of them
 * fit. So, as with tilings, a bigger scratchpad can only help. Pieces are whole rounds of bursts over all
 * channels, so that cutting a stream costs no bandwidth.
 */
import type { NpuConfig } from "../config.ts";
import type { DramTiming } from "./dram.ts";
import {
  type PipelineResult,
  type Program,
  runPipeline,
  type Step,
} from "./pipeline.ts";

export interface Stream {
  readBytes: number;
  writeBytes: number;
  vectorTicks: number;
}

/** Assumption: requests of the vector unit are at most 64 KiB long. */
const PIECE_BYTES_MAX = 65_536;
/** Shorter pieces than this are not tried: most of the time would be latency. */
const PIECE_BYTES_MIN = 256;

/** The soonest way to pass a stream. Throws a RangeError if no piece fits the activation scratchpad. */
export function streamTime(
  name: string,
  { stream, config, dram }: {
    stream: Stream;
    config: NpuConfig;
    dram: DramTiming;
  },
): PipelineResult {
  const longest = Math.max(stream.readBytes, stream.writeBytes);
  const block = config.dram.burstBytes * config.dram.channels;
  let best: PipelineResult | undefined;
  let least = Infinity;
  let piecesBefore = 0;
  for (let size = PIECE_BYTES_MAX; size >= PIECE_BYTES_MIN; size /= 2) {
    const pieces = Math.max(1, Math.ceil(longest / Math.max(size, block)));
    if (pieces === piecesBefore) continue;
    piecesBefore = pieces;
    const reads = cut(stream.readBytes, { pieces, unit: block });
    const writes = cut(stream.writeBytes, { pieces, unit: block });
    const room = Math.min(stream.readBytes, 2 * reads.sizeMax) +
      Math.min(stream.writeBytes, 2 * writes.sizeMax);
    least = Math.min(least, room);
    if (room > config.activationBytes) continue;
    const vector = cut(stream.vectorTicks, { pieces, unit: 1 });
    const result = runPipeline(programOf(pieces, { reads, writes, vector }), {
      dram,
      preloadTicks: 0,
      preloaded: "filter",
    });
    if (best === undefined || result.endTicks < best.endTicks) best = result;
  }
  if (best === undefined) {
    throw new RangeError(
      `${name}: its stream needs at least ${least} activationBytes, ` +
        `${config.name} has ${config.activationBytes}`,
    );
  }
  return best;
}

/** A quantity in pieces: the first `longer` have one unit more, the last that is not empty has the rest. */
interface Pieces {
  at(piece: number): number;
  sizeMax: number;
  /** Pieces between two of these are alike. */
  changes: number[];
}

function cut(
  total: number,
  { pieces, unit }: { pieces: number; unit: number },
): Pieces {
  const units = Math.ceil(total / unit);
  const each = Math.floor(units / pieces);
  const longer = units - each * pieces;
  const last = each > 0 ? pieces - 1 : longer - 1;
  const unitsAt = (piece: number) => each + (piece < longer ? 1 : 0);
  const missing = units * unit - total;
  return {
    at: (piece) =>
      piece > last ? 0 : unitsAt(piece) * unit - (piece === last ? missing : 0),
    sizeMax: Math.min(total, unitsAt(0) * unit),
    changes: [longer, last, last + 1],
  };
}

function programOf(
  pieces: number,
  { reads, writes, vector }: Record<"reads" | "writes" | "vector", Pieces>,
): Program {
  const step = (piece: number): Step => ({
    ifmapBytes: reads.at(piece),
    filterBytes: 0,
    ofmapBytes: writes.at(piece),
    occupancyTicks: 0,
    durationTicks: 0,
    firstSumsTicks: 0,
    vectorTicks: vector.at(piece),
    completes: true,
  });
  const starts = [0, ...reads.changes, ...writes.changes, ...vector.changes]
    .filter((start) => start >= 0 && start < pieces)
    .toSorted((a, b) => a - b);
  return starts.flatMap((start, i) => {
    const rounds = (starts[i + 1] ?? pieces) - start;
    return rounds === 0 ? [] : [{ rounds, body: [step(start)] }];
  });
}
