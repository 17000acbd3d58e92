/** What server and models tell of themselves. */
import type { EngineHost } from "../host/engine_host.ts";
import type { ServedModel } from "../host/served_model.ts";

/** Of the protocol's extensions, those that are there. */
export const EXTENSIONS: readonly string[] = [
  "binary_tensor_data",
  "parameters",
  "schedule_policy",
];

/** Metadata of a model. */
export function modelMetadata(
  { models }: EngineHost,
  { name, platform, inputs, outputs }: ServedModel,
) {
  const spec = ({ name, datatype, shape }: ServedModel["inputs"][number]) => ({
    name,
    datatype,
    shape,
  });
  return {
    name,
    versions: models.filter((served) => served.name === name)
      .map(({ version }) => version),
    platform,
    inputs: inputs.map(spec),
    outputs: outputs.map(spec),
  };
}
