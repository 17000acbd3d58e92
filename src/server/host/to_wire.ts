/** Results of the engine as tensors on the wire. */
import { converted } from "./convert.ts";
import type { Result } from "../../graph/result.ts";
import type { TensorSpec, WireTensor } from "./served_model.ts";

/**
 * In the order of the specs, of the types that they have; shapes are the results' own. What a step of a request does not
 * add to is left out.
 */
export function toWire(
  specs: readonly TensorSpec[],
  results: Result,
): WireTensor[] {
  const given = specs.filter(({ name }) => results[name] !== undefined);
  return given.map(({ name, datatype }) => {
    const { shape, data } = results[name];
    // What models compute in is single precision; a file may say otherwise.
    const isOther = data instanceof Float32Array && datatype !== "FP32";
    const single = { name, datatype: "FP32", shape, data } as const;
    return isOther
      ? converted(single, datatype)
      : { name, datatype, shape, data };
  });
}
