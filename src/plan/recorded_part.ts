/** A part of a trace, to be replayed at any speed. */
import { NS_PER_S } from "../base/units.ts";
import type { Prng } from "../base/prng.ts";
import type { Submission } from "../engine/core/engine_options.ts";
import type { Model } from "../graph/model.ts";
import type {
  GeneratedInput,
  InputGenerator,
} from "../workload/input_generator.ts";

/** Requests as they were recorded, with inputs that are the same at every speed. */
export interface RecordedPart {
  /** From the first of the part, ascending. */
  readonly seconds: readonly number[];
  readonly inputs: readonly GeneratedInput[];
  /** Mean rate of the whole that it is a part of: two parts at one rate are at one speed. */
  readonly recordedPerS: number;
  /** Requests that the trace has for each part, taken or not. */
  readonly available: number;
}

/**
 * Two parts of a trace, one behind the other: a plan is made with the first and judged on the second.
 * @param seconds of the whole trace, ascending from 0
 * @param requests of each part, at most
 * @throws RangeError when there are too few, or all arrive at one time
 */
export function partsOf(
  seconds: readonly number[],
  requests: number,
  inputs: InputGenerator,
  prng: Prng,
): { made: RecordedPart; heldBack: RecordedPart } {
  const available = Math.floor(seconds.length / 2);
  const count = Math.min(requests, available);
  const recordedPerS = (2 * count - 1) / (seconds[2 * count - 1] - seconds[0]);
  if (count < 100 || !(recordedPerS > 0 && recordedPerS < Infinity)) {
    throw new RangeError(
      `a plan needs a trace of 200 requests or more that do not come at one time, got ${seconds.length}`,
    );
  }
  const part = (from: number, name: string): RecordedPart => {
    const stream = prng.fork(name);
    const own = seconds.slice(from, from + count);
    return {
      seconds: own.map((at) => at - own[0]),
      inputs: own.map(() => inputs.next(stream)),
      recordedPerS,
      available,
    };
  };
  return { made: part(0, "made"), heldBack: part(count, "held back") };
}

/** A part's requests at a rate: that of the whole trace, at the speed that they are replayed at. */
export function arrivalsAt(
  { seconds, inputs, recordedPerS }: RecordedPart,
  model: Model,
  ratePerS: number,
): Submission[] {
  const nsPerSecond = NS_PER_S * recordedPerS / ratePerS;
  return seconds.map((at, i) => ({
    model,
    input: inputs[i].input,
    arrivalNs: Math.round(at * nsPerSecond),
    ...(inputs[i].stepsFixed !== undefined &&
      { stepsFixed: inputs[i].stepsFixed }),
  }));
}
