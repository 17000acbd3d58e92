/**
 * What the commands and benchmarks share on the terminal: results on stdout, progress and errors on
 * stderr, how a program ends.
 */
import process from "node:process";
import { wantsColor } from "../report/table.ts";
import { isStandardOutput } from "./replace_file.ts";

/** A mistake of the caller's: one line without a stack, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

export const EXIT = { success: 0, failure: 1, usage: 2 } as const;

/** Characters of an error's message that are printed. */
const MESSAGE_MAX = 2000;

/** What terminals obey, but for line breaks, tabs and colours. */
const OBEYED =
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  /(?!\u001b\[[\d;]*m)[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Results, with what terminals obey escaped: a name in a file may have it, whoever wrote that. */
export function print(text: string): void {
  const shown = escaped(text);
  process.stdout.write(shown.endsWith("\n") ? shown : `${shown}\n`);
}

/**
 * Results beside files that are written: on stderr where one of these goes to stdout, so that it is whole there.
 * @param paths of them; undefined: not given
 */
export function printBeside(
  paths: readonly (string | undefined)[],
  text: string,
): void {
  const isTaken = paths.some((path) =>
    path !== undefined && isStandardOutput(path)
  );
  if (isTaken) progress(text.trimEnd());
  else print(text);
}

/** A line of progress, escaped as results are. */
export function progress(text: string): void {
  process.stderr.write(`${escaped(text)}\n`);
}

/** As JSON has such characters. */
function escaped(text: string): string {
  return text.replace(
    OBEYED,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Whether results may be coloured: a terminal, and NO_COLOR not set. */
export function stdoutColor(): boolean {
  return wantsColor(process.env, process.stdout.isTTY === true);
}

/**
 * Says in one line why a program cannot go on; SHOAL_DEBUG adds the stack of a failure that is no mistake
 * of the caller's.
 * @param name of the program, which begins the line
 * @returns the exit code
 */
export function reportError(name: string, error: unknown): number {
  const { message, stack } = asError(error);
  const isUsage = error instanceof UsageError;
  if (isUsage) progress(`${name}: ${oneLine(message)}`);
  else if (process.env["SHOAL_DEBUG"]) progress(`${name}: ${stack ?? message}`);
  else {
    progress(
      `${name}: ${oneLine(message)} (SHOAL_DEBUG=1 shows where)`,
    );
  }
  return isUsage ? EXIT.usage : EXIT.failure;
}

/**
 * Runs a program and ends with its exit code, whatever it throws, then or later. Nobody reading its output
 * any more is no failure.
 */
export async function runProgram(
  name: string,
  run: () => number | Promise<number>,
): Promise<void> {
  guard(name);
  try {
    process.exitCode = await run();
  } catch (error) {
    process.exitCode = reportError(name, error);
  }
}

/** From here on errors that nobody catches end the program with a line instead of a stack. */
export function guard(name: string): void {
  const end = (error: unknown) => process.exit(reportError(name, error));
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
  // That nobody reads on is no failure, of this stream.
  process.stdout.on(
    "error",
    (error: Error & { code?: string }) =>
      error.code === "EPIPE" ? process.exit(EXIT.success) : end(error),
  );
  // There is nowhere left to say anything.
  process.stderr.on("error", () => process.exit(EXIT.failure));
}

/**
 * From here on the program goes on where its output cannot be written, and says so once: a server does not end with who
 * reads its log, nor where its disk is full for a while.
 */
export function outliveReaders(name: string): void {
  let isSaid = false;
  // What `guard` does there would end it.
  process.stdout.removeAllListeners("error").on("error", ({ message }) => {
    if (isSaid) return;
    isSaid = true;
    progress(`${name}: goes on without its output: ${oneLine(message)}`);
  });
  process.stderr.removeAllListeners("error").on("error", () => {});
  if ("Deno" in globalThis) {
    [process.stdout, process.stderr].forEach(tellFaults);
  }
}

/** Deno's streams throw it where a disk is full, and keep whatever is written from then on. */
function tellFaults(output: NodeJS.WriteStream): void {
  const write = output._write.bind(output);
  output._write = (chunk, encoding, done) => {
    try {
      write(chunk, encoding, done);
    } catch (error) {
      done(asError(error));
    }
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Without line breaks and what else terminals obey. */
function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what is taken out
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
  return line.length > MESSAGE_MAX ? `${line.slice(0, MESSAGE_MAX)}…` : line;
}
