import { msToNs, NS_PER_MS, NS_PER_S, NS_PER_US } from "../../base/units.ts";
import { wallNs } from "./clock.ts";
import type { EngineCore } from "../core/engine.ts";
import type { Submission } from "../core/engine_options.ts";
import type { TensorExecutor } from "./tensor_executor.ts";

/** Longest time without letting the event loop report a dead worker. */
const TURN_NS = 5 * NS_PER_S;

/** A sleep ends up to this much late; the rest of the way to an arrival is spent looking at the clock. */
const OVERSLEEP_NS = 150 * NS_PER_US;

/**
 * Replays a load on the wall clock, open loop: every request enters at its scheduled time whatever the
 * engine is doing, and its latency counts from there. The calling thread polls for as long as the
 * executor's `spinMs` says and sleeps after that
 * (`Atomics.wait`, about 0.1 ms precise, where a timer has 1 ms), so this is for measurements in Deno,
 * Node and Bun; `ServingEngine` is for serving.
 * @param arrivals in ascending order of arrivalNs, which counts from the start of the replay, as deadlines do
 * @param isOver asked with the time since the start: once it says so nobody comes any more, and what has not departed is
 * given up (an overloaded policy); default: never
 * @returns nanoseconds of the wall clock at the start
 */
export async function replay(
  engine: EngineCore,
  executor: TensorExecutor,
  arrivals: readonly Submission[],
  isOver: (sinceStartNs: number) => boolean = () => false,
): Promise<number> {
  const originNs = wallNs();
  let next = 0;
  let turnNs = originNs;
  const spinNs = msToNs(executor.spinMs);
  for (;;) {
    const { words, index } = executor.doorbell;
    const seen = Atomics.load(words, index);
    for (const { task, startNs, endNs } of executor.poll()) {
      engine.completed(task, startNs, endNs);
    }
    const nowNs = wallNs();
    if (isOver(nowNs - originNs)) {
      engine.failAll(nowNs, new Error("The replay gave up on what was left"));
      next = arrivals.length;
    }
    for (
      ;
      next < arrivals.length && arrivals[next].arrivalNs + originNs <= nowNs;
      next++
    ) {
      const arrival = arrivals[next];
      const { arrivalNs, deadlineNs = Infinity, finishNs = Infinity } = arrival;
      engine.submit({
        ...arrival,
        arrivalNs: arrivalNs + originNs,
        deadlineNs: deadlineNs + originNs,
        finishNs: finishNs + originNs,
      });
    }
    const wakeNs = engine.pump(wallNs());
    if (
      next === arrivals.length && engine.active === 0 &&
      engine.tasksInFlight === 0
    ) return originNs;
    const untilNs = Math.min(
      wakeNs,
      next < arrivals.length ? arrivals[next].arrivalNs + originNs : Infinity,
    );
    const sleepNs = Math.min(TURN_NS, untilNs - wallNs());
    if (sleepNs > 0) sleep(words, index, seen, sleepNs, spinNs);
    if (wallNs() - turnNs > TURN_NS) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      turnNs = wallNs();
    }
  }
}

/** Returns when the word is no longer `seen`, or after `sleepNs`; looks for `spinNs` before it sleeps. */
function sleep(
  words: Int32Array,
  index: number,
  seen: number,
  sleepNs: number,
  spinNs: number,
): void {
  const startNs = wallNs();
  const endNs = startNs + sleepNs;
  if (spinUntil(words, index, seen, startNs + Math.min(spinNs, sleepNs))) {
    return;
  }
  const leftNs = endNs - OVERSLEEP_NS - wallNs();
  if (leftNs > 0) Atomics.wait(words, index, seen, leftNs / NS_PER_MS);
  spinUntil(words, index, seen, endNs);
}

/** @returns whether the word changed before the time was up */
function spinUntil(
  words: Int32Array,
  index: number,
  seen: number,
  untilNs: number,
): boolean {
  do {
    if (Atomics.load(words, index) !== seen) return true;
  } while (wallNs() < untilNs);
  return false;
}
