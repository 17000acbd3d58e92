import { describe, isList } from "../../base/describe.ts";
import type { PlainAttributes } from "../../plain/operator.ts";
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { type Dtype, DTYPES, elementCount } from "../../tensor/tensor.ts";
import type { CellBody } from "../cell_body.ts";
import type { PlainOperand, RunPlain, Value } from "../operator.ts";
import { axesOf } from "../row_layout.ts";

/** What an operator in plain TypeScript takes and makes. */
export interface PlainDefinition {
  /** ONNX's name of it, such as "CumSum". */
  readonly name: string;
  /** What its file calls the node, for messages; default none. */
  readonly node?: string;
  /** Version of the operator set that it is written for. */
  readonly opset: number;
  /** Its attributes with their kinds; default none. */
  readonly attributes?: PlainAttributes;
  /** Of an operator with graphs: names by which these read the last inputs, values around them, in order. */
  readonly captured?: readonly string[];
  /**
   * Operands in ONNX's order: values, a value as a tensor of other sizes than its axes (such as a batch of one in
   * front), constants; undefined for one that is left out.
   */
  readonly inputs: readonly (
    | Value
    | { readonly value: Value; readonly dims: readonly number[] }
    | PlainTensor
    | undefined
  )[];
  /** Type and sizes of every output, all positive. */
  readonly outputs: readonly {
    readonly dtype: Dtype;
    readonly dims: readonly number[];
  }[];
  /**
   * What runs it in the engine's own thread: `runPlain` of the plain operators' registry, or what does the same for this
   * operator. Functions do not cross threads, so workers load the registry themselves.
   */
  readonly run: RunPlain;
}

/** What runs for real where there is no kernel. */
export interface PlainOperators {
  /**
   * An ONNX operator in plain TypeScript, run for every request by itself, on the worker, over values of any type but
   * q8. A request whose operator throws, or makes something else than was said, fails alone, with a CellError.
   * @returns its outputs
   */
  Plain(definition: PlainDefinition): Value[];
}

const FIELDS = [
  ...["name", "node", "opset", "attributes", "captured", "inputs"],
  ...["outputs", "run"],
];

export const plainRowOperators = (body: CellBody): PlainOperators => ({
  Plain(definition) {
    body.known("Plain", definition, FIELDS);
    const { name, opset, attributes = new Map(), captured, inputs } =
      definition;
    const { outputs, run, node } = definition;
    body.expect(
      typeof name === "string" && Number.isInteger(opset) &&
        (node === undefined || typeof node === "string") &&
        typeof run === "function" && isList(inputs) && isList(outputs) &&
        outputs.length > 0,
      `Plain ${describe(name)} of version ${
        describe(opset)
      } takes inputs, outputs and run`,
    );
    for (const [attribute, { kind }] of attributes) {
      body.expect(
        kind !== "graphs" && (kind !== "graph" || captured !== undefined),
        `Plain ${name} has a graph, "${attribute}", and does not say what it reads ("captured")`,
      );
    }
    const values: Value[] = [];
    const operands = inputs.map((given): PlainOperand => {
      if (given === undefined || "data" in given) return given;
      const { value, dims } = "value" in given
        ? given
        : { value: given, dims: axesOf(given) };
      body.own(`an input of Plain ${name}`, value);
      body.expect(
        value.dtype !== "q8" && elementCount(dims) === value.width,
        `Plain ${name} of ${value.dtype}[${value.width}] as ${describe(dims)}`,
      );
      return { input: values.push(value) - 1, dims: [...dims] };
    });
    const made = outputs.map(({ dtype, dims }) => {
      body.expect(
        DTYPES.includes(dtype) &&
          dims.every((size) => Number.isInteger(size) && size >= 1),
        `Plain ${name} makes ${describe(dtype)} of ${describe(dims)}`,
      );
      return body.shaped(dtype, [...dims]);
    });
    body.emit({
      op: "Plain",
      ...{ name, opset, attributes, operands, run },
      ...(node !== undefined && { node }),
      ...(captured && { captured: [...captured] }),
      inputs: values,
      outputs: made,
    });
    return made;
  },
});
