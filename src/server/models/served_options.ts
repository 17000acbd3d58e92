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
