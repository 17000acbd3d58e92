import type { OutputTypes, Result } from "../graph/result.ts";
import type { Timing } from "../engine/wall/timing.ts";
import type { StepResult } from "../engine/wall/step_stream.ts";
import { watchSignal } from "../engine/wall/watch_signal.ts";

/** What every way to run a request takes. */
export interface TextRequestOptions {
  /** Ends the request; its promise is rejected with the signal's reason. */
  signal?: AbortSignal;
}

/** What became of a request of a text. */
export interface TextRun<Outputs extends OutputTypes = OutputTypes> {
  /** The model's results by name. */
  readonly outputs: Result<Outputs>;
  /** How long it queued and ran. */
  readonly timing: Timing;
}

/**
 * Runs a request to a text's model: `(input, options) => engine.run(model, input, options)`, or what a server has in its
 * place.
 * @typeParam Options of a request
 */
export type RunText<Options extends TextRequestOptions = TextRequestOptions> = (
  input: unknown,
  options: Options,
) => Promise<TextRun>;

/** The steps of a request as they are computed; leaving it ends the request. */
export type TextSteps = AsyncIterator<
  Pick<StepResult, "outputs" | "endedMs">,
  TextRun | undefined,
  undefined
>;

/**
 * Begins a request to a decoder: `(input, options) => engine.stream(model, input, options)`, or what a server has in its
 * place.
 * @typeParam Options of a request
 */
export type StreamText<
  Options extends TextRequestOptions = TextRequestOptions,
> = (input: unknown, options: Options) => TextSteps;

/** Runs a request for each text; one that fails ends the others. */
export async function runTexts<Options extends TextRequestOptions>(
  run: RunText<Options>,
  inputs: readonly unknown[],
  options: Options,
): Promise<TextRun[]> {
  const others = new AbortController();
  const { signal } = options;
  const unwatch = signal &&
    watchSignal(signal, (reason) => others.abort(reason));
  try {
    return await Promise.all(
      inputs.map((input) => run(input, { ...options, signal: others.signal })),
    );
  } catch (error) {
    others.abort(error);
    throw error;
  } finally {
    unwatch?.();
  }
}
