import {
  type Check,
  checkedOptions,
  type Checks,
  ofType,
  oneOf,
} from "../../base/checked_options.ts";
import type { Datatype } from "../host/datatypes.ts";
import type { ServedKind } from "../host/served_model.ts";

/** How a model is served. */
export interface ServedOptions {
  /** What requests call it. */
  readonly name: string;
  /** Default "1". */
  readonly version?: string;
  /** What it is for; default: what can be seen of it. */
  readonly kind?: ServedKind;
  /** `<project>_<format>`; default: where the model came from. */
  readonly platform?: string;
  /**
   * Other types on the wire, by name of an input or output: half, bfloat16 or double precision where the model has
   * single.
   */
  readonly datatypes?: Readonly<Record<string, Datatype>>;
  /** Told on request, in snake_case. */
  readonly config?: Readonly<Record<string, unknown>>;
}

const KINDS: Readonly<Record<ServedKind, true>> = {
  tensors: true,
  stream: true,
  embedding: true,
  classifier: true,
  reranker: true,
  decoder: true,
};

/** @throws RangeError on what models are not for */
export const servedKind: Check = oneOf(Object.keys(KINDS));

const CHECKS: Checks<ServedOptions> = {
  name: ofType("string"),
  version: ofType("string"),
  kind: servedKind,
  platform: ofType("string"),
  datatypes: ofType("object"),
  config: ofType("object"),
};

/** A copy of options that are checked. @throws TypeError or RangeError on one that there is not, or that cannot be */
export function servedOptions(given: ServedOptions): ServedOptions {
  return checkedOptions("a served model", given, CHECKS, ["name"]);
}
