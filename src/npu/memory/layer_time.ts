/**
 * Event level of a whole layer: picks the tiling under which it is done soonest, and reports
 * cycles, stalls, traffic and what bound it.
 */
import { type NpuConfig, NUMBER_FORMATS } from "../config.ts";
import { MAPPINGS } from "../dataflow.ts";
import { checkLayer, type LayerSpec, type VectorWork } from "../layer_spec.ts";
import type { ScratchpadTraffic } from "../closed_form.ts";
import { type DramTiming, dramTiming } from "./dram.ts";
import { type PipelineResult, type Program, runPipeline } from "./pipeline.ts";
import { streamTime } from "./vector_stream.ts";
import { type TileContext, tileProgram } from "./tile_program.ts";
import { programTraffic, sumTraffic } from "./tile_traffic.ts";
import { lowerBound } from "./bound.ts";
import {
  fits,
  leastRoom,
  type OnChip,
  type Room,
  roomOf,
  type Tiling,
  tilings,
} from "./tiling.ts";

/** The busiest resource: the array, the DRAM port or the vector unit. */
export type Bound = "compute" | "memory" | "vector";

/** What a layer takes on a machine. */
export interface LayerTime {
  /** Cycles from the first request to the last byte written, rounded up. */
  cycles: number;
  /** Cycles the array needs for the layer if nothing stalls it. */
  arrayCycles: number;
  /** Cycles the vector unit is busy. */
  vectorCycles: number;
  /** Cycles the DRAM port is busy. */
  dramCycles: number;
  /** cycles - arrayCycles. */
  stallCycles: number;
  /** The resource that is busy longest. */
  bound: Bound;
  /** From DRAM. */
  bytesRead: number;
  /** To DRAM. */
  bytesWritten: number;
  /** DRAM requests. */
  requests: number;
  /** Words between the array and its scratchpads, counted tile by tile. */
  scratchpad: ScratchpadTraffic;
  /** Multiplications, counted tile by tile. */
  macs: number;
  /** Multiplications over (cycles x processing elements), in percent. */
  utilizationPct: number;
  /** Bytes per second the layer would need not to be bound by memory. */
  neededBytesPerSecond: number;
  /** The tiling chosen for each GEMM: the one that is done soonest. */
  tilings: readonly Tiling[];
}

const NOTHING_ON_CHIP: OnChip = { ifmap: false, ofmap: false };

/** Throws a RangeError if a size of the layer is none, or no tiling fits the scratchpads. */
export function layerTime(
  layer: LayerSpec,
  config: NpuConfig,
  onChip: OnChip = NOTHING_ON_CHIP,
): LayerTime {
  checkLayer(layer);
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
    vectorTicks: parts.length > 0 ? 0 : vectorTicks,
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
  const { macs, ...scratchpad } = sumTraffic(
    parts.map(({ program }) => programTraffic(program)),
  );
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
    scratchpad,
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

/** Words besides the GEMMs' operands: residuals, pooling, rows of tables. */
function extraTraffic(
  layer: LayerSpec,
  { config, dram, vectorTicks }: {
    config: NpuConfig;
    dram: DramTiming;
    /** Of a layer without a GEMM; else the tiles have had it. */
    vectorTicks: number;
  },
): PipelineResult | undefined {
  const { operandBytes } = NUMBER_FORMATS[config.format];
  const stream = {
    readBytes: layer.extraReadWords * operandBytes,
    writeBytes: layer.extraWriteWords * operandBytes,
    vectorTicks,
  };
  return Object.values(stream).every((amount) => amount === 0)
    ? undefined
    : streamTime(layer.name, { stream, config, dram });
}

/**
 * The tiling that is done soonest. Candidates are run in the order of their lower bounds, until
 * the next bound is no better than the best time found: exact, and few have to be run.
 */
function bestTiling(
  name: string,
  candidate: TileContext,
): { tiling: Tiling; result: PipelineResult; program: Program } {
  const { work, config, onChip } = candidate;
  const bounded: { tiling: Tiling; boundTicks: number }[] = [];
  for (const tiling of tilings(work, config.array)) {
    if (fits(roomOf(work, tiling, { config, onChip }), config)) {
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
    const room = leastRoom(work, { config, onChip });
    const lacking = (Object.keys(room) as (keyof Room)[])
      .filter((memory) => room[memory] > config[memory])
      .map((memory) => `${room[memory]} ${memory} (it has ${config[memory]})`);
    throw new RangeError(
      `${name}: its smallest tile does not fit on ${config.name}; ` +
        `that needs at least ${lacking.join(" and ")}`,
    );
  }
  return { ...best, program: tileProgram(best.tiling, candidate) };
}

/** The event level of one tiling. */
export function tiledTime(
  tiling: Tiling,
  candidate: TileContext,
): PipelineResult {
  const { config, dram } = candidate;
  const mapping = MAPPINGS[config.dataflow];
  const shadowed = config.mode === "overlapped" && mapping.topResident;
  return runPipeline(tileProgram(tiling, candidate), {
    dram,
    preloadTicks: shadowed ? config.array.rows * dram.ticksPerCycle : 0,
    preloaded: mapping.top,
  });
}
