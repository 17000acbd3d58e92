/** A model's folder as served models: one, or one for each numbered folder in it. */
import { shorten } from "../../base/describe.ts";
import { MODELS } from "../../models/registry.ts";
import { decoderModel } from "../../onnx/decoder/decoder_model.ts";
import type { OnnxModel } from "../../onnx/ir.ts";
import { onnxModel } from "../../onnx/model.ts";
import type { OptionWords } from "../../onnx/option_words.ts";
import { OnnxError, OptionError } from "../../onnx/place.ts";
import { readModel } from "../../onnx/read/read_model.ts";
import { BYTES_MAX, openSource, withFiles } from "../../onnx/source.ts";
import { readSafetensors } from "../../tensor/safetensors.ts";
import { namedWeights } from "../../tensor/weights.ts";
import { penaltiesOf } from "../../text/answer_penalties.ts";
import { generationSettings } from "../../text/generation_settings.ts";
import { promptOf, type Prompts } from "../../text/prompts.ts";
import { TextModel } from "../../text/text_model.ts";
import { type TextSettings, textSettings } from "../../text/text_settings.ts";
import type { TokenModel } from "../../text/token_inputs.ts";
import { TextTokenizer } from "../../text/tokenizer.ts";
import type { Datatype } from "../host/datatypes.ts";
import type { ServedModel } from "../host/served_model.ts";
import { wireName } from "../host/wire_names.ts";
import { type BuiltInput, servedBuilt } from "../models/served_built.ts";
import { servedDecoder } from "../models/served_decoder.ts";
import { servedOnnx } from "../models/served_onnx.ts";
import { servedText } from "../models/served_text.ts";
import type { ServedOptions } from "../models/served_options.ts";
import {
  builtOptions,
  decoderOptions,
  type FolderText,
} from "./decoder_options.ts";
import {
  type FilesBeside,
  type ModelFiles,
  versionFiles,
} from "./model_files.ts";
import { type ModelSettings, modelSettings } from "./model_settings.ts";
import { rowOptions } from "./row_options.ts";

const ONNX = "model.onnx";
const WEIGHTS = "model.safetensors";

/** Of which a model's folder has one, or folders of versions have. */
export const MODEL_FILES: readonly string[] = [ONNX, WEIGHTS];

/** Where repositories of Hugging Face's hub have their ONNX files. */
const ONNX_FOLDER = "onnx";

/** What sentence-transformers says of a model's texts, by the names of all its versions. Source: `Transformer.load`. */
const SENTENCE_FILES = [
  "sentence_bert_config.json",
  "sentence_roberta_config.json",
  "sentence_distilbert_config.json",
  "sentence_camembert_config.json",
  "sentence_albert_config.json",
  "sentence_xlm-roberta_config.json",
  "sentence_xlnet_config.json",
];

/** What tokenizers are in that have no `tokenizer.json`. */
const OTHER_TOKENIZERS = [
  "vocab.txt",
  "vocab.json",
  "tokenizer.model",
  "spiece.model",
  "sentencepiece.bpe.model",
];

/** Tokens of a text, where no file says how many there may be. */
const TOKENS_MAX = 512;

/**
 * Loads all versions of a model that its settings say are served, the newest last.
 * @param given settings in place of the folder's
 * @throws RangeError or TypeError when settings or files are none; OnnxError, TextFileError
 */
export async function loadModel(
  name: string,
  files: ModelFiles,
  given?: unknown,
): Promise<ServedModel[]> {
  const { settings, config } = await settingsOf(files, given);
  if (settings.name !== undefined && settings.name !== name) {
    throw new RangeError(
      `Its settings say that it is model "${shorten(settings.name)}"`,
    );
  }
  const versions = chosenVersions(settings, await files.folders());
  const all = { name, settings };
  if (versions.length === 0) {
    const own = { version: "1", folder: files, files, config };
    return [await loadVersion({ ...all, ...own })];
  }
  const loaded: ServedModel[] = [];
  for (const version of versions) {
    const folder = files.folder(version);
    loaded.push(
      await loadVersion({
        ...all,
        ...{ version, folder, files: versionFiles(folder, files) },
        config: ofOthers(await json(folder, "config.json")) ?? config,
      }),
    );
  }
  return loaded;
}

