/** README's blocks of code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./stranger.ts";

export interface Block {
  readonly language: string;
  /** What follows the language: the name of a file, or of what has this output. */
  readonly title: string;
  readonly text: string;
}

/** The blocks of a text of the checkout, in order. */
export function blocksOf(path: string): Block[] {
  const text = readFileSync(join(ROOT, path), "utf8");
  return [...text.matchAll(/^```(\S+)(.*)\n([\s\S]*?)^```$/gm)].map(
    ([, language, title, text]) => ({
      language: language,
      title: title.trim(),
      text: text,
    }),
  );
}

/** The commands of a block, without their comments. */
export function commandsOf({ text }: Block): string[] {
  return text.trim().split("\n").map((line) => line.replace(/\s+# .*$/, ""));
}
