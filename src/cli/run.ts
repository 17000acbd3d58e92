/** `shoal run`: one request to a model of an ONNX file. */
import { serial } from "../policy/baselines/serial.ts";
import { ServingEngine } from "../engine/wall/serving.ts";
import type { InputSpec, InputTensor } from "../onnx/input_tensors.ts";
import type { OnnxCellModel } from "../onnx/model.ts";
import { OnnxError } from "../onnx/place.ts";
import { readTensorFile } from "../onnx/read/read_tensor_file.ts";
import { describe } from "../base/describe.ts";
import { readNpy } from "../tensor/npy.ts";
import type { PlainTensor } from "../tensor/plain_tensor.ts";
import { elements, type TensorData } from "../tensor/tensor.ts";
import { readBytes, readText } from "./files.ts";
import { loadFile, ONNX_HELP, ONNX_OPTIONS, sidesOf } from "./onnx_file.ts";
import { readOptions, see } from "./options.ts";
import { print, UsageError } from "./terminal.ts";

const NAME = "shoal run";

const HELP = `${NAME} MODEL.onnx --input NAME=FILE ... [options]

Runs one request and prints its outputs as JSON: shape and elements by name.

  --input NAME=FILE a .npy, a .pb (TensorProto), or a .json list of numbers, nested or not
${ONNX_HELP}`;

export async function run(args: string[]): Promise<number> {
  const given = readOptions({
    name: NAME,
    help: HELP,
    options: { ...ONNX_OPTIONS, input: { type: "string", multiple: true } },
    positionalsMax: 1,
  }, args);
  if (given === undefined) return 0;
  const { values, positionals } = given;
  const model: OnnxCellModel = await loadFile(NAME, positionals[0], values);
  const input: Record<string, InputTensor> = {};
  for (const text of values.input ?? []) {
    const [name, path] = sidesOf("input", text);
    const spec = model.inputs.find((input) => input.name === name);
    if (spec === undefined) {
      throw new UsageError(
        `there is no input ${describe(name)}; there are ${
          model.inputs.map(({ name }) => name).join(", ")
        }${see(NAME)}`,
      );
    }
    input[name] = readInput(path, spec);
  }
  try {
    model.check(input);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const engine = await ServingEngine.create({
    models: [model],
    policy: serial(),
    workers: 0,
  });
  try {
    const { outputs } = await engine.run(model, input);
    const shown = Object.entries(outputs).map(([name, { shape, data }]) => [
      name,
      { shape, data: Array.from<number | bigint>(data).map(Number) },
    ]);
    print(JSON.stringify(Object.fromEntries(shown)));
  } finally {
    await engine.close();
  }
  return 0;
}

/** @throws UsageError when the file is no tensor */
function readInput(path: string, spec: InputSpec): InputTensor {
  try {
    if (/\.npy$/i.test(path)) return shaped(readNpy(readBytes(path), path));
    if (/\.pb$/i.test(path)) {
      return shaped(readTensorFile(readBytes(path), path));
    }
    return ofNumbers(JSON.parse(readText(path)), spec);
  } catch (error) {
    const isTheirs = error instanceof OnnxError ||
      error instanceof RangeError || error instanceof TypeError ||
      error instanceof SyntaxError;
    if (!isTheirs) throw error;
    throw new UsageError(`Cannot read ${describe(path)}: ${error.message}`);
  }
}

function shaped({ dims, data }: PlainTensor): InputTensor {
  return { shape: dims, data: data as TensorData };
}

function ofNumbers(given: unknown, { dtype }: InputSpec): TensorData {
  const numbers: unknown[] = Array.isArray(given)
    ? given.flat(Infinity)
    : [given];
  const data = elements(dtype, numbers.length);
  numbers.forEach((value, i) => {
    if (typeof value !== "number") {
      throw new TypeError(`element ${i} is ${describe(value)}, not a number`);
    }
    data[i] = data instanceof BigInt64Array ? BigInt(value) : value;
  });
  return data;
}
