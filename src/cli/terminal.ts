/** What the commands share on the terminal: results on stdout, progress and errors on stderr. */
import process from "node:process";
import { wantsColor } from "../report/table.ts";

/** A mistake of the caller's: printed without a stack, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

export function print(text: string): void {
  process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** A line of progress. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Whether results may be coloured: a terminal, and NO_COLOR not set. */
export function stdoutColor(): boolean {
  return wantsColor(process.env, process.stdout.isTTY === true);
}

/** @throws UsageError unless the text is a positive integer */
export function integerOption(
  name: string,
  text: string | undefined,
  otherwise: number,
): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0 || text.trim() === "") {
    throw new UsageError(`--${name} is a non-negative integer, got "${text}"`);
  }
  return value;
}

/**
 * A comma-separated choice of names.
 * @throws UsageError naming the one that does not exist
 */
export function namesOption(
  name: string,
  text: string | undefined,
  known: readonly string[],
): string[] {
  if (text === undefined || text === "all") return [...known];
  const chosen = text.split(",").map((part) => part.trim());
  for (const part of chosen) {
    if (!known.includes(part)) {
      throw new UsageError(
        `--${name} "${part}" does not exist; there are ${known.join(", ")}`,
      );
    }
  }
  return chosen;
}
