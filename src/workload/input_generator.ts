/** What requests bring, whoever makes it: apart from inputs.ts, which has the corpora. */
import type { Prng } from "../base/prng.ts";

/** What a request brings. */
export interface GeneratedInput {
  /** As the model takes it. */
  readonly input: unknown;
  /** Decoder steps after which the request ends; for the engine only, policies never see it. */
  readonly stepsFixed?: number;
}

/** What requests bring. One of your own is an object with these. */
export interface InputGenerator {
  /** Where lengths or shapes come from. */
  readonly name: string;
  /** The next request's, drawn from what it is given alone, so that equal seeds give equal inputs. */
  next(prng: Prng): GeneratedInput;
}
