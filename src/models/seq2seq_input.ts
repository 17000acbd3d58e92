/** What sequence to sequence models share: their requests, and the ids that start and end decoding. */
import { describe } from "../base/describe.ts";
import { RequestFieldError } from "../base/request_field_error.ts";
import { checkKeys, checkObject, readTokens } from "./checks.ts";

/** What a request to `seq2seq`, `gnmt`, `transformer` or `gpt` brings. */
export interface Seq2SeqInput {
  /** Ids of the source or prompt, 1 to `tokensMax` of the model, in an array or an Int32Array. */
  readonly tokens: ArrayLike<number>;
  /**
   * Most decoder steps; default: source length + the model's `extraSteps`, up to its `stepsMax`, or of `gpt` the
   * positions that the prompt leaves.
   */
  readonly maxSteps?: number;
}

/** Where the limit of steps comes from that stand in one row with the prompt. */
export const BEHIND_PROMPT =
  `what the prompt leaves of the model's option "positionsMax"`;

/** Limits of a model on its requests. */
export interface Seq2SeqLimits {
  /** Token ids of the source are below this. */
  readonly vocabulary: number;
  /** Most tokens of a source. */
  readonly tokensMax: number;
  /** Decoder steps beyond the source length, where a request names no limit. */
  readonly extraSteps: number;
  /** Most decoder steps. */
  readonly stepsMax: number;
}

/**
 * A request's source, and its limit of decoder steps; read in `check`, and again in `unfold` (see readTokens).
 * @throws TypeError or RangeError naming the offending value
 */
export function readSeq2Seq(
  model: string,
  input: unknown,
  { vocabulary, tokensMax, extraSteps, stepsMax }: Seq2SeqLimits,
): { tokens: Int32Array; steps: number } {
  checkObject(model, input);
  checkKeys(model, input, ["tokens", "maxSteps"]);
  const tokens = readTokens(model, input["tokens"], vocabulary, tokensMax);
  const steps = readMaxSteps(model, input["maxSteps"], {
    steps: tokens.length + extraSteps,
    stepsMax,
  });
  return { tokens, steps };
}

/**
 * A request's limit of decoder steps.
 * @param limits what it is where a request names none, up to `stepsMax`, and where that comes from
 * @throws RangeError unless it is a positive integer up to `stepsMax`
 */
export function readMaxSteps(
  model: string,
  maxSteps: unknown,
  { steps, stepsMax, from = `the model's option "stepsMax"` }: {
    readonly steps: number;
    readonly stepsMax: number;
    readonly from?: string;
  },
): number {
  if (maxSteps === undefined) return Math.min(steps, stepsMax);
  const given = maxSteps as number;
  if (!Number.isInteger(maxSteps) || given < 1 || given > stepsMax) {
    throw new RequestFieldError(
      "maxSteps",
      `of a request to "${model}" is a positive integer up to ${stepsMax} ` +
        `(${from}), got ${describe(maxSteps)}`,
    );
  }
  return given;
}

/** @throws RangeError unless `go` and `eos` are ids of the target vocabulary; null for eos is none */
export function checkEnds(
  model: string,
  ends: { readonly go: number; readonly eos: number | null },
  vocabulary: number,
): void {
  for (const [option, id] of Object.entries(ends)) {
    if (id === null && option === "eos") continue;
    if (!(Number.isInteger(id) && id! >= 0 && id! < vocabulary)) {
      throw new RangeError(
        `"${option}" of model "${model}" is an id below ${vocabulary}, got ${
          describe(id)
        }`,
      );
    }
  }
}
