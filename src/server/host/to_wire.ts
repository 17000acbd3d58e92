/** Results of the engine as tensors on the wire. */
import type { Result } from "../../graph/result.ts";
import type { TensorSpec, WireTensor } from "./served_model.ts";

/** In the order of the specs, of the types that they have; shapes are the results' own. */
export function toWire(
  specs: readonly TensorSpec[],
  results: Result,
): WireTensor[] {
  return specs.map(({ name, datatype }) => ({
    name,
    datatype,
    shape: results[name].shape,
    data: results[name].data,
  }));
}
