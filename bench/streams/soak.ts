/**
 * Streams for minutes at eight tenths of what is carried: whether anything grows. What the collector takes says
 * `--v8-flags=--expose-gc,--trace-gc`.
 */
import { memoryUsage } from "node:process";
import type { ServingEngine } from "../../src/engine/wall/serving.ts";
import { collectGarbage } from "../soak/collect_garbage.ts";
import type { StreamSubject } from "./models.ts";
import { runTrial, type Trial } from "./trial.ts";

/** Bytes in use: of the heap after a collection, at the first and the last look. */
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
export const LOOKS = 10;

/** Samples of memory: so many, whoever asks for more. */
export class MemoryLooks {
  readonly samples: MemorySample[] = [];
  readonly #fromMs = performance.now();

  constructor(readonly collect: () => void = collectGarbage) {}

  look(): void {
    const { samples } = this;
    if (samples.length === LOOKS) return;
    // In between it would hold up frames for nothing.
    if (samples.length === 0 || samples.length === LOOKS - 1) this.collect();
    const { heapUsed: heap, rss } = memoryUsage();
    const atS = (performance.now() - this.#fromMs) / 1000;
    samples.push({ atS, heap, rss });
  }
}

export async function soakStreams(
  engine: ServingEngine,
  subject: StreamSubject,
  { streams, minutes, seed }: {
    streams: number;
    minutes: number;
    seed: number;
  },
): Promise<Soaked> {
  const looks = new MemoryLooks();
  const seconds = 60 * minutes;
  const trial = await runTrial(engine, subject, {
    streams,
    seconds,
    secondsMax: seconds,
    seed,
    // A pause of the machine makes frames late and ends nothing.
    lateMax: 1,
    watch: { everyMs: 1000 * seconds / LOOKS, look: () => looks.look() },
  });
  return { trial, minutes, memory: looks.samples };
}
