/**
 * All ONNX operators in plain TypeScript, by name: reference of the loader, constant folder, and what runs
 * operators that no kernel computes. Clarity first; nothing is shared with the kernels, which they check.
 *
 * Numbers: floats are f32 in and out; inside an operator they are f64, products and sums in the order that the
 * operator's file says, rounded once where they are written.
 */
import { listed } from "../base/describe.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import { BINARY } from "./binary.ts";
import { CONVERSIONS } from "./convert.ts";
import type { PlainInputs } from "./given.ts";
import type {
  PlainAttributes,
  PlainContext,
  PlainOperator,
} from "./operator.ts";
import { MOVES } from "./moves.ts";
import { PADDINGS } from "./padding.ts";
import { SELECTIONS } from "./selections.ts";
import { REDUCTIONS } from "./reductions.ts";
import { SHAPES } from "./shapes.ts";
import { CONVOLUTIONS } from "./convolution.ts";
import { POOLINGS } from "./pooling.ts";
import { MATRICES } from "./matrix.ts";
import { EINSUM } from "./einsum.ts";
import { QUANTIZED_OPERATORS } from "./quantized.ts";
import { NORMALIZATIONS } from "./normalization.ts";
import { SOFTMAXES } from "./softmax.ts";
import { graphsOf } from "./graphs.ts";
import { GENERATORS } from "./generators.ts";
import { INDEXINGS } from "./indexing.ts";
import { RESIZES } from "./resize.ts";
import { RECURRENT } from "./recurrent.ts";
import { ATTENTIONS } from "./attention.ts";
import { CONTROLS } from "./control.ts";
import { SIGNALS } from "./signal.ts";
import { runOperator } from "./run_operator.ts";
import { SAMPLE_TOKEN } from "./sample_token.ts";
import { SAMPLINGS } from "./sampling.ts";
import { LINEAR_ATTENTIONS } from "./linear_attention.ts";
import { UNARY } from "./unary.ts";
import { VARIADIC } from "./variadic.ts";

/** Operators of ONNX's own domain by name. */
export const plainOperators: Readonly<Record<string, PlainOperator>> = {
  ...UNARY,
  ...BINARY,
  ...VARIADIC,
  ...CONVERSIONS,
  ...SHAPES,
  ...MOVES,
  ...PADDINGS,
  ...SELECTIONS,
  ...REDUCTIONS,
  ...CONVOLUTIONS,
  ...POOLINGS,
  ...MATRICES,
  ...EINSUM,
  ...QUANTIZED_OPERATORS,
  ...NORMALIZATIONS,
  ...SOFTMAXES,
  ...GENERATORS,
  ...INDEXINGS,
  ...RESIZES,
  ...RECURRENT,
  ...ATTENTIONS,
  ...LINEAR_ATTENTIONS,
  ...CONTROLS,
  ...SIGNALS,
  ...SAMPLINGS,
};

/** The operator of a name, if there is one that a version of the operator set knows. */
export function plainOperator(
  name: string,
  opset: number,
): PlainOperator | undefined {
  if (!Object.hasOwn(plainOperators, name)) return undefined;
  const found = plainOperators[name];
  return opset >= found.since[0] ? found : undefined;
}

/** What cells compute and ONNX has no operator for; files do not name them. */
const OWN: Readonly<Record<string, PlainOperator>> = {
  SampleToken: SAMPLE_TOKEN,
};

/**
 * Runs an operator.
 * @param name of ONNX's own domain, or "SampleToken"
 * @param inputs in order; undefined for one that is left out
 * @throws RangeError when there is no such operator; RangeError or TypeError naming operator and input or attribute
 * when something does not fit
 */
export function runPlain(
  name: string,
  inputs: PlainInputs,
  attributes: PlainAttributes,
  context: PlainContext,
): PlainTensor[] {
  const operator = plainOperator(name, context.opset) ??
    (Object.hasOwn(OWN, name) ? OWN[name] : undefined);
  if (!operator) {
    throw new RangeError(
      `There is no operator ${listed([name])} of version ${context.opset}`,
    );
  }
  const { captured } = context;
  if (captured !== undefined) {
    return runPlain(
      name,
      inputs.slice(0, inputs.length - captured.length),
      attributes,
      withGraphs(inputs, attributes, context, captured),
    );
  }
  return runOperator(name, operator, inputs, attributes, context);
}

/** A node's own context: its graphs are run with the last inputs as what they read from around. */
function withGraphs(
  inputs: PlainInputs,
  attributes: PlainAttributes,
  { opset, outputs }: PlainContext,
  captured: readonly string[],
): PlainContext {
  const own = inputs.length - captured.length;
  const around = new Map(captured.map((name, i) => [name, inputs[own + i]]));
  return {
    opset,
    outputs,
    ...graphsOf(attributes, (name) => around.get(name), runPlain),
  };
}
