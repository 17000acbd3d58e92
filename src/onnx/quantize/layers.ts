/** Layers of a file that can be computed with weights of bytes, and why others cannot. */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { attributeOf, type OnnxNode } from "../ir.ts";
import type { RawGraph, RawNode } from "../read/raw_graph.ts";
import type { InferredValues } from "../shapes/infer_graph.ts";
import { type LstmLayer, lstmWeights } from "./lstm_layer.ts";
import type { Outputs } from "./weight.ts";

/** A layer whose weight is constant. */
export interface FloatLayer {
  /** Its place among the graph's nodes. */
  readonly at: number;
  readonly node: RawNode;
  /** What it multiplies. */
  readonly x: string;
  /** Floats as they go into the layer. */
  readonly weight: PlainTensor<"float32">;
  readonly outputs: Outputs;
  /** Whether the matrix has to be turned to be [k][n]. */
  readonly isTurned: boolean;
  /** What is added: a value of the file; "" for nothing. */
  readonly bias: string;
}

/** A layer that stays as it is. */
export interface LeftLayer {
  /** As in the file, or what comes out of it. */
  readonly name: string;
  /** Its operator. */
  readonly op: string;
  /** Why, in a few words. */
  readonly why: string;
}

/** Operators that have weights. */
const WITH_WEIGHTS: ReadonlySet<string> = new Set([
  ...["MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU", "RNN"],
  "Einsum",
]);

/** Products of which every sum is a 32-bit integer, whatever the bytes: 255 x 128 each. */
const TAPS_MAX = Math.floor((2 ** 31 - 1) / (255 * 128));

/** A node as messages name it. */
export function nameOf({ name, outputs }: RawNode): string {
  return name || (outputs.find((output) => output !== "") ?? "");
}

/**
 * @param values what is known of every value of the graph
 * @param isFloat32 whether a constant is float32 in the file, and what reads it therefore, too
 * @param excluded names of nodes that are to stay
 * @param recurrent whether LSTMs are looked for, too
 */
export function findLayers(
  graph: RawGraph,
  values: InferredValues,
  isFloat32: (name: string) => boolean,
  { excluded, recurrent }: {
    excluded: ReadonlySet<string>;
    recurrent: boolean;
  },
): { layers: (FloatLayer | LstmLayer)[]; left: LeftLayer[] } {
  const layers: (FloatLayer | LstmLayer)[] = [];
  const left: LeftLayer[] = [];
  graph.nodes.forEach((node, at) => {
    if (node.domain !== "" || !WITH_WEIGHTS.has(node.op)) return;
    const name = nameOf(node);
    const found = excluded.has(name)
      ? "as asked for"
      : node.op === "LSTM" && recurrent
      ? lstmWeights(node, values, isFloat32)
      : layerOf(node, values, isFloat32);
    if (typeof found === "string") left.push({ name, op: node.op, why: found });
    else layers.push({ at, node, ...found });
  });
  return { layers, left };
}

/** @returns why it stays */
function layerOf(
  node: RawNode,
  values: InferredValues,
  isFloat32: (name: string) => boolean,
): Omit<FloatLayer, "at" | "node"> | string {
  const { op, inputs: [x, w, bias = ""] } = node;
  if (op !== "MatMul" && op !== "Gemm" && op !== "Conv") {
    return op === "LSTM"
      ? "ONNX has no LSTM of bytes (see recurrent)"
      : `ONNX has no ${op} of bytes`;
  }
  // Of main graphs nothing is a reference: those are functions'.
  const attributes = node.attributes as OnnxNode["attributes"];
  const int = (name: string) => attributeOf({ attributes }, name, "int") ?? 0;
  const isOne = (name: string) =>
    (attributeOf({ attributes }, name, "float") ?? 1) === 1;
  const weight = values.get(w)?.constant;
  const given = values.get(x);
  if (!weight) return "its weight is no constant";
  if (given?.constant) return "all of it is constant";
  if (weight.type !== "float32" || !isFloat32(w)) {
    return "its weight is not of float32";
  }
  const rank = given?.dims?.length;
  if (rank === undefined) return "the axes of what it multiplies are not known";
  const floats = weight as PlainTensor<"float32">;
  if (!floats.data.every((value) => Number.isFinite(value))) {
    return "a weight is infinite or not a number";
  }
  if (floats.data.length === 0) return "its weight is empty";
  if (op === "Conv") {
    if (rank !== weight.dims.length || rank < 3) return "its axes do not fit";
    if (bias !== "" && !values.get(bias)?.constant) {
      return "its bias is no constant";
    }
    return tooLong(weight.data.length / weight.dims[0]) ??
      { x, weight: floats, outputs: "rows", isTurned: false, bias };
  }
  if (weight.dims.length !== 2) return "its weight is no matrix";
  if (rank < 2) return "it multiplies a vector";
  if (op === "Gemm") {
    const isPlain = isOne("alpha") && (bias === "" || isOne("beta")) &&
      int("transA") === 0;
    if (!isPlain) return "alpha, beta or transA are set";
  }
  const isTurned = op === "Gemm" && int("transB") === 1;
  return tooLong(weight.dims[isTurned ? 1 : 0]) ??
    { x, weight: floats, outputs: "columns", isTurned, bias };
}

function tooLong(taps: number): string | undefined {
  return taps > TAPS_MAX
    ? `sums of ${taps} products of bytes may be larger than 32 bits`
    : undefined;
}
