/** A model of an ONNX file as `shoal bench`, `shoal profile` and `shoal simulate` take models. */
import type { BuiltModel } from "./bench_models.ts";
import { shapeText } from "../onnx/input_tensors.ts";
import { type FileOptions, loadFile, type Writing } from "./onnx_file.ts";
import { givenRequests, requestInputs } from "./onnx_inputs.ts";

/** Different requests that are drawn: thousands of images would not fit, and take the same time. */
const DRAWN = 16;

/** Options of a file and its inputs. */
export interface BuiltFileOptions extends FileOptions {
  readonly input?: readonly string[];
}

/**
 * Loads a file.
 * @param seed of the inputs that are drawn
 * @param writing how options are written where they are given; default: on a command line
 * @throws UsageError saying what is wrong with it or with an option
 */
export async function builtFile(
  command: string,
  path: string,
  options: BuiltFileOptions,
  seed: number,
  writing?: Writing,
): Promise<BuiltModel> {
  const model = await loadFile(command, path, options, writing);
  const { input = [] } = options;
  const requests = givenRequests(command, model, input, {
    seed,
    otherwise: DRAWN,
  });
  const drawn = model.inputs.length - input.length;
  const given = input.length === 0
    ? `${requests.length} requests drawn with seed ${seed}`
    : `${requests.length} requests given${
      drawn === 0 ? "" : `, ${drawn} of their inputs drawn with seed ${seed}`
    }`;
  return {
    model,
    sizes: {
      cells: model.cells.length,
      ...Object.fromEntries(
        model.inputs.map((spec) => [
          spec.name,
          `${spec.dtype}${shapeText(spec)}`,
        ]),
      ),
    },
    inputs: requestInputs(requests, given),
    samples: 1,
  };
}

/** Whether what a command is given is such a file. */
export function isFile(model: string): boolean {
  return /\.onnx$/i.test(model);
}
