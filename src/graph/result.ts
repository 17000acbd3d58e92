import type { DataOf, Dtype, Tensor } from "../tensor/tensor.ts";

/** Names of a model's results, and the type of their elements. */
export type OutputTypes = Readonly<Record<string, Dtype | undefined>>;

/**
 * A request's results by name. `CellGraph.result` gives one the shape of its port: its axes if it has any,
 * `[height, width, channels]` for an image, `[]` for a single i32 such as a token id, otherwise `[width]`; of all
 * tokens of a ragged cell `[tokens, width]`. `CellGraph.collect` gives it one axis more, in front: a row for each
 * time it was called, however often that was. So the number of axes never depends on the request. Results that the
 * model does not declare (`Model.outputs`) are f32 or i32.
 */
export type Result<Outputs extends OutputTypes = OutputTypes> = {
  readonly [Name in keyof Outputs]: Tensor<
    DataOf<
      string extends keyof Outputs ? "f32" | "i32" : NonNullable<Outputs[Name]>
    >
  >;
};

/** How rows make a result. */
export interface ResultOptions {
  /**
   * Axis of the port that rows are along, in place of one more in front: it is 1 there, and so are those before it.
   * Of collected rows, or all tokens of a ragged node.
   */
  readonly axis?: number;
}
