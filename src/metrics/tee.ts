import type { Observer } from "../policy/records.ts";

/** One observer that tells several, in order. */
export function tee(...observers: readonly Observer[]): Observer {
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
