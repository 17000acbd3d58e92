/** Many more streams than this machine carries, on virtual time: what grows with their number, and how. */
import { memoryUsage } from "node:process";
import { ascending, percentile } from "../../src/base/statistics.ts";
import { NS_PER_MS, nsToMs } from "../../src/base/units.ts";
import { TableCost } from "../../src/cost/table_cost.ts";
import { EngineCore } from "../../src/engine/core/engine.ts";
import { SimExecutor } from "../../src/engine/virtual/sim_executor.ts";
import { streamArrivals } from "../../src/engine/virtual/stream_arrivals.ts";
import { Timeline } from "../../src/engine/virtual/timeline.ts";
import { driveVirtual } from "../../src/engine/virtual/virtual_driver.ts";
import type { Policy } from "../../src/policy/policy.ts";
import type { ProfileTable } from "../../src/policy/profile.ts";
import { streamLoad } from "../../src/workload/stream_load.ts";
import { collectGarbage } from "../soak/collect_garbage.ts";
import type { StreamSubject } from "./models.ts";

/** A load on virtual time. */
export interface Simulated {
  readonly streams: number;
  readonly workers: number;
  readonly frames: number;
  /** Share of frames later than a period after they arrived. */
  readonly late: number;
  readonly p999Ms: number;
  readonly rowsMean: number;
  /** Time that simulating a frame took: generator, engine and policy. */
  readonly hostUs: number;
  /** Bytes of the heap that a stream takes. */
  readonly heapBytes: number;
}

/** Of what the workers could do at full batches. */
const LOAD = 0.7;
const PERIODS = 4;
const BATCH = 64;
const JITTER_PERIODS = 0.25;
const STALL_EVERY_PERIODS = 500;
const STALL_PERIODS = 4;

export function simulateStreams(
  subject: StreamSubject,
  policy: Policy,
  profile: ProfileTable,
  streams: number,
  seed: number,
): Simulated {
  const { model } = subject;
  const periodNs = subject.periodMs * NS_PER_MS;
  const cost = new TableCost(profile);
  const frameNs = model.cells.reduce(
    (sum, cell) => sum + cost.latencyNs(cell, BATCH) / BATCH,
    0,
  );
  const workers = Math.max(1, Math.ceil(streams * frameNs / periodNs / LOAD));
  const timeline = new Timeline();
  const executor = new SimExecutor({
    timeline,
    cost,
    workers,
    onCompleted: (task, startNs, endNs) =>
      engine.completed(task, startNs, endNs),
  });
  let tasks = 0;
  let rows = 0;
  const engine = new EngineCore({
    models: [model],
    policy,
    executor,
    observer: {
      task: (_, record) => {
        tasks++;
        rows += record.rows;
      },
    },
  });
  collectGarbage();
  const heapBefore = memoryUsage().heapUsed;
  const latenciesMs: number[] = [];
  const load = streamLoad({
    sources: [{
      streams,
      periodNs,
      jitterNs: JITTER_PERIODS * periodNs,
      stallEveryNs: STALL_EVERY_PERIODS * periodNs,
      stallNs: STALL_PERIODS * periodNs,
    }],
    durationNs: PERIODS * periodNs,
    seed,
  });
  const startMs = performance.now();
  driveVirtual(
    engine,
    timeline,
    streamArrivals(engine, load, {
      models: [model],
      each: ({ atNs }) => ({
        onEnd: (_, endNs) => void latenciesMs.push(nsToMs(endNs - atNs)),
      }),
    }),
  );
  const hostMs = performance.now() - startMs;
  collectGarbage();
  const heapAfter = memoryUsage().heapUsed;
  const sorted = ascending(latenciesMs);
  const frames = sorted.length;
  return {
    streams,
    workers,
    frames,
    late: 1 -
      (sorted.findLastIndex((ms) => ms <= subject.periodMs) + 1) / frames,
    p999Ms: percentile(sorted, 0.999),
    rowsMean: rows / tasks,
    hostUs: 1000 * hostMs / frames,
    heapBytes: (heapAfter - heapBefore - 8 * frames) / streams,
  };
}
