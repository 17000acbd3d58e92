/** Options of commands and benchmarks: read, checked, and what every one of them has. */
import { describe } from "../base/describe.ts";
import { msToNs } from "../base/units.ts";
import process from "node:process";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { EXIT, guard, print, reportError, UsageError } from "./terminal.ts";
import { VERSION } from "./version.ts";

/** What every program has. */
const COMMON = {
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const satisfies ParseArgsOptionsConfig;

/** Lines of help about them. */
const COMMON_HELP = `  -h, --help        this text
  --version         the version of Shoal`;

type Values<T extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: T }>
>["values"];

export interface Program<T extends ParseArgsOptionsConfig> {
  /** As it is called: "shoal bench", "bench:scheduler". */
  readonly name: string;
  readonly help: string;
  readonly options: T;
  /** Arguments that are no options; default 0. */
  readonly positionalsMax?: number;
}

export interface Given<T extends ParseArgsOptionsConfig> {
  readonly values: Values<T>;
  readonly positionals: readonly string[];
}

/**
 * Reads a program's arguments.
 * @returns undefined when help or version was asked for, and printed
 * @throws UsageError on an argument that the program does not take
 */
export function readOptions<const T extends ParseArgsOptionsConfig>(
  { name, help, options, positionalsMax = 0 }: Program<T>,
  args: readonly string[],
): Given<T> | undefined {
  const parsed = parsedArgs(name, args, { ...options, ...COMMON });
  const { help: asksHelp, version } = parsed.values;
  if (asksHelp === true) {
    print(`${help.trimEnd()}\n${COMMON_HELP}`);
    return undefined;
  }
  if (version === true) {
    print(`shoal ${VERSION}`);
    return undefined;
  }
  const { positionals } = parsed;
  if (positionals.length > positionalsMax) {
    throw new UsageError(
      `unexpected argument ${describe(positionals[positionalsMax])}${
        see(name)
      }`,
    );
  }
  return { values: parsed.values as Values<T>, positionals };
}

function parsedArgs(
  name: string,
  args: readonly string[],
  options: ParseArgsOptionsConfig,
) {
  try {
    return parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (!code?.startsWith("ERR_PARSE_ARGS")) throw error;
    // The first sentence names the argument; the rest is about "--".
    const [first] = message.split(/\.\s|\n/);
    const [option] = /(?<=use ')-\S+(?=XYZ')/.exec(message) ?? [];
    const cure = option
      ? `: a value with a dash in front is ${option}VALUE`
      : "";
    throw new UsageError(`${first.slice(0, 200)}${cure}${see(name)}`);
  }
}

/** The way to a program's help. */
export function see(name: string): string {
  return `; see ${name} --help`;
}

/**
 * Options of a benchmark that is a script of its own: help, version and mistakes end the process, and so
 * does, with one line, whatever is thrown later on.
 * @param read checks the values and makes settings of them
 */
export function taskSettings<const T extends ParseArgsOptionsConfig, S>(
  program: Program<T>,
  read: (given: Given<T>) => S,
): S {
  guard(program.name);
  try {
    const given = readOptions(program, process.argv.slice(2));
    if (given === undefined) process.exit(EXIT.success);
    return read(given);
  } catch (error) {
    process.exit(reportError(program.name, error));
  }
}

export interface IntegerRange {
  /** Default 0. */
  min?: number;
  max: number;
}

/** @throws UsageError unless the text is an integer in the range */
export function integerOption(
  name: string,
  text: string | undefined,
  otherwise: number,
  { min = 0, max }: IntegerRange,
): number {
  return text === undefined
    ? otherwise
    : integerOf(`--${name}`, text, { min, max });
}

/** @throws UsageError unless the text is an integer in the range */
export function integerOf(
  what: string,
  text: string,
  { min = 0, max }: IntegerRange,
): number {
  const value = text.trim() === "" ? NaN : Number(text);
  if (!(Number.isInteger(value) && value >= min && value <= max)) {
    throw new UsageError(
      `${what} is an integer from ${min} to ${max}, got ${describe(text)}`,
    );
  }
  return value;
}

/** A positive number. @throws UsageError unless the text is one up to a limit */
export function numberOption(
  name: string,
  text: string | undefined,
  otherwise: number,
  max: number,
): number {
  if (text === undefined) return otherwise;
  const value = text.trim() === "" ? NaN : Number(text);
  if (!(value > 0 && value <= max)) {
    throw new UsageError(
      `--${name} is a positive number up to ${max}, got ${describe(text)}`,
    );
  }
  return value;
}

/** A target, which time as integer ns can tell from none. @throws UsageError unless the text is one, in ms */
export function sloNsOption(text: string): number {
  const ns = msToNs(numberOption("slo-ms", text, 0, 1e9));
  if (ns > 0) return ns;
  throw new UsageError(
    `--slo-ms is a nanosecond or more, which is 0.000001, got ${
      describe(text)
    }`,
  );
}

/** A seed, as Prng takes it. */
export function seedOption(text: string | undefined): number {
  const max = Number.MAX_SAFE_INTEGER;
  return integerOption("seed", text, 1, { min: -max, max });
}

/** Comma-separated integers. @throws UsageError naming the one that is not in the range */
export function integersOption(
  name: string,
  text: string,
  range: IntegerRange,
): number[] {
  return text.split(",").map((part) =>
    integerOf(`each of --${name}`, part, range)
  );
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
  for (const part of chosen) oneName(`--${name}`, part, known);
  return [...new Set(chosen)];
}

/** @throws UsageError unless it is one of the names */
export function oneName<T extends string>(
  what: string,
  text: string,
  known: readonly T[],
): T {
  const found = known.find((one) => one === text);
  if (found === undefined) {
    throw new UsageError(
      `${what} ${describe(text)} does not exist; there are ${known.join(", ")}`,
    );
  }
  return found;
}
