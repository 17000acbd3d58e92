/** What server and models tell of themselves. */
import type { EngineHost } from "../host/engine_host.ts";
import type { ServedModel } from "../host/served_model.ts";
import type { Context } from "../http/route.ts";

/** Of Triton's extensions, those that are there. */
const EXTENSIONS: readonly string[] = [
  "binary_tensor_data",
  "model_configuration",
  "parameters",
  "schedule_policy",
  "sequence",
  "statistics",
];

/** Metadata of the server. */
export function serverMetadata({ version, repository }: Context) {
  return {
    name: "shoal",
    version,
    extensions: repository ? [...EXTENSIONS, "model_repository"] : EXTENSIONS,
  };
}

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
