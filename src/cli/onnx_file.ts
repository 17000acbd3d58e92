/** What commands on ONNX files have in common: the file, sizes that it leaves open, how large cells are. */
import { describe } from "../base/describe.ts";
import type { GivenConstants } from "../onnx/given_constants.ts";
import { loadOnnx } from "../onnx/load.ts";
import type { ModelOptions, OnnxCellModel } from "../onnx/model.ts";
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

/** The two sides of NAME=VALUE; names may have "=" in them. @throws UsageError */
export function sidesOf(option: string, text: string): [string, string] {
  const at = text.lastIndexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new UsageError(`--${option} is NAME=VALUE, got ${describe(text)}`);
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
 * Loads the file that a command names.
 * @throws UsageError saying what is wrong with it or with an option
 */
export async function loadFile(
  command: string,
  path: string | undefined,
  { size = [], "size-max": sizeMax = [], shape = [], constant, cells }:
    FileOptions,
): Promise<OnnxCellModel> {
  const options: ModelOptions = {
    sizes: sizesOf("size", size),
    sizesMax: sizesOf("size-max", sizeMax),
    shapes: Object.fromEntries(shape.map((text) => {
      const [name, value] = sidesOf("shape", text);
      return [
        name,
        value.split(",").map((size) => sizeOf(`each of --shape ${name}`, size)),
      ];
    })),
    ...constantsOf(constant),
    ...(cells !== undefined && {
      cells: cells === "layer" || cells === "model"
        ? cells
        : integerOf("--cells", cells, { max: Number.MAX_SAFE_INTEGER }),
    }),
  };
  return await loading(command, path, (path) => loadOnnx(path, options));
}

/**
 * Loads the file that a command names.
 * @throws UsageError saying what is wrong with it or with an option
 */
export async function loading<Loaded>(
  command: string,
  path: string | undefined,
  load: (path: string) => Promise<Loaded>,
): Promise<Loaded> {
  if (path === undefined) {
    throw new UsageError(`MODEL.onnx is missing${see(command)}`);
  }
  try {
    return await load(path);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    const { code } = error as { code?: string };
    if (code === undefined) throw error;
    throw new UsageError(`Cannot read ${describe(path)}: ${reasonOf(error)}`);
  }
}

const sizeOf = (what: string, text: string) =>
  integerOf(what, text, { min: 1, max: SIZE_MAX });

/** Inputs that are the same in every request, of options NAME=N,N. @throws UsageError */
export function constantsOf(
  given: readonly string[] = [],
): { constants?: GivenConstants } {
  if (given.length === 0) return {};
  return {
    constants: new Map(given.map((text) => {
      const [name, value] = sidesOf("constant", text);
      const numbers = value.split(",").map((text) => numberOf(name, text));
      return [name, numbers.length === 1 ? numbers[0] : numbers];
    })),
  };
}

function numberOf(name: string, text: string): number | boolean {
  if (text === "true" || text === "false") return text === "true";
  const value = text.trim() === "" ? NaN : Number(text);
  if (Number.isFinite(value)) return value;
  throw new UsageError(
    `each of --constant ${name} is a number, true or false, got ${
      describe(text)
    }`,
  );
}

/** Sizes by name, of an option NAME=N. @throws UsageError */
export function sizesOf(
  option: string,
  given: readonly string[],
): Record<string, number> {
  return Object.fromEntries(given.map((text) => {
    const [name, value] = sidesOf(option, text);
    return [name, sizeOf(`--${option} ${name}`, value)];
  }));
}
