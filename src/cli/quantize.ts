/** `shoal quantize`: an ONNX file with weights of int8, and what that costs in accuracy. */
import { statSync } from "node:fs";
import { specialAsText } from "../base/json_numbers.ts";
import { ServingEngine } from "../engine/wall/serving.ts";
import type { Result } from "../graph/result.ts";
import type { OnnxCellModel } from "../onnx/model.ts";
import { OnnxError } from "../onnx/place.ts";
import { quantizeOnnx } from "../onnx/quantize.ts";
import type {
  QuantizedFile,
  QuantizeOptions,
} from "../onnx/quantize/quantize_file.ts";
import { openSource } from "../onnx/source.ts";
import { serial } from "../policy/baselines/serial.ts";
import { renderTable } from "../report/table.ts";
import { accuracyOf, type OutputAccuracy } from "./accuracy.ts";
import { checkApart, checkWritable, writeBytes } from "./files.ts";
import { REQUESTS_COMPARED_MAX } from "./limits.ts";
import {
  loadFile,
  loading,
  missingModel,
  ONNX_HELP,
  ONNX_OPTIONS,
} from "./onnx_file.ts";
import {
  type Elements,
  givenRequests,
  INPUT_OPTION,
  inputFiles,
} from "./onnx_inputs.ts";
import { integerOption, readOptions, see, seedOption } from "./options.ts";
import { printBeside, progress, stdoutColor, UsageError } from "./terminal.ts";

const NAME = "shoal quantize";
const REQUESTS = 32;

const HELP = `${NAME} MODEL.onnx [-o OUT.onnx] [options]

Writes the file with weights of int8, a scale for each output; what products multiply them with is quantised when a
request runs, over that request alone. MatMul, Gemm and Conv of constant weights; recurrent layers stay float32, but
for LSTMs with --recurrent. Any runtime of ONNX reads it. Prints which layers, how many bytes, and how far results are
from those of the floats.

  -o, --out FILE    default MODEL.int8.onnx
  --exclude NODE    a node that stays as it is; again for further ones
  --recurrent       LSTMs, too, as DynamicQuantizeLSTM: an operator that ONNX Runtime has, not ONNX
  --bits 7|8        of a weight (default 8); with 7 ONNX Runtime's sums are exact on every x86 processor
  --input NAME=FILE what results are compared on, a row of it each; .npy, .pb (TensorProto) or .json
  --requests N      drawn instead, at random (default ${REQUESTS}; 0 compares nothing)
  --seed N          of them (default 1)
${ONNX_HELP}
  --json            as JSON`;

export async function quantize(args: string[]): Promise<number> {
  const given = readOptions({
    name: NAME,
    help: HELP,
    positionalsMax: 1,
    options: {
      ...ONNX_OPTIONS,
      ...INPUT_OPTION,
      out: { type: "string", short: "o" },
      exclude: { type: "string", multiple: true, default: [] },
      recurrent: { type: "boolean", default: false },
      bits: { type: "string" },
      requests: { type: "string" },
      seed: { type: "string" },
      json: { type: "boolean", default: false },
    },
  }, args);
  if (given === undefined) return 0;
  const { values, positionals: [path] } = given;
  const seed = seedOption(values.seed);
  const otherwise = integerOption("requests", values.requests, REQUESTS, {
    max: REQUESTS_COMPARED_MAX,
  });
  if (values.requests !== undefined && values.input !== undefined) {
    throw new UsageError(
      `--requests are drawn, --input gives them: not both${see(NAME)}`,
    );
  }
  const bits = integerOption("bits", values.bits, 8, { min: 7, max: 8 }) as
    | 7
    | 8;
  if (path === undefined) throw missingModel(NAME);
  const out = values.out ?? `${path.replace(/\.onnx$/i, "")}.int8.onnx`;
  checkApart(out, [path, ...inputFiles(values.input)]);
  const source = await loading(NAME, path, onceRead);
  const floats = await loadFile(NAME, source, values);
  checkWritable(out);
  const requests = givenRequests(NAME, floats, values.input, {
    ...{ seed, otherwise },
  });
  const { exclude, recurrent } = values;
  const file = await quantized(source, { exclude, bits, recurrent });
  if (file.layers.length === 0) {
    throw new UsageError(
      `there is nothing to quantise in ${path}: no ${
        recurrent ? "MatMul, Gemm, Conv or LSTM" : "MatMul, Gemm or Conv"
      } of constant float32 weights`,
    );
  }
  // What cannot be compared, since it leaves an axis free for one, takes no file's place.
  const bytes = await loadFile(NAME, file.bytes, values);
  writeBytes(out, file.bytes);
  progress(`saved: ${out}`);
  const accuracy = await compared(floats, bytes, requests);
  const what = values.input !== undefined
    ? `${requests.length} requests given`
    : `${requests.length} requests drawn at random with seed ${seed}`;
  if (values.json) {
    const { layers, left, notes, bytes: { length }, bytesBefore } = file;
    const files = { out, bytesBefore, bytesAfter: length };
    printBeside(
      [out],
      JSON.stringify({
        ...files,
        layers,
        left,
        notes,
        compared: what,
        accuracy,
      }, specialAsText),
    );
  } else {
    const isGiven = values.input !== undefined;
    printBeside([out], textOf(file, what, accuracy, isGiven));
  }
  return 0;
}

