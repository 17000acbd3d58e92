/** A step of a recurrent layer as an ONNX file, for so many streams at once: what the step models are, for peers. */
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { seededWeights } from "../../src/tensor/weights.ts";
import { node, writeModel } from "../../test/onnx/write_model.ts";
import type { StepFile } from "./models.ts";

/**
 * @param hidden units
 * @param features numbers of a frame
 * @param rows streams
 */
export function stepFile(
  kind: "lstm" | "gru",
  hidden: number,
  features: number,
  rows: number,
): StepFile {
  const gates = kind === "lstm" ? 4 : 3;
  const states = kind === "lstm" ? ["h", "c"] : ["h"];
  const weights = seededWeights(1);
  // Tensors, shapes and scales are the model's (rnn_cell.ts), so that results can be compared.
  const rowsOf = (name: string, shape: number[]) =>
    weights(`${kind}.${name}`, shape, hidden).data;
  const tensor = (name: string, shape: number[]) =>
    plainOf("float32", [1, ...shape], rowsOf(name, shape));
  const units = gates * hidden;
  const biases = ["Wb", "Rb"].flatMap((name) => [...rowsOf(name, [units])]);
  const dims = [1, rows, hidden];
  const bytes = writeModel({
    graph: {
      inputs: [
        { name: "x", dims: [1, rows, features] },
        ...states.map((name) => ({ name, dims })),
      ],
      outputs: states.map((name) => ({ name: `${name}_next`, dims })),
      initializers: {
        W: tensor("W", [units, features]),
        R: tensor("R", [units, hidden]),
        B: plainOf("float32", [1, 2 * units], Float32Array.from(biases)),
      },
      nodes: [node(
        kind.toUpperCase(),
        ["x", "W", "R", "B", "", ...states],
        ["", ...states.map((name) => `${name}_next`)],
        {
          hidden_size: hidden,
          ...(kind === "gru" && { linear_before_reset: 1 }),
        },
      )],
    },
  });
  return {
    bytes,
    states: Object.fromEntries(states.map((name) => [name, `${name}_next`])),
  };
}
