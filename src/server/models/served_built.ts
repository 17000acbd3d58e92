/** Models that are built here rather than read from a file (`lstm`, `bert`, `resnet50`, `gpt`), as protocols see them. */
import type { InputKind, Model } from "../../graph/model.ts";
import type { DrawingModel } from "../../models/token_draws.ts";
import { type Dtype, elementCount } from "../../tensor/tensor.ts";
import { converted } from "../host/convert.ts";
import { DATATYPE_OF } from "../host/datatypes.ts";
import type {
  ServedModel,
  TensorSpec,
  WireTensor,
} from "../host/served_model.ts";
import { toWire } from "../host/to_wire.ts";
import { drawFields, drawSpecs } from "./draw_settings.ts";
import { resultSpecs } from "./result_specs.ts";
import { type ServedOptions, servedOptions } from "./served_options.ts";
import { checkDatatypes, wireType } from "./wire_type.ts";

/** Kinds of inputs that are tensors; a parse tree is none. */
export type BuiltInput = Exclude<InputKind, "tree">;

/** Of the most steps of a request that grows. */
const MAX_STEPS = "max_steps";

/** Frames of a request that is only looked at. */
const FRAMES = 64;

/**
 * @param input what its requests bring, see InputKind
 * @throws TypeError on an option that there is not; RangeError on a type that an input or output cannot have
 */
export function servedBuilt(
  model: Model & Partial<DrawingModel>,
  input: BuiltInput,
  given: ServedOptions,
): ServedModel {
  const options = servedOptions(given);
  const { name, version = "1", platform = "shoal_model", config = {} } =
    options;
  const grows = model.grow !== undefined;
  const { main, dtype, field, smallest } = inputOf(model, input);
  const outputs = resultSpecs(model, smallest, options);
  const inputs = [
    { ...main, datatype: wireType(main.name, dtype, options) },
    ...grows ? [maxStepsSpec(options)] : [],
    ...drawSpecs(model, options),
  ];
  checkDatatypes(options, [...inputs, ...outputs].map(({ name }) => name));
  return {
    name,
    version,
    kind: options.kind ?? (grows ? "decoder" : "tensors"),
    platform,
    model,
    inputs,
    outputs,
    maxBatchSize: 0,
    config,
    toInput: (tensors) => ({
      [field]: converted(tensors.get(main.name)!, DATATYPE_OF[dtype]).data,
      ...maxSteps(tensors),
      ...drawFields(model, tensors),
    }),
    toTensors: (results) => toWire(outputs, results),
  };
}

/** @throws RangeError on another type than that of integers of 32 bits */
export function maxStepsSpec(options: ServedOptions): TensorSpec {
  const datatype = wireType(MAX_STEPS, "i32", options);
  return { name: MAX_STEPS, datatype, shape: [1], optional: true };
}

/** The option of a request that grows, if it is given. */
export function maxSteps(
  tensors: ReadonlyMap<string, WireTensor>,
): { maxSteps?: number } {
  const tensor = tensors.get(MAX_STEPS);
  return tensor ? { maxSteps: Number(tensor.data[0]) } : {};
}

function inputOf(
  model: Model,
  kind: BuiltInput,
): {
  main: Pick<TensorSpec, "name" | "shape">;
  dtype: Dtype;
  field: string;
  smallest: unknown;
} {
  if (kind === "image") {
    const { height, width, channels } = model.image!;
    const shape = [height, width, channels];
    return {
      main: { name: "image", shape },
      dtype: "f32",
      field: "image",
      smallest: { image: new Float32Array(elementCount(shape)) },
    };
  }
  if (kind === "frames" || kind === "frames2seq") {
    const size = model.frameSize!;
    return {
      main: { name: "frames", shape: [-1, size] },
      dtype: "f32",
      field: "frames",
      smallest: { frames: new Float32Array(FRAMES * size) },
    };
  }
  return {
    main: { name: "tokens", shape: [-1] },
    dtype: "i32",
    field: "tokens",
    smallest: { tokens: Int32Array.of(0) },
  };
}
