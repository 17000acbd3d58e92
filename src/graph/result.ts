import type { DataOf, Dtype, Tensor } from "../tensor/tensor.ts";

/** Names of a model's results, and the type of their elements. */
export type OutputTypes = Readonly<Record<string, Dtype | undefined>>;

/**
 * A request's results by name. `CellGraph.result` gives one the shape of its port: `[]` for a single i32
 * such as a token id, `[height, width, channels]` for an image, otherwise `[width]`; of all tokens of a
 * ragged cell `[tokens, width]`. `CellGraph.collect` gives it one axis more, in front: a row for each time
 * it was called, however often that was. So the number of axes never depends on the request.
 */
export type Result<Outputs extends OutputTypes = OutputTypes> = {
  readonly [Name in keyof Outputs]: Tensor<
    DataOf<Exclude<Outputs[Name], undefined>>
  >;
};
