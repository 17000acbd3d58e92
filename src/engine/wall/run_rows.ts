/**
 * A request of several rows as a request for each: they are batched like those of anybody else, under every policy, and
 * have the same bits.
 */
import { checkedOptions } from "../../base/checked_options.ts";
import { describe, isList } from "../../base/describe.ts";
import { refusePromise } from "../../base/refuse_promise.ts";
import type { Model } from "../../graph/model.ts";
import type { OutputTypes, Result } from "../../graph/result.ts";
import type { Tensor, TensorData } from "../../tensor/tensor.ts";
import type { RunResult } from "./run_result.ts";
import { REQUEST_CHECKS, type RequestOptions } from "./request_options.ts";
import type { Timing } from "./timing.ts";
import { watchSignal } from "./watch_signal.ts";

type Row = Record<string, Tensor<TensorData>>;

/** Batches of a request that are told of. */
const BATCHES_MAX = 1024;

/**
 * Runs an input as it is, or its rows. One that fails ends the others.
 * @param runOne runs a request of one row; the policy sees what is run before it at the same time
 */
export function runRows<Input, Outputs extends OutputTypes>(
  model: Model<Input, Outputs>,
  input: Input,
  options: RequestOptions,
  runOne: (row: Input, options: RequestOptions) => Promise<RunResult<Outputs>>,
): Promise<RunResult<Outputs>> {
  // Whether it is a model, the engine finds out.
  const rows = (model as typeof model | undefined)?.rows;
  if (rows === undefined) return runOne(input, options);
  let split: readonly unknown[] | undefined;
  try {
    split = rows.split(input);
    refusePromise(split, "rows.split", "model", model.name);
    if (split !== undefined) checkSplit(model.name, split);
  } catch (error) {
    return Promise.reject(error);
  }
  return split === undefined
    ? runOne(input, options)
    // Each is checked when it is run.
    : together(split as readonly Input[], model, options, runOne);
}

/** Without rows nothing would look at the model and the options, and nothing would have a time. */
function checkSplit(name: string, split: readonly unknown[]): void {
  if (isList(split) && split.length > 0) return;
  throw new RangeError(
    `A request to "${name}" is a list of rows, at least one, got ${
      describe(split)
    } of "rows.split"`,
  );
}

async function together<Input, Outputs extends OutputTypes>(
  split: readonly Input[],
  { name, rows }: Model<Input, Outputs>,
  options: RequestOptions,
  runOne: (row: Input, options: RequestOptions) => Promise<RunResult<Outputs>>,
): Promise<RunResult<Outputs>> {
  const others = new AbortController();
  const { signal, ...shared } = checkedOptions(
    "run()",
    options,
    REQUEST_CHECKS,
  );
  const unwatch = signal &&
    watchSignal(signal, (reason) => others.abort(reason));
  try {
    const results = await Promise.all(
      split.map((row) => runOne(row, { ...shared, signal: others.signal })),
    );
    const outputs: unknown = rows!.join(
      results.map(({ outputs }) => outputs as Row),
    );
    refusePromise(outputs, "rows.join", "model", name);
    return {
      // Of what names and types they are, the model says.
      outputs: outputs as Result<Outputs>,
      timing: timingOfAll(results.map(({ timing }) => timing)),
    };
  } catch (error) {
    others.abort(error);
    throw error;
  } finally {
    unwatch?.();
  }
}

/** From the first row's start to the last one's end. */
function timingOfAll(timings: readonly Timing[]): Timing {
  // In a loop: there may be more rows than a call has arguments.
  let queuedMs = Infinity;
  let endMs = 0;
  for (const timing of timings) {
    queuedMs = Math.min(queuedMs, timing.queuedMs);
    endMs = Math.max(endMs, timing.queuedMs + timing.ranMs);
  }
  const batches = timings.flatMap(({ batches }) => batches ?? [])
    .sort((a, b) => a.startedMs + a.ranMs - b.startedMs - b.ranMs);
  const isTold = timings.some(({ batches }) => batches !== undefined);
  return {
    queuedMs,
    ranMs: endMs - queuedMs,
    ...(isTold && {
      batches: batches.slice(0, BATCHES_MAX),
      batchCount: timings.reduce(
        (sum, { batchCount = 0 }) => sum + batchCount,
        0,
      ),
    }),
  };
}
