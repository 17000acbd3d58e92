import type { PlainTensor, PlainType } from "../tensor/plain_tensor.ts";

/** What is known of a value when a request's sizes are: everything but, as a rule, its elements. */
export interface KnownValue {
  readonly type: PlainType;
  readonly dims: readonly number[];
  /** The value itself, where it is the same for every request. */
  readonly constant?: PlainTensor;
}
