/** What commands on ONNX files have in common: the file, sizes that it leaves open, how large cells are. */
import { describe } from "../base/describe.ts";
import type { GivenConstants } from "../onnx/given_constants.ts";
import { loadOnnx } from "../onnx/load.ts";
import type { ModelOptions, OnnxCellModel } from "../onnx/model.ts";
import type { OptionWords } from "../onnx/option_words.ts";
import { OptionError } from "../onnx/place.ts";
import type { GivenSizes } from "../onnx/sizes.ts";
import { reasonOf } from "./files.ts";
import { integerOf, see } from "./options.ts";
import { UsageError } from "./terminal.ts";

/** Options of such a command. */
export const ONNX_OPTIONS = {
  size: { type: "string", multiple: true },
  "size-max": { type: "string", multiple: true },
  shape: { type: "string", multiple: true },
  constant: { type: "string", multiple: true },
  cells: { type: "string" },
} as const;

/** Their names. */
export const FILE_OPTIONS = Object.keys(ONNX_OPTIONS) as readonly (
  keyof typeof ONNX_OPTIONS
)[];

/** Lines of help about them. */
export const ONNX_HELP =
  `  --size NAME=N     size of an axis that the file calls NAME; a batch axis in front is 1
  --size-max NAME=N most of an axis that stays free, as that of a sequence: requests have any size of it up to N
  --shape NAME=1,N  sizes of all axes of input NAME, where the file leaves some open
  --constant NAME=N,N  what input NAME is in every request: a number, or one for each element; requests leave it out
  --cells SIZE      "layer", "model", or least multiply-accumulates of a cell (default: worth a launch)`;

const SIZE_MAX = 2 ** 30;

/** How options are written where somebody gives them. */
export interface Writing {
  /** An option's name. */
  name(option: string): string;
  /** The whole of it. */
  pair(option: string, name: string, value: string): string;
}

/** On a command line. */
const AS_OPTIONS: Writing = {
  name: (option) => `--${option}`,
  pair: (option, name, value) => `--${option} ${word(name)}=${value}`,
};

/** In a configuration: keys with lists of NAME=VALUE. */
export const AS_KEYS: Writing = {
  name: (option) =>
    JSON.stringify(
      option.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
    ),
  pair: (option, name, value) =>
    `${AS_KEYS.name(option)}: [${JSON.stringify(`${name}=${value}`)}]`,
};

/** The two sides of NAME=VALUE; names may have "=" in them. @throws UsageError */
export function sidesOf(
  option: string,
  text: string,
  writing = AS_OPTIONS,
): [string, string] {
  const at = text.lastIndexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new UsageError(
    `${writing.name(option)} is NAME=VALUE, got ${describe(text)}`,
  );
}

/** What these options came to. */
export interface FileOptions {
  readonly size?: readonly string[];
  readonly "size-max"?: readonly string[];
  readonly shape?: readonly string[];
  readonly constant?: readonly string[];
  readonly cells?: string;
}

/**
 * Loads a file.
 * @param source the path that a command is given, or what such a file would have
 * @throws UsageError saying what is wrong with it or with an option
 */
export async function loadFile(
  command: string,
  source: string | Uint8Array | undefined,
  given: FileOptions,
  writing = AS_OPTIONS,
): Promise<OnnxCellModel> {
  const { cells } = given;
  const options: ModelOptions = {
    ...givenOf(given, writing),
    ...(cells !== undefined && {
      cells: cells === "layer" || cells === "model"
        ? cells
        : integerOf(writing.name("cells"), cells, {
          max: Number.MAX_SAFE_INTEGER,
        }),
    }),
  };
  return await loading(
    command,
    source,
    (source) => loadOnnx(source, options),
    writing,
  );
}

/** What is said where no file is named. */
export function missingModel(command: string): UsageError {
  return new UsageError(`MODEL.onnx is missing${see(command)}`);
}

/**
 * Loads the file that a command names.
 * @throws UsageError saying what is wrong with it or with an option
 */
