/** What a model is made of, counted while it is built. */
import type { Model } from "../../src/graph/model.ts";
import { elementCount } from "../../src/tensor/tensor.ts";
import { shapesOnly, type WeightSource } from "../../src/tensor/weights.ts";

/** Elements of each tensor by name; one that is asked for twice is shared. */
export function parametersOf(
  build: (weights: WeightSource) => Model,
): { model: Model; tensors: Map<string, number>; total: number } {
  const tensors = new Map<string, number>();
  const shapes = shapesOnly();
  const model = build((name, shape, fanIn) => {
    tensors.set(name, elementCount(shape));
    return shapes(name, shape, fanIn);
  });
  const total = [...tensors.values()].reduce((a, b) => a + b, 0);
  return { model, tensors, total };
}
