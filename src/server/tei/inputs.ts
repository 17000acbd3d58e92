/**
 * What Text Embeddings Inference takes as inputs (its router, `http/types.rs`, 1.9.3). Several forms share a field; a
 * list is taken for what its first element says.
 */
import { isList } from "../../base/describe.ts";
import {
  FieldError,
  integer,
  invalid,
  list,
  type Read,
  text,
} from "../wire/fields.ts";

/** A text, or its token ids. */
export type TextInput = string | readonly number[];

/** A text, or two that belong together. */
export type TextOrPair = readonly [string] | readonly [string, string];

/** One input, or several; the answer has the same form. */
export interface Inputs<Input> {
  readonly isBatch: boolean;
  readonly inputs: readonly Input[];
}

/** The batch has nothing in it: an error of its own. */
export class EmptyError extends Error {
  override readonly name = "EmptyError";
}

/** The batch is larger than one client may ask for at once. */
export class BatchSizeError extends Error {
  override readonly name = "BatchSizeError";
}

const tokens = list(integer(0, 2 ** 31 - 1));

const textOrIds: Read<TextInput> = (value) =>
  typeof value === "string" ? value : tokens(value);

/** A text, texts, token ids, or lists of those. */
export const textInputs: Read<Inputs<TextInput>> = (value) => {
  if (typeof value === "string") return { isBatch: false, inputs: [value] };
  if (!isList(value)) {
    throw invalid("a string, or an array of strings or token ids", value);
  }
  if (typeof value[0] === "number") {
    return { isBatch: false, inputs: [tokens(value)] };
  }
  return { isBatch: true, inputs: list(textOrIds)(value) };
};

/** A text or texts. */
export const texts: Read<Inputs<string>> = (value) =>
  typeof value === "string"
    ? { isBatch: false, inputs: [value] }
    : { isBatch: true, inputs: list(text)(value) };

/** Token ids, or lists of them. */
export const idLists: Read<Inputs<readonly number[]>> = (value) => {
  if (!isList(value)) throw invalid("an array of token ids", value);
  return typeof value[0] === "number"
    ? { isBatch: false, inputs: [tokens(value)] }
    : { isBatch: true, inputs: list(tokens)(value) };
};

const textOrPair: Read<TextOrPair> = (value) =>
  list(text, 1, 2)(value) as unknown as TextOrPair;

/** "a", ["a"] or ["a", "b"] (a pair), [["a"], ["a", "b"]] (a batch). */
export const textsOrPairs: Read<Inputs<TextOrPair>> = (value) => {
  if (typeof value === "string") return { isBatch: false, inputs: [[value]] };
  if (!isList(value)) {
    throw invalid("a string, a pair of strings, or an array of those", value);
  }
  return typeof value[0] === "string"
    ? { isBatch: false, inputs: [textOrPair(value)] }
    : { isBatch: true, inputs: list(textOrPair)(value) };
};

/**
 * @param field what the inputs are called
 * @throws EmptyError, BatchSizeError or FieldError
 */
export function checkBatch(
  field: string,
  inputs: readonly (string | readonly (string | number)[])[],
  batchSizeMax: number,
): void {
  if (inputs.length === 0) throw new EmptyError(`"${field}" is empty`);
  if (inputs.length > batchSizeMax) {
    throw new BatchSizeError(
      `"${field}" has ${inputs.length} elements; a request may have ${batchSizeMax}`,
    );
  }
  const empty = inputs.findIndex((input) =>
    input.length === 0 ||
    typeof input !== "string" && input.some((part) => part === "")
  );
  if (empty < 0) return;
  throw new FieldError("is empty", "invalid", `${field}[${empty}]`);
}
