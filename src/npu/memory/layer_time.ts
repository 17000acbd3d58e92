/**
 * Event level of a whole layer: picks the tiling under which it is done soonest, and reports
 * cycles, stalls, traffic and what bound it.
 */
import { type NpuConfig, NUMBER_FORMATS } from "../config.ts";
import { foldGrid } from "../dataflow.ts";
import { type LayerSpec, macsOf, type VectorWork } from "../layer_spec.ts";
import { type DramTiming, dramTiming } from "./dram.ts";
import { type PipelineResult, type Program, runPipeline } from "./pipeline.ts";
import { type TileContext, tileProgram } from "./tile_program.ts";
import { lowerBound } from "./bound.ts";
import { fits, type OnChip, roomOf, type Tiling, tilings } from "./tiling.ts";

export type Bound = "compute" | "memory" | "vector";

export interface LayerTime {
  /** Cycles from the first request to the last byte written, rounded up. */
  cycles: number;
  /** Cycles the array needs for the layer if nothing stalls it. */
  arrayCycles: number;
  vectorCycles: number;
  /** Cycles the DRAM port is busy. */
  dramCycles: number;
  /** cycles - arrayCycles. */
  stallCycles: number;
  /** The resource that is busy longest. */
  bound: Bound;
  bytesRead: number;
  bytesWritten: number;
  /** DRAM requests. */
  requests: number;
  macs: number;
  /** Multiplications over (cycles x processing elements), in percent. */
  utilizationPct: number;
  /** Bytes per second the layer would need not to be bound by memory. */
  neededBytesPerSecond: number;
  /** Per GEMM. */
  tilings: readonly Tiling[];
}

const NOTHING_ON_CHIP: OnChip = { ifmap: false, ofmap: false };

/** Throws a RangeError if no tiling fits the scratchpads. */
export function layerTime(
  layer: LayerSpec,
  config: NpuConfig,
  onChip: OnChip = NOTHING_ON_CHIP,
): LayerTime {
  const dram = dramTiming(config.dram, config.clockHz);
  const vectorTicks = vectorCycles(layer.vector, config) * dram.ticksPerCycle;
  const parts = layer.gemms.map((work, i) =>
    bestTiling(layer.name, {
      work,
      config,
      dram,
      onChip,
      // The vector work follows the last GEMM.
      vectorTicks: i === layer.gemms.length - 1 ? vectorTicks : 0,
    })
  );
  const results: PipelineResult[] = parts.map(({ result }) => result);
  const extra = extraTraffic(layer, {
    config,
    dram,
    vectorTicks,
    withGemm: parts.length > 0,
  });
  if (extra !== undefined) results.push(extra);
  const sum = (of: (result: PipelineResult) => number) =>
    results.reduce((total, result) => total + of(result), 0);
  const inCycles = (ticks: number) => Math.ceil(ticks / dram.ticksPerCycle);
  const cycles = inCycles(sum((result) => result.endTicks));
  const arrayCycles = inCycles(sum((result) => result.arrayTicks));
  const dramCycles = inCycles(sum((result) => result.dramBusyTicks));
  const vector = inCycles(sum((result) => result.vectorTicks));
  const bytesRead = sum((result) => result.bytesRead);
  const bytesWritten = sum((result) => result.bytesWritten);
  const macs = macsOf(layer);
  const busiest = Math.max(arrayCycles, dramCycles, vector);
  return {
    cycles,
    arrayCycles,
    vectorCycles: vector,
    dramCycles,
    stallCycles: cycles - arrayCycles,
    bound: busiest === arrayCycles
      ? "compute"
      : busiest === dramCycles
      ? "memory"
      : "vector",
    bytesRead,
    bytesWritten,
    requests: sum((result) => result.requests),
    macs,
    utilizationPct: cycles === 0
      ? 0
      : 100 * macs / (cycles * config.array.rows * config.array.cols),
    neededBytesPerSecond: (bytesRead + bytesWritten) * config.clockHz /
      Math.max(1, arrayCycles, vector),
    tilings: parts.map(({ tiling }) => tiling),
  };
}

