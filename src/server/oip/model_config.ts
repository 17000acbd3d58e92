/** A model's settings as Triton's extension "model_configuration" has them (its `ModelConfig` in JSON). */
import type { ServedModel, TensorSpec } from "../host/served_model.ts";

/** What the file says, and what is known of the model besides. */
export function modelConfig(
  { name, platform, kind, inputs, outputs, maxBatchSize, config }: ServedModel,
): Record<string, unknown> {
  const isBatched = maxBatchSize > 0;
  const { input: _input, output: _output, ...settings } = config;
  const tensor = ({ name, datatype, shape, optional }: TensorSpec) => ({
    name,
    data_type: datatype === "BYTES" ? "TYPE_STRING" : `TYPE_${datatype}`,
    // As there, without the axis of rows.
    dims: isBatched && shape[0] === -1 ? shape.slice(1) : shape,
    ...(optional && { optional }),
  });
  return {
    name,
    platform,
    backend: "shoal",
    max_batch_size: maxBatchSize,
    input: inputs.map(tensor),
    output: outputs.map(tensor),
    ...(kind === "stream" && { sequence_batching: { oldest: {} } }),
    ...settings,
  };
}