/** A folder's version, and what is the same for all of them. */
interface VersionFiles {
  readonly name: string;
  readonly version: string;
  /** Has the model. */
  readonly folder: ModelFiles;
  /** Has the tokenizer and so on. */
  readonly files: FilesBeside;
  readonly settings: ModelSettings;
  /** Another library's `config.json`. */
  readonly config: unknown;
}

async function settingsOf(
  files: ModelFiles,
  given: unknown,
): Promise<{ settings: ModelSettings; config: unknown }> {
  const found = await json(files, "config.json");
  const config = ofOthers(found);
  const own = given ?? await json(files, "shoal.json") ??
    (config === undefined ? found ?? {} : {});
  return {
    settings: modelSettings(own, given ? "The settings" : "Its settings"),
    config,
  };
}

/** What `config.json` has, if it is another library's. */
function ofOthers(config: unknown): unknown {
  const isOthers = typeof config === "object" && config !== null &&
    ("model_type" in config || "architectures" in config);
  return isOthers ? config : undefined;
}

async function json(files: ModelFiles, name: string): Promise<unknown> {
  const bytes = await files.read(name);
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new RangeError(`${name} is not JSON`, { cause: error });
  }
}

/** Numbered folders that are served, in ascending order. */
function chosenVersions(
  { version_policy: policy = { latest: { num_versions: 1 } } }: ModelSettings,
  folders: readonly string[],
): string[] {
  const numbers = folders.filter((name) => /^[1-9]\d{0,8}$/.test(name))
    .map(Number).sort((a, b) => a - b);
  if ("all" in policy) return numbers.map(String);
  if ("latest" in policy) {
    return numbers.slice(-policy.latest.num_versions).map(String);
  }
  const missing = policy.specific.versions.find((version) =>
    !numbers.includes(version)
  );
  if (missing === undefined) {
    return policy.specific.versions.toSorted((a, b) => a - b).map(String);
  }
  throw new RangeError(`There is no version ${missing}`);
}

async function loadVersion(version: VersionFiles): Promise<ServedModel> {
  const { files, settings, config } = version;
  const beside = await others(files);
  const { banned, unread } = generationSettings(beside.generation ?? {});
  const said = textSettings({
    ...(config !== undefined && { config }),
    ...beside,
  });
  const kind = await textKind(files, settings, said);
  const tokenizer = await tokenizerOf(files);
  const lastIds = lastIdsOf(said, tokenizer);
  const text = { ...said, ...(kind && { kind }), banned, lastIds };
  const lack = tokenizer ? undefined : await lackOf(files, settings);
  const served = await loadTensors(version, text, tokenizer !== undefined)
    .catch((error) => {
      if (lack === undefined || !(error instanceof OnnxError)) throw error;
      // Of texts a size is asked for that would be open with one.
      throw new RangeError(`${lack}; without it: ${error.message}`, {
        cause: error,
      });
    });
  if (served === undefined) {
    throw new RangeError(`There is neither ${ONNX} nor ${WEIGHTS}`);
  }
  if (tokenizer === undefined) {
    return { ...served, ...(lack !== undefined && { notes: [lack] }) };
  }
  const { kind: _, ...read } = said;
  const tokenModel = served.model as TokenModel;
  const {
    tokens_max: tokensMax,
    eos_ids,
    default_prompt_name: defaultPrompt,
    temperature,
    top_k,
    top_p,
    min_p,
    repetition_penalty,
    no_repeat_ngram_size,
    max_new_tokens,
    min_new_tokens,
    ...own
  } = settings.text ?? {};
  const eosIds = eos_ids ?? lastIds;
  const set = generationSettings({
    ...{ temperature, top_k, top_p, min_p, repetition_penalty },
    ...{ no_repeat_ngram_size, max_new_tokens, min_new_tokens },
  });
  const answers = { ...read.answers, ...set.answers };
  const isEmbedding = (settings.kind ?? kind ?? "embedding") === "embedding";
  const model = new TextModel(tokenModel, tokenizer, {
    ...read,
    ...(isEmbedding && await rowOptions(files, tokenModel, own)),
    ...(isEmbedding && await promptOptions(files, defaultPrompt)),
    ...own,
    ...(tokensMax !== undefined && { tokensMax }),
    ...(eosIds && { eosIds }),
    answers,
  });
  const ofTexts = servedText(served, model, settings.kind ?? kind);
  if (ofTexts.kind !== "decoder") return ofTexts;
  const lost = Object.entries(penaltiesOf(answers)).filter(([name]) =>
    !Object.hasOwn(model.answers, name)
  );
  const notes = [
    ...(unread.length === 0 ? [] : [
      `answers are drawn without what generation_config.json has besides: ${
        unread.join(", ")
      }`,
    ]),
    ...lost.map(([name, value]) =>
      `answers are drawn without ${
        wireName(name)
      } ${value}: the decoder takes its scores as they are, as those ${
        settings.model ? "that are built here" : "of files"
      } do unless their settings have ${
        settings.model
          ? '"model": {"options": {"penalties": true}}'
          : '"decoder": {"penalties": true}'
      }`
    ),
  ];
  return { ...ofTexts, ...(notes.length > 0 && { notes }) };
}

