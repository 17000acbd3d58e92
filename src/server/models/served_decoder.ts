/** Decoders of ONNX files as protocols see them. */
import type {
  DecoderInput,
  OnnxDecoder,
} from "../../onnx/decoder/decoder_model.ts";
import type { OnnxInput } from "../../onnx/input_tensors.ts";
import { type Dtype, elementCount, elements } from "../../tensor/tensor.ts";
import { DATATYPE_OF } from "../host/datatypes.ts";
import { converted } from "../host/convert.ts";
import type {
  ServedModel,
  TensorSpec,
  WireTensor,
} from "../host/served_model.ts";
import { toWire } from "../host/to_wire.ts";
import { drawFields, drawSpecs } from "./draw_settings.ts";
import { resultSpecs } from "./result_specs.ts";
import { maxSteps, maxStepsSpec } from "./served_built.ts";
import { type ServedOptions, servedOptions } from "./served_options.ts";
import { checkDatatypes, wireType } from "./wire_type.ts";

/**
 * Serves a decoder that `loadOnnx` made: an input "tokens" of INT32, the prompt; besides, all of one element or of the
 * file's shapes and none required but what an encoder saw, "max_steps", where tokens are drawn "temperature", "top_k",
 * "top_p", "min_p" and "seed", where scores change "repetition_penalty", "presence_penalty", "frequency_penalty" and
 * "no_repeat_ngram_size", "min_tokens", and the file's own inputs and states. Output "tokens" has an id for each step.
 * @throws TypeError on an option that there is not; RangeError on a type that an input or output cannot have
 *
 * @example
 * ```ts
 * import type { OnnxDecoder } from "@shoal/core/onnx";
 * import { servedDecoder, type ServedModel } from "@shoal/core/server";
 *
 * const served = (model: OnnxDecoder): ServedModel => servedDecoder(model, { name: "writer" });
 * ```
 */
export function servedDecoder(
  model: OnnxDecoder,
  given: ServedOptions,
): ServedModel {
  const options = servedOptions(given);
  const { name, version = "1", platform = "onnx_onnxv1", config = {} } =
    options;
  const typed = (name: string, dtype: Dtype) => ({
    name,
    datatype: wireType(name, dtype, options),
  });
  const inputs: TensorSpec[] = [
    { ...typed("tokens", "i32"), shape: [-1] },
    maxStepsSpec(options),
    ...drawSpecs(model, options),
    ...model.inputs.map(({ name, dtype, shape, free }) => ({
      ...typed(name, dtype),
      shape: shape.map((size, axis) => axis === free?.axis ? -1 : size),
      optional: free === undefined,
    })),
  ];
  const zeros = Object.fromEntries(
    model.inputs.map((spec) => [spec.name, zerosOf(spec)]),
  );
  const outputs = resultSpecs(
    model,
    { tokens: [0], maxSteps: 1, inputs: zeros },
    options,
  );
  checkDatatypes(options, [...inputs, ...outputs].map(({ name }) => name));
  return {
    name,
    version,
    kind: options.kind ?? "decoder",
    platform,
    model,
    inputs,
    outputs,
    maxBatchSize: 0,
    config,
    toInput: (tensors): DecoderInput => ({
      tokens: tensors.get("tokens")!.data as Int32Array,
      ...maxSteps(tensors),
      ...drawFields(model, tensors),
      ...filesOwn(model, tensors),
    }),
    toTensors: (results) => toWire(outputs, results),
  };
}

/** States and what every step reads, of those that came. */
function filesOwn(
  { inputs }: OnnxDecoder,
  tensors: ReadonlyMap<string, WireTensor>,
): { inputs?: OnnxInput } {
  const given = inputs.filter(({ name }) => tensors.has(name));
  if (given.length === 0) return {};
  return {
    inputs: Object.fromEntries(given.map(({ name, dtype }) => {
      const { shape, data } = converted(
        tensors.get(name)!,
        DATATYPE_OF[dtype],
      );
      return [name, { shape, data }];
    })) as OnnxInput,
  };
}

function zerosOf({ dtype, shape }: OnnxDecoder["inputs"][number]) {
  return { shape, data: elements(dtype, elementCount(shape)) };
}
