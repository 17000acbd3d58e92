/**
 * The seconds of a trial, each by itself: one in which other processes had the machine says nothing about it, nor does
 * the one after, in which their backlog is worked off.
 */
import { LogHistogram } from "../soak/histogram.ts";
import { type CpuMs, cpuMs, cpuSince } from "./cpu.ts";
import { watchDisturbance } from "./disturbance.ts";

/** Frames that were due in some time, and what became of them. */
export class Tally {
  frames = 0;
  /** Done within a period. */
  onTime = 0;
  /** Of those that were done. */
  readonly latenciesMs = new LogHistogram();
  wallMs = 0;
  cpuMs: CpuMs = { all: 0, main: 0 };

  add(other: Tally): void {
    this.frames += other.frames;
    this.onTime += other.onTime;
    this.latenciesMs.addAll(other.latenciesMs);
    this.wallMs += other.wallMs;
    const { all, main } = this.cpuMs;
    const more = other.cpuMs;
    this.cpuMs = {
      all: all + more.all,
      main: main === undefined || more.main === undefined
        ? undefined
        : main + more.main,
    };
  }
}

/** A slice under way, or ended a slice ago: frames may still be in it. */
interface Slice {
  readonly tally: Tally;
  counts: boolean;
}

export class Slices {
  /** Of all slices that count and ended. */
  readonly counted = new Tally();
  /** Of all that ended. */
  readonly all = new Tally();
  readonly #sliceMs: number;
  readonly #watch: typeof watchDisturbance;
  #isDisturbed: () => boolean;
  #endMs = -Infinity;
  #fromMs = 0;
  #cpu = cpuMs();
  #current: Slice | undefined;
  /** The slice before: its last frames are done by now, or so late that they are taken to be never. */
  #before: Slice | undefined;
  #wasDisturbed = false;

  constructor(sliceMs: number, watch = watchDisturbance) {
    this.#sliceMs = sliceMs;
    this.#watch = watch;
    this.#isDisturbed = watch();
  }

  /**
   * @param dueMs when a frame is due, not before the one that was asked for before
   * @returns where it is counted
   */
  of(dueMs: number): Tally {
    if (this.#current === undefined || dueMs >= this.#endMs) {
      this.#turn();
      this.#endMs = dueMs + this.#sliceMs;
    }
    return this.#current!.tally;
  }

  /** Whether others have had processors that the slice under way needed. */
  get isDisturbed(): boolean {
    return this.#isDisturbed();
  }

  /** Late frames of slices that count and ended. */
  get late(): number {
    return this.counted.frames - this.counted.onTime;
  }

  /** Ends all slices. */
  end(): void {
    this.#turn();
    this.#turn();
    this.#current = undefined;
  }

  #turn(): void {
    const nowMs = performance.now();
    const ended = this.#current;
    if (ended) {
      const isDisturbed = this.isDisturbed;
      ended.tally.wallMs = nowMs - this.#fromMs;
      ended.tally.cpuMs = cpuSince(this.#cpu);
      ended.counts = !isDisturbed && !this.#wasDisturbed;
      this.#wasDisturbed = isDisturbed;
    }
    if (this.#before) {
      this.all.add(this.#before.tally);
      if (this.#before.counts) this.counted.add(this.#before.tally);
    }
    this.#before = ended;
    this.#current = { tally: new Tally(), counts: false };
    this.#fromMs = nowMs;
    this.#cpu = cpuMs();
    this.#isDisturbed = this.#watch();
  }
}
