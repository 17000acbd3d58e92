import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import type { Model } from "../../src/graph/model.ts";
import { inputsOf, shapedModel } from "../../src/cli/bench_models.ts";
import { MODELS, SIZE_CLASSES } from "../../src/models/registry.ts";

Deno.test("every model can be measured in every class of sizes", () => {
  for (const [name, { sizes }] of Object.entries(MODELS)) {
    for (const size of SIZE_CLASSES) {
      assert.doesNotThrow(() => {
        const model: Model = shapedModel(name, sizes[size]);
        const inputs = inputsOf(name, sizes[size], model);
        model.check(inputs.next(new Prng(1).fork(name)).input);
      }, `${name}, ${size}`);
    }
  }
});
