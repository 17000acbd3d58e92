import type { ActiveRequest } from "./active_request.ts";
import type { Executor } from "./executor.ts";
import type { Run } from "./run.ts";

/**
 * Tells who waits for them of the steps that a run's requests have taken.
 * @returns requests with a step whose rows cannot be copied out: each fails alone
 */
export function tellSteps(
  { stepped }: Run,
  executor: Executor,
  nowNs: number,
): readonly (readonly [ActiveRequest, Error])[] {
  if (stepped.length === 0) return NONE;
  const failed: (readonly [ActiveRequest, Error])[] = [];
  for (const request of stepped.splice(0)) {
    try {
      tell(request, executor, nowNs);
    } catch (error) {
      failed.push([request, error as Error]);
    }
  }
  return failed;
}

function tell(request: ActiveRequest, executor: Executor, nowNs: number): void {
  const { steps, graph, finishNs } = request;
  // Who hears of one may end the request.
  while (steps && !request.departed && nowNs <= finishNs) {
    const step = steps.next(graph);
    if (step === undefined) return;
    const outputs = executor.result(request, step.rows);
    steps.onStep({ index: step.index, outputs }, nowNs);
  }
}

const NONE: readonly never[] = [];
