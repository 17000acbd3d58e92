/** Runs exported graphs operator by operator in plain TypeScript: what no kernel has a part in. */
import type { ExportedGraph } from "../../../bench/models/export/export_nodes.ts";
import type { Runtime, Values } from "../../../bench/models/request_graphs.ts";
import { runPlain } from "../../../src/plain/registry.ts";
import type { PlainAttribute } from "../../../src/plain/operator.ts";
import {
  PLAIN_TYPE_OF,
  type PlainTensor,
} from "../../../src/tensor/plain_tensor.ts";
import type {
  OnnxNode,
  PlainTensor as NamedTensor,
} from "../../kernels/equivalent.ts";

/** Version of the operator set that benches write. */
const OPSET = 20;

function plainTensor({ shape, type = "f32", data }: NamedTensor): PlainTensor {
  return { type: PLAIN_TYPE_OF[type], dims: shape, data } as PlainTensor;
}

function attributesOf(
  attributes: OnnxNode["attributes"] = {},
): Map<string, PlainAttribute> {
  return new Map(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === "number"
        ? { kind: "int", value }
        : typeof value === "string"
        ? { kind: "string", value }
        : "float" in value
        ? { kind: "float", value: value.float }
        : { kind: "ints", value },
    ]),
  );
}

function run(
  { nodes, constants, inputs, outputs }: ExportedGraph,
  given: Values<PlainTensor>,
): Values<PlainTensor> {
  const values = new Map<string, PlainTensor>(
    constants.map((constant) => [constant.name, plainTensor(constant)]),
  );
  for (const { name, shape, type } of inputs) {
    const value = given[name];
    if (value === undefined) throw new Error(`Input ${name} is missing`);
    const fits = value.type === PLAIN_TYPE_OF[type] &&
      value.dims.length === shape.length &&
      shape.every((size, i) =>
        typeof size === "string" || size === value.dims[i]
      );
    if (!fits) {
      throw new Error(
        `Input ${name} is ${value.type}[${value.dims}], declared ${type}[${shape}]`,
      );
    }
    values.set(name, value);
  }
  for (const { opType, inputs, outputs, attributes } of nodes) {
    const made = runPlain(
      opType,
      inputs.map((name) => name === "" ? undefined : values.get(name)!),
      attributesOf(attributes),
      { opset: OPSET, outputs: outputs.length },
    );
    outputs.forEach((name, i) => {
      if (name !== "") values.set(name, made[i]);
    });
  }
  return Object.fromEntries(
    outputs.map(({ name, shape, type }) => {
      const value = values.get(name)!;
      const fits = value.type === PLAIN_TYPE_OF[type] &&
        value.dims.length === shape.length &&
        shape.every((size, i) =>
          typeof size === "string" || size === value.dims[i]
        );
      if (!fits) {
        throw new Error(
          `Output ${name} is ${value.type}[${value.dims}], declared ${type}[${shape}]`,
        );
      }
      return [name, value];
    }),
  );
}

export const plainRuntime: Runtime<PlainTensor> = {
  tensor: plainTensor,
  prepare: (graph) =>
    Promise.resolve({
      run: (inputs) => Promise.resolve(run(graph, inputs)),
      release: () => Promise.resolve(),
    }),
};