/** What a model of texts is for. Those that sentence-transformers embeds with may be decoders by their architecture. */
async function textKind(
  files: FilesBeside,
  { kind }: ModelSettings,
  said: TextSettings,
): Promise<TextSettings["kind"]> {
  if (said.kind !== "decoder") return said.kind;
  const isRow = kind === "classifier" || kind === "reranker";
  if (isRow || kind === "embedding") return kind;
  const isEmbedding = kind === undefined && await files.has("modules.json");
  return isEmbedding ? "embedding" : said.kind;
}

/** What a folder lacks to take texts, if it has another tokenizer than one that is read. */
async function lackOf(
  files: FilesBeside,
  { kind }: ModelSettings,
): Promise<string | undefined> {
  // Who says so wants no texts.
  if (kind === "tensors" || kind === "stream") return undefined;
  for (const name of OTHER_TOKENIZERS) {
    if (!await files.has(name)) continue;
    return `there is ${name}, but no tokenizer.json, by which it would take texts: write that, in Python, by transformers.AutoTokenizer.from_pretrained(".").save_pretrained(".")`;
  }
  return undefined;
}

async function tokenizerOf(
  files: FilesBeside,
): Promise<TextTokenizer | undefined> {
  const tokenizer = await files.read("tokenizer.json");
  if (tokenizer === undefined) return undefined;
  const config = await files.read("tokenizer_config.json");
  const specialTokens = await files.read("special_tokens_map.json");
  const chatTemplate = await files.read("chat_template.jinja");
  return await TextTokenizer.load({
    tokenizer,
    ...(config && { config }),
    ...(specialTokens && { specialTokens }),
    ...(chatTemplate && { chatTemplate }),
  });
}

/**
 * Ids that end answers: those of the files, and the tokenizer's.
 * Source: vLLM, `SamplingParams.update_from_generation_config`.
 */
function lastIdsOf(
  { eosIds }: TextSettings,
  tokenizer: TextTokenizer | undefined,
): readonly number[] | undefined {
  const own = tokenizer?.specialId("eos_token");
  return own === undefined ? eosIds : [...new Set([...eosIds ?? [], own])];
}

/** What sentence-transformers and transformers have beside a model. */
async function others(files: FilesBeside) {
  const generation = await files.read("generation_config.json");
  let sentence: Uint8Array | undefined;
  for (const name of SENTENCE_FILES) sentence ??= await files.read(name);
  return {
    ...(generation && { generation }),
    ...(sentence && { sentence }),
  };
}

/**
 * What stands in front of texts that are embedded.
 * @param name of the one that does where a request names none, in place of what the file says; null: none does
 */
async function promptOptions(
  files: FilesBeside,
  name: string | null | undefined,
): Promise<Prompts> {
  const file = await files.read("config_sentence_transformers.json");
  const { defaultPrompt, ...all }: Prompts = file
    ? textSettings({ prompts: file })
    : {};
  const chosen = name === undefined ? defaultPrompt : name ?? undefined;
  promptOf(all, chosen, "default_prompt_name");
  return { ...all, ...(chosen !== undefined && { defaultPrompt: chosen }) };
}

