/** The axis of which every request has its own size: positions of a sequence. */
import { type Dim, isSameDim, symbol, symbolsOf } from "../shapes/dim.ts";
import { type InferredValue, sizesAt } from "../shapes/value.ts";

/** A size that a file names and that stays free. */
export interface FreeAxis {
  /** As the file has it. */
  readonly name: string;
  /** Most that a request has of it. */
  readonly max: number;
}

/** Whether a size is the free one, neither more nor less. */
export function isFree(dim: Dim, { name }: FreeAxis): boolean {
  return isSameDim(dim, symbol(name));
}

/** Whether a size depends on the free one. */
export function dependsOn(dim: Dim, { name }: FreeAxis): boolean {
  return symbolsOf(dim).has(name);
}

/** The one axis that is free, where all others have known sizes; undefined where there is none, or another symbol. */
export function freeAxisOf(
  dims: readonly Dim[] | null | undefined,
  free: FreeAxis,
): number | undefined {
  if (!dims) return undefined;
  const axis = dims.findIndex((dim) => isFree(dim, free));
  const isOnly = dims.every((dim, i) => i === axis || typeof dim === "number");
  return axis >= 0 && isOnly ? axis : undefined;
}

/** Sizes of a value in a request of so many positions; undefined where they depend on more. */
export function sizesOfLength(
  value: InferredValue | undefined,
  { name }: FreeAxis,
  length: number,
): number[] | undefined {
  return value && sizesAt(value, new Map([[name, length]]));
}