export async function loading<Loaded>(
  command: string,
  source: string | Uint8Array | undefined,
  load: (source: string | Uint8Array) => Promise<Loaded>,
  writing = AS_OPTIONS,
): Promise<Loaded> {
  if (source === undefined) throw missingModel(command);
  try {
    return await load(source);
  } catch (error) {
    if (error instanceof OptionError) {
      throw new UsageError(error.inWords(wordsOf(writing)));
    }
    if (error instanceof RangeError) throw new UsageError(error.message);
    const { code } = error as { code?: string };
    if (code === undefined) throw error;
    throw new UsageError(`Cannot read ${describe(source)}: ${reasonOf(error)}`);
  }
}

/** How the options above, and those of decoders, are written. */
function wordsOf({ name, pair }: Writing): OptionWords {
  return {
    sizes: (axis) => pair("size", axis, "N"),
    sizesMax: (axis) => pair("size-max", axis, "N"),
    shapes: (input) => pair("shape", input, "N,N"),
    constants: (inputs) => `one of ${inputs.map(word).join(", ")}`,
    named: (option) => `${name(option)} NAME`,
    states: () => `${name("state")} IN=OUT`,
    positionsMax: (most) => `${name("positions-max")} ${most ?? "N"}`,
  };
}

/** As a shell takes it for one word. */
function word(name: string): string {
  return /^[\w./:@+-]+$/.test(name)
    ? name
    : `'${name.replaceAll("'", String.raw`'\''`)}'`;
}

/** What a file leaves open, as these options give it. @throws UsageError */
export function givenOf(
  { size = [], "size-max": sizeMax = [], shape = [], constant }: FileOptions,
  writing = AS_OPTIONS,
): GivenSizes & { readonly constants?: GivenConstants } {
  return {
    sizes: sizesOf("size", size, writing),
    sizesMax: sizesOf("size-max", sizeMax, writing),
    shapes: byName(
      "shape",
      shape,
      writing,
      (name, value) =>
        value.split(",").map((size) =>
          sizeOf(`each of ${writing.name("shape")} ${name}`, size)
        ),
    ),
    ...constantsOf(constant, writing),
  };
}

/** What an option NAME=VALUE gives, by name. @throws UsageError on a name that is given twice */
function byName<Value>(
  option: string,
  given: readonly string[],
  writing: Writing,
  read: (name: string, value: string) => Value,
): Record<string, Value> {
  const pairs = given.map((text) => sidesOf(option, text, writing));
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) {
    throw new UsageError(`${writing.name(option)} ${twice} is given twice`);
  }
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, read(name, value)]),
  );
}

const sizeOf = (what: string, text: string) =>
  integerOf(what, text, { min: 1, max: SIZE_MAX });

/** Inputs that are the same in every request, of options NAME=N,N. @throws UsageError */
function constantsOf(
  given: readonly string[] | undefined,
  writing: Writing,
): { constants?: GivenConstants } {
  if (given === undefined || given.length === 0) return {};
  const constants = byName("constant", given, writing, (name, value) => {
    const numbers = value.split(",").map((text) =>
      numberOf(`${writing.name("constant")} ${name}`, text)
    );
    return numbers.length === 1 ? numbers[0] : numbers;
  });
  return { constants: new Map(Object.entries(constants)) };
}

function numberOf(what: string, text: string): number | boolean {
  if (text === "true" || text === "false") return text === "true";
  const value = text.trim() === "" ? NaN : Number(text);
  if (Number.isFinite(value)) return value;
  throw new UsageError(
    `each of ${what} is a number, true or false, got ${describe(text)}`,
  );
}

/** Sizes by name, of an option NAME=N. @throws UsageError */
function sizesOf(
  option: string,
  given: readonly string[],
  writing: Writing,
): Record<string, number> {
  return byName(
    option,
    given,
    writing,
    (name, value) => sizeOf(`${writing.name(option)} ${name}`, value),
  );
}
