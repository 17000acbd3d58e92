import type { PlainTensor, PlainType } from "../tensor/plain_tensor.ts";
import type { InferredValues } from "./shapes/infer_graph.ts";
import { sizesAt } from "./shapes/value.ts";

/** What is known of a value when a request's sizes are: everything but, as a rule, its elements. */
export interface KnownValue {
  readonly type: PlainType;
  readonly dims: readonly number[];
  /** The value itself, where it is the same for every request. */
  readonly constant?: PlainTensor;
}

/**
 * Values of which type and sizes are known, by name.
 * @param sizes of symbols
 */
export function knownValues(
  values: InferredValues,
  sizes: ReadonlyMap<string, number> = new Map(),
): Map<string, KnownValue> {
  const known = new Map<string, KnownValue>();
  for (const [value, inferred] of values) {
    const { type, constant } = inferred;
    const dims = sizesAt(inferred, sizes);
    if (type === null || dims === undefined) continue;
    known.set(value, { type, dims, ...(constant && { constant }) });
  }
  return known;
}
