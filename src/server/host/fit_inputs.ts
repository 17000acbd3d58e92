/** A request's tensors against what a model takes: names, types, shapes. Whatever protocol brought them. */
import { describeShape, listed, shorten } from "../../base/describe.ts";
import { converted } from "./convert.ts";
import { InputError } from "./errors.ts";
import type { ServedModel, TensorSpec, WireTensor } from "./served_model.ts";

/**
 * Checks tensors, and converts their elements where the model's type has room for every one of them.
 * @throws InputError naming the tensor
 */
export function fitInputs(
  { name: model, inputs }: ServedModel,
  given: ReadonlyMap<string, WireTensor>,
): Map<string, WireTensor> {
  const names = () => listed(inputs.map(({ name }) => name));
  for (const name of given.keys()) {
    if (inputs.some((spec) => spec.name === name)) continue;
    throw new InputError(
      `Model "${model}" has no input "${shorten(name)}"; it takes ${names()}`,
    );
  }
  const fitting = new Map<string, WireTensor>();
  for (const spec of inputs) {
    const tensor = given.get(spec.name);
    if (tensor !== undefined) fitting.set(spec.name, fit(spec, tensor));
    else if (!spec.optional) {
      throw new InputError(
        `Input "${spec.name}" of model "${model}" is missing; it takes ${names()}`,
      );
    }
  }
  return fitting;
}

function fit(spec: TensorSpec, tensor: WireTensor): WireTensor {
  const { name, shape } = spec;
  const fits = tensor.shape.length === shape.length &&
    shape.every((size, axis) => size === -1 || size === tensor.shape[axis]);
  if (!fits) {
    throw new InputError(
      `Input "${name}" has shape ${describeShape(shape)}, got ${
        describeShape(tensor.shape)
      }`,
    );
  }
  return converted(tensor, spec.datatype);
}
