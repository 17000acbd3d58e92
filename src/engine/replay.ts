import { NS_PER_MS } from "../base/units.ts";
import { wallNs } from "./clock.ts";
import type { EngineCore, Submission } from "./engine.ts";
import type { TensorExecutor } from "./tensor_executor.ts";

/** Longest sleep without letting the event loop report a dead worker. */
const SLEEP_MS = 200;

/**
 * Replays a load on the wall clock, open loop: every request enters at its scheduled time whatever the
 * engine is doing, and its latency counts from there. The calling thread sleeps in between
 * (`Atomics.wait`, about 0.1 ms precise, where a timer has 1 ms), so this is for measurements in Deno,
 * Node and Bun; `ServingEngine` is for serving.
 * @param arrivals in ascending order of arrivalNs, which counts from the start of the replay
 * @param stopAfterNs give up on what has not departed by then (an overloaded policy); default Infinity
 * @returns nanoseconds of the wall clock at the start
 */
export async function replay(
  engine: EngineCore,
  executor: TensorExecutor,
  arrivals: readonly Submission[],
  stopAfterNs = Infinity,
): Promise<number> {
  const originNs = wallNs();
  let next = 0;
  let turnMs = 0;
  while (
    next < arrivals.length || engine.active > 0 || engine.tasksInFlight > 0
  ) {
    const { words, index } = executor.doorbell;
    const seen = Atomics.load(words, index);
    for (const { task, startNs, endNs } of executor.poll()) {
      engine.completed(task, startNs, endNs);
    }
    const nowNs = wallNs();
    if (nowNs - originNs > stopAfterNs && engine.active > 0) {
      engine.failAll(nowNs, new Error("The replay gave up on what was left"));
      next = arrivals.length;
    }
    for (
      ;
      next < arrivals.length && arrivals[next]!.arrivalNs + originNs <= nowNs;
      next++
    ) {
      const arrival = arrivals[next]!;
      engine.submit({ ...arrival, arrivalNs: arrival.arrivalNs + originNs });
    }
    const wakeNs = engine.pump(wallNs());
    const untilNs = Math.min(
      wakeNs,
      next < arrivals.length ? arrivals[next]!.arrivalNs + originNs : Infinity,
    );
    const sleepMs = Math.min(SLEEP_MS, (untilNs - wallNs()) / NS_PER_MS);
    if (sleepMs > 0) Atomics.wait(words, index, seen, sleepMs);
    if (wallNs() / NS_PER_MS - turnMs > SLEEP_MS) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      turnMs = wallNs() / NS_PER_MS;
    }
  }
  return originNs;
}
