/** A case of the ONNX project's operator tests, and what runs it. */
import type { OnnxHost } from "./onnx_host.ts";

/** One tensor of a case. */
export interface OnnxTensor {
  name: string;
  dtype: string;
  shape: number[];
  data: number[];
}

/** One case. */
export interface OnnxCase {
  name: string;
  attributes: Record<string, unknown>;
  node_inputs: string[];
  inputs: OnnxTensor[];
  outputs: OnnxTensor[];
}

/** Results of the first output, or of the first few. */
export type Adapter = (
  host: OnnxHost,
  given: OnnxCase,
) => ArrayLike<number>[] | undefined;

/** Input i of the operator, or undefined if it is left out. */
export function input({ node_inputs, inputs }: OnnxCase, i: number) {
  return inputs.find(({ name }) => name !== "" && name === node_inputs[i]);
}
