/** Prompts of models that embed: what stands in front of texts, by name. */
import { describe, listed } from "../base/describe.ts";

/** A model's prompts. */
export interface Prompts {
  /** What stands in front of a text, by name; default: nothing. */
  readonly prompts?: Readonly<Record<string, string>>;
  /** The name of the one in front of texts whose request names none; default: none is. */
  readonly defaultPrompt?: string;
}

/**
 * What stands in front of a text.
 * Source: sentence-transformers, `SentenceTransformer.encode`.
 * @param option what the name is called, for messages
 * @throws RangeError on a name of none
 */
export function promptOf(
  { prompts = {}, defaultPrompt }: Prompts,
  name: string | undefined = defaultPrompt,
  option = "promptName",
): string {
  if (name === undefined) return "";
  if (Object.hasOwn(prompts, name)) return prompts[name];
  const names = Object.keys(prompts);
  throw new RangeError(
    `"${option}" is the name of one of the model's prompts, ${
      names.length === 0 ? "of which it has none" : listed(names)
    }, got ${describe(name)}`,
  );
}
