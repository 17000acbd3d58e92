/** What a model's cells hold and do, counted from their operators. */
import type { Model } from "../../src/graph/model.ts";
import { cellLayers } from "../../src/npu/cell_layers.ts";
import { macsOf } from "../npu/macs_of.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";

/** Statistics of a BatchNormalization are measured, not learned. */
const NOT_LEARNED = ["mean", "variance"];

function isTensor(value: unknown): value is Tensor {
  return typeof value === "object" && value !== null && "shape" in value &&
    "data" in value;
}

/** Learned parameters; a tensor that several operators share counts once. */
export function parametersOf({ cells }: Model): number {
  const tensors = new Set<Tensor>();
  for (const { operators } of cells) {
    for (const operator of operators) {
      for (const [name, value] of Object.entries(operator)) {
        if (isTensor(value) && !NOT_LEARNED.includes(name)) tensors.add(value);
      }
    }
  }
  return [...tensors].reduce((sum, { data }) => sum + data.length, 0);
}

/** Multiply-accumulates of one row of every cell. */
export function macsPerRow({ cells }: Model): number {
  return cells.flatMap((cell) => cellLayers(cell, 1)).reduce(
    (sum, layer) => sum + macsOf(layer),
    0,
  );
}
