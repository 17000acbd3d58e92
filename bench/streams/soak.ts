/**
 * Streams for minutes at eight tenths of what is carried: whether anything grows. What the collector takes says
 * `--v8-flags=--expose-gc,--trace-gc`.
 */
import { memoryUsage } from "node:process";
import type { ServingEngine } from "../../src/engine/wall/serving.ts";
import { collectGarbage } from "../soak/collect_garbage.ts";
import type { StreamSubject } from "./models.ts";
import { runTrial, type Trial } from "./trial.ts";

/** Bytes in use, after a collection at the first and the last look. */
export interface MemorySample {
  readonly atS: number;
  readonly heap: number;
  readonly rss: number;
}

/** What came of it. */
export interface Soaked {
  readonly trial: Trial;
  readonly minutes: number;
  readonly memory: readonly MemorySample[];
}

/** Memory is looked at so many times. */
const LOOKS = 10;

export async function soakStreams(
  engine: ServingEngine,
  subject: StreamSubject,
  { streams, minutes, seed }: {
    streams: number;
    minutes: number;
    seed: number;
  },
): Promise<Soaked> {
  const memory: MemorySample[] = [];
  const seconds = 60 * minutes;
  const startMs = performance.now();
  const trial = await runTrial(engine, subject, {
    streams,
    seconds,
    secondsMax: seconds,
    seed,
    // A pause of the machine makes frames late and ends nothing.
    lateMax: 1,
    watch: {
      everyMs: 1000 * seconds / LOOKS,
      look() {
        // In between it would hold up frames for nothing.
        if (memory.length === 0 || memory.length === LOOKS - 1) {
          collectGarbage();
        }
        const { heapUsed: heap, rss } = memoryUsage();
        memory.push({ atS: (performance.now() - startMs) / 1000, heap, rss });
      },
    },
  });
  return { trial, minutes, memory };
}
