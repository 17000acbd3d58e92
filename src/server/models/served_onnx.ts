/** Models of ONNX files as protocols see them. */
import type { InputSpec } from "../../onnx/input_tensors.ts";
import type { OnnxCellModel } from "../../onnx/model.ts";
import { DATATYPE_OF } from "../host/datatypes.ts";
import { converted } from "../host/convert.ts";
import type {
  ServedModel,
  TensorSpec,
  WireTensor,
} from "../host/served_model.ts";
import { toWire } from "../host/to_wire.ts";
import { type ServedOptions, servedOptions } from "./served_options.ts";
import { servedStream } from "./served_stream.ts";
import { checkDatatypes, wireType } from "./wire_type.ts";

/** Rows that a request may bring where it may bring several; the engine's bound. */
const ROWS_MAX = 2 ** 16;

/**
 * Serves a model that `loadOnnx` made, under the file's names: axes that stay open are -1, and so is that of rows where a
 * request may have several. One that was loaded with `states` is served as a stream, whose requests bring frames.
 * @throws TypeError on an option that there is not; RangeError on a type that an input or output cannot have
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { loadOnnx } from "@shoal/core/onnx";
 * import { servedOnnx } from "@shoal/core/server";
 *
 * // Usually a path or a URL: y = Relu(x), with x of any number of rows of 2.
 * const file = atob(
 *   "CAkSBmEgdGVzdDpDChIKAXgSAXkaBHJlbHUiBFJlbHUSAWdaFAoBeBIPCg0IARIJCgMSAW4K" +
 *     "AggCYhQKAXkSDwoNCAESCQoDEgFuCgIIAkIECgAQFA==",
 * );
 * const model = await loadOnnx(Uint8Array.from(file, (c) => c.charCodeAt(0)));
 * const served = servedOnnx(model, { name: "relu" });
 * assert.deepEqual(served.inputs, [{ name: "x", datatype: "FP32", shape: [-1, 2] }]);
 * ```
 */
export function servedOnnx(
  model: OnnxCellModel,
  given: ServedOptions,
): ServedModel {
  const options = servedOptions(given);
  const { name, version = "1", platform = "onnx_onnxv1", config = {} } =
    options;
  if (model.stream !== undefined) {
    return servedStream({ ...model, stream: model.stream }, {
      ...options,
      platform,
    });
  }
  checkDatatypes(
    options,
    [...model.inputs, ...model.results].map(({ name }) => name),
  );
  const specOf = ({ name, dtype, shape, free }: InputSpec): TensorSpec => ({
    name,
    datatype: wireType(name, dtype, options),
    shape: shape.map((size, axis) =>
      axis === free?.axis || axis === model.rowAxes.get(name) ? -1 : size
    ),
  });
  const inputs = model.inputs.map(specOf);
  const outputs = model.results.map(specOf);
  return {
    name,
    version,
    kind: options.kind ?? "tensors",
    platform,
    model,
    inputs,
    outputs,
    maxBatchSize: model.rowAxes.size > 0 ? ROWS_MAX : 0,
    config,
    rowsOf: (input) => rowsIn(model, input),
    toInput: (tensors) =>
      Object.fromEntries(model.inputs.map(({ name, dtype }) => {
        const tensor = converted(tensors.get(name)!, DATATYPE_OF[dtype]);
        return [name, { shape: tensor.shape, data: tensor.data }];
      })),
    toTensors: (results) => toWire(outputs, results),
  };
}

/** Rows of an input; of elements without a shape, as texts are given, one. */
function rowsIn({ rowAxes }: OnnxCellModel, input: unknown): number {
  const given = input as Readonly<
    Record<string, Partial<Pick<WireTensor, "shape">>>
  >;
  for (const [name, axis] of rowAxes) {
    if (Object.hasOwn(given, name)) return given[name].shape?.[axis] ?? 1;
  }
  return 1;
}
