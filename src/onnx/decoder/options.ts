/** How a file that is one step of a decoder becomes a model that grows. */
import {
  checkedOptions,
  type Checks,
  integer,
  listOf,
  number,
  ofType,
  positiveInteger,
} from "../../base/checked_options.ts";
import type { DrawOptions } from "../../models/token_draws.ts";
import type { StateNames } from "../stream.ts";

/** What the inputs and outputs of a decoder's step are, and when a request ends. */
export interface DecoderOptions extends DrawOptions {
  /** Input of the token's id; default: "input_ids", or the only input of integers. */
  readonly token?: string;
  /** Output of the scores of all tokens; default: "logits", or the only output that is no state. */
  readonly logits?: string;
  /**
   * Which output each state that goes in comes out as. One that has an axis which the file leaves open, besides that of
   * the batch and that of the tokens, is a cache, which grows along it; others keep their sizes. Default: inputs
   * "past..." and outputs "present..." of the same name, as exporters have them ("past_key_values.0.key" and
   * "present.0.key").
   */
  readonly states?: StateNames;
  /** Input that is 1 for every position so far; default: "attention_mask", where there is one. */
  readonly mask?: string;
  /** Input that is 1 for every position of an encoder; default: "encoder_attention_mask", where there is one. */
  readonly encoderMask?: string;
  /** Input of the token's position, from 0; default: "position_ids" or "cache_position", where there is one. */
  readonly position?: string;
  /** Ids that end a request; default none: only the limit does. */
  readonly stop?: readonly number[];
  /** Ids that are never chosen; default none. */
  readonly banned?: readonly number[];
  /** Most positions of a request, prompt and answer, up to 2^20; default 1024, or as many as the file has. */
  readonly positionsMax?: number;
  /** Most steps of a request that names no limit; default: as many as there are positions. */
  readonly stepsMax?: number;
}

const ID = number(
  "the id of a token",
  (id) => Number.isInteger(id) && id >= 0,
);

/** Positions of a request. */
export const POSITIONS_MAX = 2 ** 20;

const NAME = ofType("string");

const CHECKS: Checks<DecoderOptions> = {
  token: NAME,
  logits: NAME,
  mask: NAME,
  encoderMask: NAME,
  position: NAME,
  states: ofType("object"),
  stop: listOf(ID),
  banned: listOf(ID),
  positionsMax: integer(1, POSITIONS_MAX),
  stepsMax: positiveInteger,
  sample: ofType("boolean"),
  penalties: ofType("boolean"),
  scores: ofType("boolean"),
};

/** @throws TypeError or RangeError naming the option */
export function checkedDecoder(options: DecoderOptions): DecoderOptions {
  return checkedOptions("decoder", options, CHECKS);
}
