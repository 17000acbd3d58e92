/** What sequence to sequence models share: their requests, and the ids that start and end decoding. */
import { checkKeys, checkObject, checkTokens, describe } from "./checks.ts";

export interface Seq2SeqInput {
  readonly tokens: ArrayLike<number>;
  /** Most decoder steps; default: source length + the model's `extraSteps`. */
  readonly maxSteps?: number;
}

/** Limits of a model on its requests. */
export interface Seq2SeqLimits {
  /** Token ids of the source are below this. */
  readonly vocabulary: number;
  /** Most tokens of a source; default: any number. */
  readonly tokensMax?: number;
  /** Most decoder steps; default: any number. */
  readonly stepsMax?: number;
}

export function checkSeq2Seq(
  model: string,
  input: unknown,
  { vocabulary, tokensMax = Infinity, stepsMax = Infinity }: Seq2SeqLimits,
): asserts input is Seq2SeqInput {
  checkObject(model, input);
  checkKeys(model, input, ["tokens", "maxSteps"]);
  checkTokens(model, input["tokens"], vocabulary, tokensMax);
  const maxSteps = input["maxSteps"];
  const fits = maxSteps === undefined ||
    Number.isInteger(maxSteps) && (maxSteps as number) >= 1 &&
      (maxSteps as number) <= stepsMax;
  if (!fits) {
    throw new RangeError(
      `"maxSteps" of a request to "${model}" is a positive integer${
        stepsMax < Infinity ? ` up to ${stepsMax}` : ""
      }, got ${describe(maxSteps)}`,
    );
  }
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