async function loadTensors(
  { name, version, folder, settings }: VersionFiles,
  text: FolderText,
  isText: boolean,
): Promise<ServedModel | undefined> {
  const { kind, input = [], output = [] } = settings;
  const { $schema: _, ...config } = settings;
  const options: ServedOptions = {
    name,
    version,
    config,
    ...(kind && { kind }),
    datatypes: Object.fromEntries(
      [...input, ...output].map(({ name, data_type }) => [
        name,
        data_type.slice("TYPE_".length) as Datatype,
      ]),
    ),
  };
  const hasWeights = await folder.has(WEIGHTS);
  if (hasWeights && settings.model) {
    const open = builtOptions(settings, text, isText);
    return await builtModel(folder, settings.model, options, open);
  }
  const inner = folder.folder(ONNX_FOLDER);
  const place = await folder.has(ONNX)
    ? folder
    : await inner.has(ONNX)
    ? inner
    : undefined;
  if (place) {
    return await inSettingWords(() =>
      onnxFile(place, settings, options, text, isText)
    );
  }
  if (!hasWeights) return undefined;
  throw new RangeError(
    `${WEIGHTS} has weights; "model" of the settings says of what model`,
  );
}

/** What a file leaves open, as the settings give it. */
const SETTING_WORDS: OptionWords = {
  sizes: (axis) => `"sizes": {${JSON.stringify(axis)}: ...}`,
  sizesMax: (axis) => `"sizes_max": {${JSON.stringify(axis)}: ...}`,
  shapes: (input) => `"shapes": {${JSON.stringify(input)}: [...]}`,
  constants: (inputs) => `one of ${inputs.join(", ")}`,
  named: (option) => `"decoder": {"${option}": ...}`,
  states: () => `"decoder": {"states": {INPUT: OUTPUT}}`,
  positionsMax: (most) => `"decoder": {"positions_max": ${most ?? "..."}}`,
};

async function inSettingWords<Loaded>(
  load: () => Promise<Loaded>,
): Promise<Loaded> {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new OnnxError(error.inWords(SETTING_WORDS), { cause: error });
  }
}

async function builtModel(
  folder: ModelFiles,
  { name, options }: NonNullable<ModelSettings["model"]>,
  served: ServedOptions,
  open: ReturnType<typeof builtOptions>,
): Promise<ServedModel> {
  const bytes = (await folder.read(WEIGHTS))!;
  const { build, input, options: known } = MODELS[name];
  const weights = namedWeights(readSafetensors(bytes, WEIGHTS), WEIGHTS);
  const draws = known.includes("sample");
  const model = build({ ...(draws && open), ...options, weights });
  return servedBuilt(model, input as BuiltInput, served);
}

async function onnxFile(
  folder: ModelFiles,
  settings: ModelSettings,
  served: ServedOptions,
  text: FolderText,
  isText: boolean,
): Promise<ServedModel> {
  const opened = await openSource(folder.locationOf(ONNX), BYTES_MAX);
  const { bytes, label } = opened;
  const file = await withFiles(
    opened,
    (external) => readModel(bytes, { label, external }),
  );
  const { sizes, sizes_max: sizesMax, shapes, cells, states, constants } =
    settings;
  const isDecoder = settings.decoder !== undefined ||
    isText && text.kind === "decoder" && !text.isEncoderDecoder;
  const given = {
    name: served.name,
    ...(sizes && { sizes }),
    ...(shapes && { shapes }),
    ...(sizesMax && { sizesMax }),
    ...(constants && { constants: new Map(Object.entries(constants)) }),
  };
  if (isDecoder) {
    const decoder = decoderOptions(settings, text, isText);
    return servedDecoder(decoderModel(file, { ...given, decoder }), served);
  }
  const isGiven = sizes ?? sizesMax ?? shapes;
  return servedOnnx(
    onnxModel(file, {
      ...given,
      ...(isText && !isGiven && freeTokens(file, settings, text)),
      ...(cells !== undefined && { cells }),
      ...(states && { states }),
    }),
    served,
  );
}

/** Ids, positions and so on of any number of tokens, as exporters leave them open. */
function freeTokens(
  { graph }: OnnxModel,
  settings: ModelSettings,
  text: TextSettings,
): { sizesMax?: Record<string, number> } {
  const tokens = graph.inputs.find(({ name }) => name === "input_ids") ??
    graph.inputs[0];
  const dim = tokens?.dims?.[1];
  if (typeof dim !== "string") return {};
  const most = settings.text?.tokens_max ?? text.tokensMax ?? TOKENS_MAX;
  return { sizesMax: { [dim]: most } };
}
