/** How much may wait and run at once. */
import {
  checkedOptions,
  type Checks,
  positive,
  positiveInteger,
} from "../../base/checked_options.ts";

/** Limits of {@linkcode CostAdmission}. */
export interface AdmissionLimits {
  /**
   * Milliseconds from arrival within which requests are to be done: one that is not expected to be is refused when it
   * comes. One that was admitted and turns out late is finished all the same, unless its caller has set a deadline.
   * Default Infinity.
   */
  readonly sloMs: number;
  /** Work in the system, waiting and running, in milliseconds of one worker's time. Default 30,000. */
  readonly queueCostMs: number;
  /** Requests that may wait, whatever they cost; nobody knows what before the first ones have run. Default 10,000. */
  readonly queueMax: number;
  /**
   * Requests that the engine has at once: enough to fill batches, and the next ones, from; what is beyond that waits
   * where priorities are heeded. Default 128.
   */
  readonly runningMax: number;
  /**
   * Triton's `priority_levels`. With several, what a request would be refused for is known only when its body has been
   * read. Default 1: priorities make no difference.
   */
  readonly priorityLevels: number;
  /** Triton's `default_priority_level`: of requests that say 0, nothing, or no level. Default: the middle. */
  readonly priorityDefault: number;
  /** Workers, as far as known: how fast work goes away before it has been seen. Default 1. */
  readonly workers: number;
}

const DEFAULTS: AdmissionLimits = {
  sloMs: Infinity,
  queueCostMs: 30_000,
  queueMax: 10_000,
  runningMax: 128,
  priorityLevels: 1,
  priorityDefault: 1,
  workers: 1,
};

const CHECKS: Checks<AdmissionLimits> = {
  sloMs: positive,
  queueCostMs: positive,
  queueMax: positiveInteger,
  runningMax: positiveInteger,
  priorityLevels: positiveInteger,
  priorityDefault: positiveInteger,
  workers: positiveInteger,
};

/** @throws TypeError or RangeError on a limit that is none */
export function admissionLimits(
  given: Partial<AdmissionLimits>,
): AdmissionLimits {
  const checked = checkedOptions(
    "admission",
    given,
    CHECKS as Checks<Partial<AdmissionLimits>>,
  );
  const said = Object.entries(checked).filter(([, value]) =>
    value !== undefined
  );
  const limits: AdmissionLimits = { ...DEFAULTS, ...Object.fromEntries(said) };
  const { priorityLevels } = limits;
  const middle = Math.ceil(priorityLevels / 2);
  const { priorityDefault = middle } = checked;
  if (priorityDefault > priorityLevels) {
    throw new RangeError(
      `"priorityDefault" is one of ${priorityLevels} levels, got ${priorityDefault}`,
    );
  }
  return { ...limits, priorityDefault };
}
