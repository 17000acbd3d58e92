/** How a text's row is made of its tokens', by the files of sentence-transformers beside a model. */
import { describe } from "../../base/describe.ts";
import { type DenseLayer, readDense } from "../../text/dense.ts";
import { hasWholeRow } from "../../text/outputs.ts";
import { sentenceModules } from "../../text/sentence_modules.ts";
import type { TextModelOptions } from "../../text/text_options.ts";
import { textSettings } from "../../text/text_settings.ts";
import type { TokenModel } from "../../text/token_inputs.ts";
import type { FilesBeside } from "./model_files.ts";

const WEIGHTS = "model.safetensors";
const PICKLED = "pytorch_model.bin";

/** Where poolings are that no `modules.json` names. */
const POOLING_FOLDER = "1_Pooling";

/** What the settings say of it, which counts also where files say what is not known. */
type Given = Pick<TextModelOptions, "output" | "pooling">;

/**
 * Options of a model that embeds texts. One that has a text's row among its outputs has all of it in it.
 * @throws RangeError, TypeError or TextFileError when files are missing, or say what is not known
 */
export async function rowOptions(
  files: FilesBeside,
  model: TokenModel,
  { output, pooling: given }: Given,
): Promise<Pick<TextModelOptions, "pooling" | "dense">> {
  if (hasWholeRow(model, output)) return {};
  const file = await files.read("modules.json");
  const modules = file === undefined
    ? { pooling: POOLING_FOLDER, dense: [] }
    : sentenceModules(file);
  if (file === undefined) await checkNoDense(files);
  const folder = given === undefined ? modules.pooling : undefined;
  const pooling = folder === undefined
    ? undefined
    : await files.folder(folder).read("config.json");
  if (pooling === undefined && folder !== undefined && file !== undefined) {
    throw new RangeError(
      `modules.json names ${folder}, which has no config.json; say with "pooling" of "text" in the settings how rows are pooled`,
    );
  }
  const dense: DenseLayer[] = [];
  for (const name of modules.dense) {
    dense.push(await denseLayer(files.folder(name), name));
  }
  return {
    ...(pooling && textSettings({ pooling })),
    ...(dense.length > 0 && { dense }),
  };
}

/** Without their layers, rows would be others, without a word. */
async function checkNoDense(files: FilesBeside): Promise<void> {
  const found = (await files.folders()).find((name) =>
    /^\d+_Dense$/.test(name)
  );
  if (found === undefined) return;
  throw new RangeError(
    `There is ${
      describe(found)
    }, but no modules.json, which says what it is for`,
  );
}

async function denseLayer(
  folder: FilesBeside,
  name: string,
): Promise<DenseLayer> {
  const config = await folder.read("config.json");
  if (config === undefined) {
    throw new RangeError(
      `modules.json names ${name}, which has no config.json`,
    );
  }
  const weights = await folder.read(WEIGHTS);
  if (weights !== undefined) return readDense({ config, weights }, name);
  const isPickled = await folder.has(PICKLED);
  throw new RangeError(
    `${name} has no ${WEIGHTS}${
      isPickled
        ? `, and ${PICKLED} is not read: write it anew, in Python, by safetensors.torch.save_file(torch.load("${PICKLED}", weights_only=True), "${WEIGHTS}")`
        : ""
    }`,
  );
}
