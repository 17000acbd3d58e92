import type { Dtype } from "../../tensor/tensor.ts";
import { type Datatype, DATATYPE_OF } from "../host/datatypes.ts";
import type { ServedOptions } from "./served_options.ts";

const FLOATS: readonly Datatype[] = ["FP16", "BF16", "FP32", "FP64"];

/**
 * The type on the wire of an input or output.
 * @throws RangeError when it is to be one that elements of the model's type cannot be written as
 */
export function wireType(
  name: string,
  dtype: Dtype,
  { datatypes = {} }: ServedOptions,
): Datatype {
  const own = DATATYPE_OF[dtype];
  const asked = Object.hasOwn(datatypes, name) ? datatypes[name] : own;
  if (asked === own || own === "FP32" && FLOATS.includes(asked)) return asked;
  throw new RangeError(`"${name}" is ${own}, and cannot be ${asked}`);
}

/** @throws RangeError when types are given of what is neither an input nor an output */
export function checkDatatypes(
  { name, datatypes = {} }: ServedOptions,
  names: readonly string[],
): void {
  for (const given of Object.keys(datatypes)) {
    if (names.includes(given)) continue;
    throw new RangeError(
      `Model "${name}" has no input or output "${given}"; it has ${
        names.join(", ")
      }`,
    );
  }
}
