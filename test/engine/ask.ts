import type { RequestOptions } from "../../src/engine/wall/request_options.ts";
import type { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { Model } from "../../src/graph/model.ts";
import type { OutputTypes, Result } from "../../src/graph/result.ts";

/** Runs a request for its results alone. */
export async function ask<Input, Outputs extends OutputTypes>(
  engine: ServingEngine,
  model: Model<Input, Outputs>,
  input: Input,
  options?: RequestOptions,
): Promise<Result<Outputs>> {
  const { outputs } = await engine.run(model, input, options);
  return outputs;
}
