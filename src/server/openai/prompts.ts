/** What OpenAI's embeddings and completions take: a text, texts, token ids, or lists of those. */
import { isList } from "../../base/describe.ts";
import {
  FieldError,
  integer,
  invalid,
  list,
  type Read,
  text,
} from "../wire/fields.ts";

/** A text, or what a tokenizer made of one. */
export type Prompt = string | readonly number[];

const EXPECTED =
  "a string, an array of strings, an array of token ids, or an array of those";

const someText: Read<string> = (value) => {
  const some = text(value);
  if (some === "") throw new FieldError("is an empty string", "invalid");
  return some;
};

const tokens = list(integer(0, 2 ** 31 - 1), 1);

/** Whether it is one prompt, not a list of them; what is neither, `prompts` refuses. */
export function isSinglePrompt(value: unknown): boolean {
  return typeof value === "string" ||
    isList(value) && typeof value[0] === "number";
}

/** Up to `most` of them. */
export function prompts(most: number): Read<readonly Prompt[]> {
  const texts = list(someText, 1, most);
  const lists = list(tokens, 1, most);
  return (value) => {
    if (typeof value === "string") return [someText(value)];
    if (!isList(value)) throw invalid(EXPECTED, value);
    // The first one says what all of them are.
    const [first] = value;
    if (typeof first === "number") return [tokens(value)];
    if (isList(first)) return lists(value);
    if (typeof first === "string" || value.length === 0) return texts(value);
    throw invalid(EXPECTED, value);
  };
}
