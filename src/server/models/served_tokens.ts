/** Models whose requests are token ids (`lstm`, `bert`, `transformer`), as protocols see them. */
import type { Model } from "../../graph/model.ts";
import type { OutputTypes } from "../../graph/result.ts";
import { toWire } from "./to_wire.ts";
import { DATATYPE_OF } from "./datatypes.ts";
import type { ServedKind, ServedModel } from "./served_model.ts";

/** How a model is served. */
export interface ServedOptions {
  /** What requests call it. */
  readonly name: string;
  /** Default "1". */
  readonly version?: string;
  /** What it is for; default "tensors". */
  readonly kind?: ServedKind;
  /** Told on request, in snake_case. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/**
 * Serves a model whose requests are `{ tokens }`: an input "tokens" of INT32, of any length; outputs as the model
 * declares them.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { lstm } from "@shoal/core";
 * import { servedTokens } from "@shoal/core/server";
 *
 * const served = servedTokens(lstm({ hidden: 8, vocabulary: 10 }), { name: "sentences" });
 * assert.deepEqual(served.inputs, [{ name: "tokens", datatype: "INT32", shape: [-1] }]);
 * ```
 */
export function servedTokens<Outputs extends OutputTypes>(
  model: Model<{ readonly tokens: ArrayLike<number> }, Outputs>,
  { name, version = "1", kind = "tensors", config = {} }: ServedOptions,
): ServedModel {
  const outputs = Object.entries(model.outputs ?? {}).map(([name, dtype]) => ({
    name,
    datatype: DATATYPE_OF[dtype ?? "f32"],
    shape: [-1],
  }));
  return {
    name,
    version,
    kind,
    platform: "shoal_model",
    model,
    inputs: [{ name: "tokens", datatype: "INT32", shape: [-1] }],
    outputs,
    maxBatchSize: 0,
    config,
    toInput: (tensors) => ({ tokens: tensors.get("tokens")!.data }),
    toTensors: (results) => toWire(outputs, results),
  };
}
