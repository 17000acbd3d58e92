/**
 * LSTMs whose weights can be bytes: what DynamicQuantizeLSTM of `com.microsoft` computes and this reader takes, of one
 * sequence.
 */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { attributeOf, type OnnxNode } from "../ir.ts";
import type { RawNode } from "../read/raw_graph.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import { type ByteWeight, byteWeight } from "./weight.ts";

/** An LSTM whose weights are constant. */
export interface LstmLayer {
  /** Its place among the graph's nodes. */
  readonly at: number;
  readonly node: RawNode;
  /** Of x, [directions][4 hidden][x]. */
  readonly w: PlainTensor<"float32">;
  /** Of h, [directions][4 hidden][hidden]. */
  readonly r: PlainTensor<"float32">;
}

const ACTIVATIONS = ["Sigmoid", "Tanh", "Tanh"];
const LENGTHS = 4;
const PEEPHOLES = 7;

/**
 * @param values what is known of every value of the graph
 * @param isFloat32 whether a constant is float32 in the file
 * @returns why it stays
 */
export function lstmWeights(
  node: RawNode,
  values: InferredValues,
  isFloat32: (name: string) => boolean,
): Pick<LstmLayer, "w" | "r"> | string {
  // Of main graphs nothing is a reference: those are functions'.
  const attributes = node.attributes as OnnxNode["attributes"];
  const int = (name: string) => attributeOf({ attributes }, name, "int") ?? 0;
  const names = attributeOf({ attributes }, "activations", "strings");
  const isUsual = names?.every((name, i) => name === ACTIVATIONS[i % 3]) ??
    true;
  if (!isUsual || attributes.has("clip") || int("input_forget") !== 0) {
    return "it has activations, clipping or gates of its own";
  }
  if (int("layout") !== 0) return "its sequences come first (layout)";
  const has = (i: number) => (node.inputs[i] ?? "") !== "";
  if (has(LENGTHS) || has(PEEPHOLES)) return "it has lengths or peepholes";
  const sequences = values.get(node.inputs[0])?.dims?.[1];
  if (sequences === undefined) return "the axes of what it takes are not known";
  if (typeof sequences === "number" && sequences !== 1) {
    return "it takes several sequences together";
  }
  const [w, r, b] = [1, 2, 3].map((i) => {
    const name = node.inputs[i] ?? "";
    const constant = values.get(name)?.constant;
    return constant?.type === "float32" && isFloat32(name)
      ? constant as PlainTensor<"float32">
      : undefined;
  });
  if (!w || !r || has(3) && !b) {
    return "its weights are no constants of float32";
  }
  const isFinite = [w, r].every(({ data, dims }) =>
    dims.length === 3 && data.length > 0 &&
    data.every((value) => Number.isFinite(value))
  );
  return isFinite ? { w, r } : "a weight is infinite or not a number";
}

/**
 * As DynamicQuantizeLSTM has it: [directions][k][4 hidden], a scale for every column of every direction.
 * @param weight [directions][4 hidden][k], finite
 */
export function lstmBytes(
  { dims: [directions, rows, k], data }: PlainTensor<"float32">,
  bits: 7 | 8,
): ByteWeight {
  const { bytes, scales } = byteWeight(
    { type: "float32", dims: [directions * rows, k], data },
    "rows",
    bits,
    "int8",
  );
  const turned = new Int8Array(data.length);
  for (let at = 0; at < directions * rows; at++) {
    const direction = Math.floor(at / rows);
    const column = at % rows;
    for (let i = 0; i < k; i++) {
      turned[(direction * k + i) * rows + column] = bytes.data[at * k + i];
    }
  }
  return {
    bytes: { type: "int8", dims: [directions, k, rows], data: turned },
    scales,
  };
}
