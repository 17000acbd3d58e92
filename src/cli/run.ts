/** `shoal run`: one request to a model of an ONNX file. */
import { jsonNumbers } from "../base/json_numbers.ts";
import { serial } from "../policy/baselines/serial.ts";
import type { Model } from "../graph/model.ts";
import { ServingEngine } from "../engine/wall/serving.ts";
import type { OnnxCellModel } from "../onnx/model.ts";
import {
  DECODER_HELP,
  DECODER_OPTIONS,
  decoderRequest,
  loadDecoder,
  refuseDecoderOptions,
  TOKENS_HELP,
  TOKENS_OPTIONS,
} from "./onnx_decoder.ts";
import { loadFile, ONNX_HELP, ONNX_OPTIONS } from "./onnx_file.ts";
import { INPUT_OPTION, readInputs } from "./onnx_inputs.ts";
import { readOptions } from "./options.ts";
import { print, UsageError } from "./terminal.ts";

const NAME = "shoal run";

const HELP = `${NAME} MODEL.onnx --input NAME=FILE ... [options]

Runs one request, of one row or several, and prints its outputs as JSON: shape and elements by name. NaN and the
infinities are the strings "NaN", "Infinity" and "-Infinity".

  --input NAME=FILE a .npy, a .pb (TensorProto), or a .json list of numbers, nested or not (and these strings); of a
                    decoder, states and what else it reads besides tokens
${ONNX_HELP}
${DECODER_HELP}
${TOKENS_HELP}`;

export async function run(args: string[]): Promise<number> {
  const given = readOptions({
    name: NAME,
    help: HELP,
    options: {
      ...ONNX_OPTIONS,
      ...INPUT_OPTION,
      ...DECODER_OPTIONS,
      ...TOKENS_OPTIONS,
    },
    positionalsMax: 1,
  }, args);
  if (given === undefined) return 0;
  const { values, positionals } = given;
  const [path] = positionals;
  if (values.decoder) {
    const model = await loadDecoder(NAME, path, values);
    const request = decoderRequest(model, values);
    const inputs = Object.fromEntries(readInputs(NAME, model, values.input));
    return await answered(model, { ...request, inputs });
  }
  refuseDecoderOptions(values);
  const model: OnnxCellModel = await loadFile(NAME, path, values);
  const input = Object.fromEntries(readInputs(NAME, model, values.input));
  return await answered(model, input, () => model.rows?.split(input));
}

/** Runs a request and prints its results. */
async function answered<Input>(
  model: Model<Input>,
  input: Input,
  rows: () => readonly unknown[] | undefined = () => undefined,
): Promise<number> {
  try {
    for (const row of rows() ?? [input]) model.check?.(row);
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
    const shown = Object.entries(outputs).map(([name, { shape, data }]) =>
      `${JSON.stringify(name)}:{"shape":${JSON.stringify(shape)},` +
      `"data":[${jsonNumbers(data)}]}`
    );
    print(`{${shown.join()}}`);
  } finally {
    await engine.close();
  }
  return 0;
}
