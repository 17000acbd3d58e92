/** Models of streams as protocols see them: a request brings a frame, and says which stream it is of. */
import { FrameGraph } from "../../graph/frame_graph.ts";
import { axesOf } from "../../graph/row_layout.ts";
import type { StreamModel } from "../../graph/stream_model.ts";
import type { Dtype } from "../../tensor/tensor.ts";
import { DATATYPE_OF } from "../host/datatypes.ts";
import { converted } from "../host/convert.ts";
import type { ServedModel } from "../host/served_model.ts";
import { toWire } from "../host/to_wire.ts";
import { type ServedOptions, servedOptions } from "./served_options.ts";
import { checkDatatypes, wireType } from "./wire_type.ts";

/**
 * Serves a model of streams: requests bring the inputs of a frame and get its outputs; states stay in the server.
 * @throws TypeError on an option that there is not; RangeError on a type that an input or output cannot have
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstmStream } from "@shoal/core";
 * import { servedStream } from "@shoal/core/server";
 *
 * const served = servedStream(lstmStream({ hidden: 64, features: 2 }), { name: "gestures" });
 * assert.equal(served.kind, "stream");
 * assert.deepEqual(served.inputs, [{ name: "x", datatype: "FP32", shape: [2] }]);
 * ```
 */
export function servedStream(
  model: StreamModel,
  given: ServedOptions,
): ServedModel {
  const options = servedOptions(given);
  const { name, version = "1", platform = "shoal_stream", config = {} } =
    options;
  const { stream } = model;
  checkDatatypes(
    options,
    Object.keys({ ...stream.inputs, ...stream.outputs }),
  );
  const inputs = Object.entries(stream.inputs).map(([name, row]) => ({
    name,
    datatype: wireType(name, row.dtype as Dtype, options),
    shape: axesOf(row),
  }));
  const outputs = new FrameGraph(model).outputs.map((
    { name, dtype, shape },
  ) => ({
    name,
    datatype: wireType(name, dtype, options),
    shape,
  }));
  return {
    name,
    version,
    kind: options.kind ?? "stream",
    platform,
    model,
    inputs,
    outputs,
    maxBatchSize: 0,
    config,
    toInput: (tensors) =>
      Object.fromEntries(
        Object.entries(stream.inputs).map(([name, { dtype }]) => {
          const to = DATATYPE_OF[dtype as Dtype];
          return [name, converted(tensors.get(name)!, to).data];
        }),
      ),
    toTensors: (results) => toWire(outputs, results),
  };
}
