/**
 * What a kernel's arguments mean, as data: checks (host/check_call.ts), calls by name
 * (host/kernel_host.ts) and the cutting of calls among threads (team/) follow from it.
 */
import type { KernelExports } from "../module/exports.ts";

/** Name of a kernel: of an export that computes, and does not only speak of the module. */
export type KernelName = Exclude<
  keyof KernelExports,
  `shoal_${string}` | `${string}_scratch_bytes`
>;

/** Exports that only answer questions. */
export type Questions = Omit<KernelExports, KernelName | "shoal_use_scratch">;

/**
 * Integers of a call by name: its sizes and choices, the fields and address of its image shape, the
 * greatest element of an array that has a name for it. spec_test.ts sees to it that a kernel's spec
 * asks for no others.
 */
export type Sizes = Readonly<Record<string, number>>;

/**
 * A number that follows from sizes, or from what the module says of them; for a row of a table whose
 * rows are of different lengths, from the row's own.
 */
export type FromSizes = (
  sizes: Sizes,
  kernels: Questions,
  own: number,
) => number;

/** A count: a size, a product of sizes and numbers (the leading dimension first), or what follows otherwise. */
export type Count = string | readonly (string | number)[] | FromSizes;

/** What an operand's elements are; `q8` rows have a header and one byte an element. */
export type OperandType = "f32" | "i32" | "q8" | "byte" | "address";

/** An integer. */
export interface SizeParameter {
  kind: "size";
  name: string;
  least: number;
  most?: number;
  multipleOf?: number;
}

/** An integer out of a few, by name. */
export interface ChoiceParameter {
  kind: "choice";
  name: string;
  choices: Readonly<Record<string, number>>;
}

/** A finite f32. */
export interface FloatParameter {
  kind: "float";
  name: string;
  /** 0 and less are refused. */
  positive: boolean;
}

/** A table of row addresses. */
export interface RowsParameter {
  kind: "rows";
  name: string;
  type: OperandType;
  access: "in" | "out";
  /** Elements of a row. */
  width: Count;
  /** Element i of this array is row i's own number that `width` follows from. */
  each?: string;
  /** Rows; m if absent. */
  count?: Count;
  /** A flag: where it is set, `width` and `count` change places. */
  transposed?: string;
  /** Where false, the argument is not looked at. */
  when?: (sizes: Sizes) => boolean;
  /** May be left out: 0. */
  optional?: true;
  /** Rows of these inputs may be output rows, each its own. */
  over?: readonly string[];
  /** The same row may be named more than once although it is written. */
  repeats?: true;
}

/** One array. */
export interface ArrayParameter {
  kind: "array";
  name: string;
  type: OperandType;
  access: "in" | "out" | "scratch";
  /** Elements. */
  length: Count;
  /** The array for the first columns, counted by this size, is the beginning of the array for all. */
  along?: string;
  /** Bytes. */
  alignment: 4 | 16;
  optional?: true;
  /** The greatest element becomes a size of this name, 0 if there is none. */
  greatest?: string;
  /** Elements at `offsets` of every `stride` are indices below `limit`. */
  below?: {
    limit: (sizes: Sizes) => number;
    offsets: readonly number[];
    stride: number;
    /** The limit itself is allowed: a length. */
    inclusive?: true;
  };
  /** Who makes it, for messages. */
  from?: string;
}

/** The 17 words of an image shape; its fields become sizes, and its address. */
export interface ShapeParameter {
  kind: "shape";
  name: string;
  /** Whether channels are split into groups that must divide them. */
  grouped: boolean;
}

/** An array of `count` addresses of row tables. */
export interface TablesParameter {
  kind: "tables";
  name: string;
  /** A size. */
  count: string;
  /** A size: elements of a row. */
  width: string;
}

/** One argument. */
export type Parameter =
  | SizeParameter
  | ChoiceParameter
  | FloatParameter
  | RowsParameter
  | ArrayParameter
  | ShapeParameter
  | TablesParameter;

/** Rows of the batch. */
export const m: SizeParameter = { kind: "size", name: "m", least: 0 };

/** An integer of at least `least`. */
export function size(
  name: string,
  least = 1,
  more: Pick<SizeParameter, "most" | "multipleOf"> = {},
): SizeParameter {
  return { kind: "size", name, least, ...more };
}

/** One of a few integers. */
export function choice(
  name: string,
  choices: Readonly<Record<string, number>>,
): ChoiceParameter {
  return { kind: "choice", name, choices };
}

/** A yes or no. */
export function flag(name: string): ChoiceParameter {
  return choice(name, { no: 0, yes: 1 });
}

/** A float; above 0 if `positive`. */
export function float(name: string, positive = false): FloatParameter {
  return { kind: "float", name, positive };
}

/** How a row operand differs from the plain case. */
type RowsMore = Partial<Omit<RowsParameter, "kind" | "name" | "access">>;

/** Rows of f32 that are read, if nothing else is said. */
export function rowsIn(
  name: string,
  width: Count,
  more: RowsMore = {},
): RowsParameter {
  return { kind: "rows", name, type: "f32", access: "in", width, ...more };
}

/** Rows of f32 that are written, if nothing else is said. */
export function rowsOut(
  name: string,
  width: Count,
  more: RowsMore = {},
): RowsParameter {
  return { ...rowsIn(name, width, more), access: "out" };
}

/** An array of f32 that is read, if nothing else is said. */
export function array(
  name: string,
  length: Count,
  more: Partial<Omit<ArrayParameter, "kind" | "name">> = {},
): ArrayParameter {
  return {
    kind: "array",
    name,
    type: "f32",
    access: "in",
    alignment: 4,
    length,
    ...more,
  };
}

/** Packed weights: `words` of 4 bytes, from a packer of pack/. */
export function packed(
  words: FromSizes,
  from: string,
  more: Pick<Partial<ArrayParameter>, "along" | "type"> = {},
): ArrayParameter {
  return array("w", words, { alignment: 16, from, ...more });
}

/** How many there are. */
export function countOf(
  count: Count,
  sizes: Sizes,
  kernels: Questions,
  own = 0,
): number {
  if (typeof count === "function") return count(sizes, kernels, own);
  const factors = typeof count === "string" ? [count] : count;
  return factors.reduce<number>(
    (product, factor) =>
      product * (typeof factor === "number" ? factor : sizes[factor]),
    1,
  );
}

/** Rows of a table. */
export function rowCount(
  rows: RowsParameter,
  sizes: Sizes,
  kernels: Questions,
): number {
  const { width, count = "m" } = rows;
  return countOf(isTransposed(rows, sizes) ? width : count, sizes, kernels);
}

/** Elements of a row; `own` if rows are of different lengths. */
export function rowWidth(
  rows: RowsParameter,
  sizes: Sizes,
  kernels: Questions,
  own?: number,
): number {
  const { width, count = "m" } = rows;
  const elements = isTransposed(rows, sizes) ? count : width;
  return countOf(elements, sizes, kernels, own);
}

function isTransposed({ transposed }: RowsParameter, sizes: Sizes): boolean {
  return transposed !== undefined && sizes[transposed] !== 0;
}

/** Bytes of one operand row. */
export function rowBytes(type: OperandType, width: number): number {
  if (type === "byte") return width;
  return type === "q8" ? 16 + Math.ceil(width / 4) * 4 : 4 * width;
}
