/** Nodes whose inputs are all constant are computed once, when the model is loaded, where that is no great work. */
import { plainOperator } from "../../plain/registry.ts";
import { bytesOfType, type PlainTensor } from "../../tensor/plain_tensor.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { runConstant } from "../run_constant.ts";
import type { Folder } from "../shapes/infer_graph.ts";
import type { InferredValue } from "../shapes/value.ts";

/**
 * Bytes that a result may have: the weights that a `ConstantOfShape` of a few bytes stands for may be any number. The
 * largest of published graphs that are stored so has 392 MiB (VGG-19); what is not made here, every request makes.
 */
const RESULT_BYTES_MAX = 512 * 2 ** 20;

/** Of all results together; what a result takes no more than its inputs is free: it stands in their place. */
const RESULTS_BYTES_MAX = 2 ** 30;

/** Products, or words read and written, that a result may need, some seconds of plain TypeScript; all results together ten times of that. */
const WORK_MAX = 2 ** 28;

const BYTES_PER_WORD = 4;

/** Operators of which a result's size depends on elements; it is never larger than the inputs, times their axes. */
const BY_ELEMENTS = new Set(["NonZero", "Compress"]);

/** Operators that go over all of another input for every element of a result. */
const PRODUCTS = new Set([
  ...["MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "Einsum"],
  ...["Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "Attention"],
  ...["LSTM", "GRU", "RNN", "LRN", "MaxPool", "AveragePool", "LpPool"],
]);

/**
 * Operators that are left alone: what is made of quantised weights is left quantised, for kernels that take them so.
 */
export const KEPT: ReadonlySet<string> = new Set(["DequantizeLinear"]);

/**
 * Computes nodes of constants by the plain operators.
 * @param kept operators that are not computed
 */
export function constantFolder(kept = KEPT): Folder {
  let bytesLeft = RESULTS_BYTES_MAX;
  let workLeft = 10 * WORK_MAX;
  return (node, inputs, results, place) => {
    const { op, domain, version, attributes } = node;
    if (domain !== "" || kept.has(op)) return undefined;
    if (plainOperator(op, version) === undefined) return undefined;
    for (const { kind } of attributes.values()) {
      if (kind === "graph" || kind === "graphs") return undefined;
    }
    const given = inputs.reduce((sum, input) => sum + bytesOf(input), 0);
    const bytes = BY_ELEMENTS.has(op)
      ? 8 * given * Math.max(1, inputs[0]?.dims.length ?? 1)
      : results.reduce((sum, result) => sum + bytesOfResult(result), 0);
    const fresh = Math.max(0, bytes - given);
    const work = PRODUCTS.has(op)
      ? workOf(inputs, results)
      : (bytes + given) / BYTES_PER_WORD;
    // Also where a size is not known, which makes these NaN.
    if (!(fresh <= RESULT_BYTES_MAX && fresh <= bytesLeft)) return undefined;
    if (!(work <= WORK_MAX && work <= workLeft)) return undefined;
    bytesLeft -= fresh;
    workLeft -= work;
    return runConstant(node, inputs, place);
  };
}

function bytesOf(tensor: PlainTensor | undefined): number {
  return tensor?.data.byteLength ?? 0;
}

/** NaN where it is not known. */
function elementsOf({ dims }: InferredValue): number {
  return dims?.every((size) => typeof size === "number")
    ? elementCount(dims)
    : NaN;
}

function bytesOfResult(result: InferredValue): number {
  return result.type === null
    ? NaN
    : elementsOf(result) * bytesOfType(result.type);
}

/** An upper bound: every element of the first result from all of a row, or of the last weight, of the other input. */
function workOf(
  inputs: readonly (PlainTensor | undefined)[],
  [result]: readonly InferredValue[],
): number {
  const most = inputs.reduce(
    (count, input) => Math.max(count, input?.data.length ?? 0),
    1,
  );
  return elementsOf(result) * most;
}
