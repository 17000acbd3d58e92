/** That the registry tells the truth about its models. */
import assert from "node:assert/strict";
import { MODELS, SIZE_CLASSES } from "../../src/models/registry.ts";
import { buildModel } from "../../src/cli/bench_models.ts";
import { shapesOnly, type WeightSource } from "../../src/tensor/weights.ts";

/** Weights that are only counted. */
function counting(): { weights: WeightSource; elements(): number } {
  let elements = 0;
  const shapes = shapesOnly();
  return {
    weights(name, shape, ...rest) {
      elements += shape.reduce((a, b) => a * b, 1);
      return shapes(name, shape, ...rest);
    },
    elements: () => elements,
  };
}

for (const [name, { options, sizes, tries, build }] of Object.entries(MODELS)) {
  Deno.test(`the registry has sizes of ${name} for every class, each larger than the last, and small ones to test`, () => {
    let last = 0;
    for (const size of SIZE_CLASSES) {
      const { weights, elements } = counting();
      build({ ...sizes[size], weights });
      assert(elements() > 1.5 * last, `${size}: ${elements()} after ${last}`);
      last = elements();
    }
    const records = [...Object.values(sizes), ...tries];
    for (const key of records.flatMap((record) => Object.keys(record))) {
      assert(options.includes(key), key);
    }
    for (const values of tries) {
      const first = Object.fromEntries(
        Object.entries(values).map(([option, [value]]) => [option, value]),
      );
      for (const [option, all] of Object.entries(values)) {
        for (const value of all) {
          build({ ...first, [option]: value, weights: shapesOnly() });
        }
      }
    }
    const { inputs } = buildModel(name, "small", 1);
    assert.notEqual(inputs.name, "");
  });
}
