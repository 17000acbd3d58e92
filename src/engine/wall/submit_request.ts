import { checkedOptions } from "../../base/checked_options.ts";
import { plainCopy } from "../../base/plain_copy.ts";
import { msToNs } from "../../base/units.ts";
import type { Model } from "../../graph/model.ts";
import type { OutputTypes, Result } from "../../graph/result.ts";
import type { ActiveRequest } from "../core/active_request.ts";
import type { OnStep } from "../core/step_rows.ts";
import { wallNs } from "./clock.ts";
import {
  NO_OPTIONS,
  REQUEST_CHECKS,
  type RequestOptions,
} from "./request_options.ts";
import type { RunResult } from "./run_result.ts";
import type { StreamHost } from "./stream_session.ts";
import { timingOf } from "./timing.ts";
import { watchSignal } from "./watch_signal.ts";

/** A request on its way. */
export interface SubmittedRequest<Outputs extends OutputTypes> {
  /** See ServingEngine.run. */
  readonly result: Promise<RunResult<Outputs>>;
  /** Ends it, unless it has ended: `result` is rejected with the reason. */
  cancel(reason: unknown): void;
}

/**
 * Gives an engine a request of one row.
 * @param caller what messages call the method that was called
 * @param onStep hears of its steps, and when it was called
 */
export function submitRequest<Input, Outputs extends OutputTypes>(
  host: StreamHost,
  model: Model<Input, Outputs>,
  input: Input,
  options: RequestOptions,
  caller = "run()",
  onStep?: (step: Parameters<OnStep>[0], sinceCallNs: number) => void,
): SubmittedRequest<Outputs> {
  const { core } = host;
  let request: ActiveRequest | undefined;
  let ended: { reason: unknown } | undefined;
  const cancel = (reason: unknown): void => {
    ended ??= { reason };
    host.do(() => {
      if (request === undefined) return;
      core.cancel(request, wallNs(), reason as Error);
      host.turnSoon();
    });
  };
  // What throws in here, the caller's objects included, rejects this promise.
  const result = new Promise<RunResult<Outputs>>((resolve, reject) => {
    const { signal, deadlineMs, finishMs, stepsFixed, ...told } =
      options === NO_OPTIONS
        ? options
        : checkedOptions(caller, options, REQUEST_CHECKS);
    const refusal = host.refusal();
    if (refusal) throw refusal;
    const arrivalNs = wallNs();
    // What is done later may find the caller's arrays changed.
    const given = host.isBusy ? plainCopy(input)?.copy ?? input : input;
    const unwatch = signal && watchSignal(signal, cancel);
    host.do(() => {
      try {
        const failure = host.failure();
        if (failure) throw failure;
        if (ended) throw ended.reason;
        request = core.submit({
          model,
          input: given,
          arrivalNs,
          deadlineNs: arrivalNs + msToNs(deadlineMs ?? Infinity),
          finishNs: arrivalNs + msToNs(finishMs ?? Infinity),
          stepsFixed,
          whenFull: told.whenFull,
          label: told.label,
          logBatches: told.batches,
          onStep: onStep &&
            ((step, endNs) => onStep(step, endNs - arrivalNs)),
          onEnd: ({ outcome, result, error }, endNs) => {
            if (outcome === "done" && request) {
              resolve({
                outputs: result as Result<Outputs>,
                timing: timingOf(request, endNs),
              });
            } else reject(error);
            unwatch?.();
          },
        });
      } catch (error) {
        reject(error);
        unwatch?.();
        return;
      }
      host.turnSoon();
    });
  });
  return { result, cancel };
}