function vectorCycles(
  vector: readonly VectorWork[],
  config: NpuConfig,
): number {
  return vector.reduce(
    (sum, { elements, passes }) =>
      sum + Math.ceil(elements / config.vectorLanes) * passes,
    0,
  );
}

/** Words besides the GEMMs' operands, moved in pieces that flow through the activation scratchpad. */
function extraTraffic(
  layer: LayerSpec,
  { config, dram, vectorTicks, withGemm }: {
    config: NpuConfig;
    dram: DramTiming;
    vectorTicks: number;
    withGemm: boolean;
  },
): PipelineResult | undefined {
  const { operandBytes } = NUMBER_FORMATS[config.format];
  const read = layer.extraReadWords * operandBytes;
  const write = layer.extraWriteWords * operandBytes;
  const vector = withGemm ? 0 : vectorTicks;
  if (read === 0 && write === 0 && vector === 0) return undefined;
  const pieces = Math.max(
    1,
    Math.ceil(Math.max(read, write) / EXTRA_PIECE_BYTES),
  );
  const share = (total: number, piece: number) =>
    Math.floor(total * (piece + 1) / pieces) -
    Math.floor(total * piece / pieces);
  const piece = (index: number) => ({
    ifmapBytes: share(read, index),
    filterBytes: 0,
    ofmapBytes: share(write, index),
    occupancyTicks: 0,
    durationTicks: 0,
    vectorTicks: share(vector, index),
    completes: true,
  });
  const program: Program = Array.from(
    { length: pieces },
    (_, index) => piece(index),
  );
  return runPipeline(program, {
    dram,
    preloadTicks: 0,
    preloaded: "filter",
  });
}

/** Assumption: streams of the vector unit move in pieces of 64 KiB. */
const EXTRA_PIECE_BYTES = 65_536;

/**
 * The tiling that is done soonest. Candidates are run in the order of their lower bounds, until
 * the next bound is no better than the best time found: exact, and few have to be run.
 */
function bestTiling(
  name: string,
  candidate: TileContext,
): { tiling: Tiling; result: PipelineResult } {
  const { work, config, onChip } = candidate;
  const bounded: { tiling: Tiling; boundTicks: number }[] = [];
  let least = Infinity;
  for (const tiling of tilings(work, config.array)) {
    const room = roomOf(work, tiling, { config, onChip });
    least = Math.min(
      least,
      room.activationBytes + room.weightBytes + room.accumulatorBytes,
    );
    if (fits(room, config)) {
      bounded.push({ tiling, boundTicks: lowerBound(tiling, candidate) });
    }
  }
  bounded.sort((a, b) => a.boundTicks - b.boundTicks);
  let best: { tiling: Tiling; result: PipelineResult } | undefined;
  for (const { tiling, boundTicks } of bounded) {
    if (best !== undefined && boundTicks >= best.result.endTicks) break;
    const result = tiledTime(tiling, candidate);
    if (best === undefined || result.endTicks < best.result.endTicks) {
      best = { tiling, result };
    }
  }
  if (best === undefined) {
    throw new RangeError(
      `${name}: no tiling fits on chip (the smallest needs ${least} bytes); ` +
        "give the machine larger scratchpads",
    );
  }
  return best;
}

/** The event level of one tiling. */
export function tiledTime(
  tiling: Tiling,
  candidate: TileContext,
): PipelineResult {
  const { work, config, dram, onChip, vectorTicks } = candidate;
  const { mapping } = foldGrid(work.gemm, config.array, config.dataflow);
  const shadowed = config.mode === "overlapped" && mapping.topResident;
  const program = tileProgram(tiling, {
    work,
    config,
    onChip,
    vectorTicks,
    dram,
  });
  return runPipeline(program, {
    dram,
    preloadTicks: shadowed ? config.array.rows * dram.ticksPerCycle : 0,
    preloaded: mapping.top,
  });
}
