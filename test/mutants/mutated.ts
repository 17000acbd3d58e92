import type { Mutant } from "./mutant.ts";

/**
 * A file's text with the mutant in it.
 * @throws Error unless the text to replace occurs exactly once
 */
export function mutated(
  text: string,
  { file, from, to }: Pick<Mutant, "file" | "from" | "to">,
): string {
  const parts = text.split(from);
  if (from === "" || parts.length !== 2) {
    throw new Error(
      `${JSON.stringify(from)} occurs ${parts.length - 1} times in ${file}`,
    );
  }
  return parts.join(to);
}
