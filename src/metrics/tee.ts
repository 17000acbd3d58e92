import { listOf, ofType } from "../base/checked_options.ts";
import type { Observer } from "../policy/records.ts";

/**
 * One observer that tells several, in order.
 * @throws TypeError on what is no object
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { auto, lstm, ServingEngine } from "@shoal/core";
 * import { Collector, DecisionLog, summarize, tee } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 4, vocabulary: 10 });
 * const collector = new Collector();
 * const log = new DecisionLog("auto");
 * const observer = tee(collector, log);
 * const engine = await ServingEngine.create({ models: [model], policy: auto(), workers: 0, observer });
 * await engine.run(model, { tokens: [1, 2] });
 * await engine.close();
 * assert.equal(summarize(collector).requests.done, 1);
 * assert.equal(log.requests.size, 1);
 * ```
 */
export function tee(...observers: readonly Observer[]): Observer {
  listOf(ofType("object"))("observers", observers);
  return {
    decided(atNs, launch, launchId) {
      for (const observer of observers) {
        observer.decided?.(atNs, launch, launchId);
      }
    },
    waited(atNs, untilNs, why) {
      for (const observer of observers) observer.waited?.(atNs, untilNs, why);
    },
    task(task, record) {
      for (const observer of observers) observer.task?.(task, record);
    },
    request(request, record) {
      for (const observer of observers) observer.request?.(request, record);
    },
  };
}
