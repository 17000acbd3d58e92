import type { ActiveRequest, Ending } from "./active_request.ts";
import type { Executor } from "./executor.ts";

/**
 * How a request ends whose rows are all there: what cannot be copied out, memory or its caller's arrays being what they
 * are, fails alone.
 */
export function resultOf(request: ActiveRequest, executor: Executor): Ending {
  try {
    return { outcome: "done", result: executor.result(request) };
  } catch (error) {
    return { outcome: "failed", error: error as Error };
  }
}
