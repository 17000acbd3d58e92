/**
 * What a kernel's arguments mean, as data: checks are derived from it (check_call.ts), and so
 * are calls by name (kernel_host.ts). One signature per kernel, in signatures/.
 */

import type { KernelExports } from "../module/exports.ts";

/** Exports that only answer questions. */
export type Questions = Pick<
  KernelExports,
  | "shoal_abi_version"
  | "shoal_static_end"
  | "shoal_variants"
  | "shoal_scratch_bytes"
  | "conv_scratch_bytes"
  | "attention_scratch_bytes"
>;

/** Names of the kernels proper. */
export type KernelName = Exclude<
  keyof KernelExports,
  keyof Questions | "shoal_use_scratch"
>;

/** Signatures of some kernels. */
export type Signatures<Names extends KernelName> = Readonly<
  Record<Names, Signature>
>;

/** Arguments that are plain numbers, by name, and the fields of an image shape. */
export type Sizes = Readonly<Record<string, number>>;

/** A number that follows from sizes, or from what the module says of them. */
export type FromSizes = (sizes: Sizes, kernels: Questions) => number;

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
  width: FromSizes;
  /** Row i has `width` elements for element i of this array, a size named `each` there. */
  each?: string;
  /** Rows; m if absent. */
  count?: FromSizes;
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
  length: FromSizes;
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
  count: FromSizes;
  width: FromSizes;
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

/** Arguments in the export's order. */
export type Signature = readonly Parameter[];

/** Rows of the batch. */
export const m: SizeParameter = { kind: "size", name: "m", least: 0 };

/** An integer of at least `least`. */
export function size(
  name: string,
  least = 1,
  more: { most?: number; multipleOf?: number } = {},
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
export function flag(
  name: string,
): ChoiceParameter {
  return choice(name, { no: 0, yes: 1 });
}

/** A float; above 0 if `positive`. */
export function float(
  name: string,
  positive = false,
): FloatParameter {
  return { kind: "float", name, positive };
}

/** How a row or array operand differs from the plain case. */
type RowsMore = Partial<
  Pick<
    RowsParameter,
    "count" | "when" | "over" | "repeats" | "type" | "each"
  >
>;

/** Rows that are read. */
export function rowsIn(
  name: string,
  width: FromSizes,
  more: RowsMore = {},
): RowsParameter {
  return { kind: "rows", name, type: "f32", access: "in", width, ...more };
}

/** Rows that are read, or 0. */
export function maybeRowsIn(
  name: string,
  width: FromSizes,
  more: RowsMore = {},
): RowsParameter {
  return { ...rowsIn(name, width, more), optional: true };
}

/** Rows that are written. */
export function rowsOut(
  name: string,
  width: FromSizes,
  more: RowsMore = {},
): RowsParameter {
  return { kind: "rows", name, type: "f32", access: "out", width, ...more };
}

/** Rows that are written, or 0. */
export function maybeRowsOut(
  name: string,
  width: FromSizes,
  more: RowsMore = {},
): RowsParameter {
  return { ...rowsOut(name, width, more), optional: true };
}

type ArrayMore = Partial<
  Pick<
    ArrayParameter,
    "type" | "access" | "alignment" | "below" | "from" | "greatest"
  >
>;

/** An array of f32 that is read, if nothing else is said. */
export function array(
  name: string,
  length: FromSizes,
  more: ArrayMore = {},
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

/** Packed weights: `words` of 4 bytes, from a packer of src/kernels. */
export function packed(
  name: string,
  words: FromSizes,
  from: string,
  type: "f32" | "i32" = "f32",
): ArrayParameter {
  return array(name, words, { alignment: 16, from, type });
}

/** Bytes of one operand row. */
export function rowBytes(type: OperandType, width: number): number {
  if (type === "byte") return width;
  return type === "q8" ? 16 + Math.ceil(width / 4) * 4 : 4 * width;
}