/** What is read twice; a pipe has it only once. */
async function onceRead(
  source: string | Uint8Array,
): Promise<string | Uint8Array> {
  const isPipe = typeof source === "string" &&
    statSync(source, { throwIfNoEntry: false })?.isFIFO();
  return isPipe ? (await openSource(source)).bytes : source;
}

async function quantized(
  source: string | Uint8Array,
  options: QuantizeOptions,
): Promise<QuantizedFile> {
  try {
    return await quantizeOnnx(source, options);
  } catch (error) {
    if (error instanceof OnnxError) throw new UsageError(error.message);
    throw error;
  }
}

async function compared(
  floats: OnnxCellModel,
  bytes: OnnxCellModel,
  requests: readonly Elements[],
): Promise<OutputAccuracy[]> {
  if (requests.length === 0) return [];
  progress(`comparing ${requests.length} requests`);
  const wanted = await answers(floats, requests);
  const got = await answers(bytes, requests);
  return floats.results.map((spec) =>
    accuracyOf(spec, got.map((result, i) => [result, wanted[i]] as const))
  );
}

async function answers(
  model: OnnxCellModel,
  requests: readonly Elements[],
): Promise<Result[]> {
  await using engine = await ServingEngine.create({
    models: [model],
    policy: serial(),
    workers: 0,
  });
  const results: Result[] = [];
  for (const request of requests) {
    results.push((await engine.run(model, request)).outputs);
  }
  return results;
}

function textOf(
  { layers, left, notes, bytes, bytesBefore }: QuantizedFile,
  what: string,
  accuracy: readonly OutputAccuracy[],
  isGiven: boolean,
): string {
  const table = (columns: readonly string[], rows: readonly string[][]) =>
    renderTable({
      columns: columns.map((title, i) => ({
        title,
        align: i === 0 ? "left" : "right",
      })),
      rows: rows.map((row) => row.map((text) => ({ text }))),
    }, { color: stdoutColor() }).trimEnd();
  const sum = (of: (layer: typeof layers[number]) => number) =>
    layers.reduce((total, layer) => total + of(layer), 0);
  const [before, after] = [
    sum(({ bytesBefore }) => bytesBefore),
    sum(({ bytesAfter }) => bytesAfter),
  ];
  const share = (value: number) => `${(100 * value).toFixed(1)} %`;
  return [
    table(
      ["layer", "operator", "weight", "bytes", "quantised"],
      layers.map(({ name, op, shape, bytesBefore, bytesAfter }) => [
        ...[name, op, shape.join(" x ")],
        ...[`${bytesBefore}`, `${bytesAfter}`],
      ]),
    ),
    `${layers.length} layers, ${before} bytes of weights are ${after} (${
      share(after / before)
    }); the file is ${bytes.length} of ${bytesBefore}`,
    ...left.map(({ name, op, why }) =>
      `- ${name} (${op}) stays float32: ${why}`
    ),
    ...notes.map((note) => `- ${note}`),
    ...(accuracy.length === 0 ? [] : [
      "",
      table(
        ["output", "max error", "mean", "of up to", "cosine", "same arg-max"],
        accuracy.map((
          { name, maxError, meanError, largest, cosine, sameArgMax },
        ) => [
          name,
          ...[maxError, meanError, largest].map((value) =>
            value.toPrecision(3)
          ),
          cosine.toFixed(6),
          sameArgMax === undefined ? "-" : share(sameArgMax),
        ]),
      ),
      `over ${what}${
        isGiven
          ? ""
          : ": real inputs (--input) have other ranges, and lose less or more"
      }`,
    ]),
  ].join("\n");
}
