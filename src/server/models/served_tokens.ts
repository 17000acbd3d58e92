import type { Model } from "../../graph/model.ts";
import type { OutputTypes } from "../../graph/result.ts";
import type { DrawingModel } from "../../models/token_draws.ts";
import type { ServedModel } from "../host/served_model.ts";
import { servedBuilt } from "./served_built.ts";
import type { ServedOptions } from "./served_options.ts";

/**
 * Serves a model whose requests are token ids (`lstm`, `bert`, `gpt`): an input "tokens" of INT32, of any length, and,
 * where requests grow, "max_steps", which may be left out, as may, of a `gpt` that draws tokens or changes scores, what
 * `servedDecoder` has for these; outputs are the model's results.
 * @throws TypeError on an option that there is not; RangeError on a type that an input or output cannot have
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm } from "@shoal/core";
 * import { servedTokens } from "@shoal/core/server";
 *
 * const served = servedTokens(lstm({ hidden: 8, vocabulary: 10 }), { name: "sentences" });
 * assert.deepEqual(served.inputs, [{ name: "tokens", datatype: "INT32", shape: [-1] }]);
 * assert.deepEqual(served.outputs, [{ name: "h", datatype: "FP32", shape: [8] }]);
 * ```
 */
export function servedTokens<Outputs extends OutputTypes>(
  model:
    & Model<{ readonly tokens: ArrayLike<number> }, Outputs>
    & Partial<DrawingModel>,
  options: ServedOptions,
): ServedModel {
  return servedBuilt(model, "tokens", options);
}
