/**
 * A product of a column and a row, of which nothing is summed up, as what it is: every element of one times every one of
 * the other. Angles of rotary embeddings are written so, frequencies times positions, of which any number may be: where
 * all sizes are numbers it stays a product, which kernels have.
 */
import type { Expand } from "./expansion.ts";

export const outerProduct: Expand = (given) => {
  const { node: { inputs, outputs } } = given;
  const [a, b] = [given.value(0), given.value(1)];
  const isOuter = a.type === "float32" && b.constant === undefined &&
    (a.dims?.length ?? 0) >= 2 && (b.dims?.length ?? 0) >= 2 &&
    a.dims?.at(-1) === 1 && b.dims?.at(-2) === 1 &&
    [...a.dims, ...b.dims].some((size) => typeof size !== "number");
  if (isOuter) given.add("Mul", inputs, {}, outputs[0]);
};
