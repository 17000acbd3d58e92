/**
 * Settings of a model in its folder: `shoal.json`, or `config.json` where that is not another library's. Names are
 * Triton's where the meaning is the same. The schema is published: docs/schemas/model.json.
 */
import * as z from "zod";
import { schemaMistakes } from "../../base/schema_mistakes.ts";
import { MODELS } from "../../models/registry.ts";

const size = z.int().min(1).max(2 ** 30);
const sizes = z.record(z.string(), size);
const number = z.union([z.number(), z.boolean()]);
const ids = z.array(z.int().min(0));

/** Triton's names of element types. */
const dataType = z.enum(["TYPE_FP16", "TYPE_BF16", "TYPE_FP32", "TYPE_FP64"]);

const tensors = z.array(z.strictObject({
  name: z.string(),
  data_type: dataType.describe("What it is on the wire, of single precision"),
}));

const names = Object.keys(MODELS).filter((name) =>
  MODELS[name].input !== "tree"
);

/** What a model's settings may be. */
export const MODEL_SETTINGS = z.strictObject({
  $schema: z.string().optional(),
  name: z.string().optional().describe("The folder's name, if it is said"),
  kind: z.enum([
    "tensors",
    "stream",
    "embedding",
    "classifier",
    "reranker",
    "decoder",
  ]).optional().describe("What it is for; default: what its files say"),
  version_policy: z.union([
    z.strictObject({
      latest: z.strictObject({ num_versions: z.int().min(1) }),
    }),
    z.strictObject({ all: z.strictObject({}) }),
    z.strictObject({
      specific: z.strictObject({ versions: z.array(z.int().min(1)).min(1) }),
    }),
  ]).optional().describe(
    "Which of the numbered folders are served; default: the one of the greatest number",
  ),
  model: z.strictObject({
    name: z.enum(names as [string, ...string[]]),
    options: z.record(z.string(), z.unknown()).default({}),
  }).optional().describe(
    "What model.safetensors has the weights of; names of tensors as the model's documentation lists them",
  ),
  sizes: sizes.optional().describe(
    "Sizes of axes that an ONNX file leaves open",
  ),
  sizes_max: sizes.optional().describe(
    "Most of an axis that stays open, such as a sequence's",
  ),
  shapes: z.record(z.string(), z.array(size)).optional().describe(
    "Sizes of all axes of an input that a file leaves open",
  ),
  constants: z.record(
    z.string(),
    z.union([number, z.array(number)]),
  ).optional().describe(
    "Inputs that are the same in every request, which then do not bring them: a number, or one for each element",
  ),
  cells: z.union([z.enum(["layer", "model"]), z.int().min(0)]).optional()
    .describe("How large cells are, see docs/onnx.md"),
  states: z.record(z.string(), z.string()).optional().describe(
    "Makes it a model of streams: inputs, and the outputs that they are in the next frame",
  ),
  decoder: z.strictObject({
    token: z.string().optional(),
    logits: z.string().optional(),
    states: z.record(z.string(), z.string()).optional(),
    mask: z.string().optional(),
    position: z.string().optional(),
    stop: ids.optional(),
    banned: ids.optional(),
    positions_max: size.optional(),
    steps_max: size.optional(),
    sample: z.boolean().optional(),
    penalties: z.boolean().optional(),
    scores: z.boolean().optional(),
  }).optional().describe(
    "Makes it a decoder that the file has one step of, see docs/onnx.md",
  ),
  input: tensors.optional(),
  output: tensors.optional(),
  sequence_batching: z.strictObject({
    max_sequence_idle_microseconds: z.int().min(1).optional().describe(
      "After so long without a request a sequence is ended; default 60,000,000",
    ),
    oldest: z.strictObject({
      max_candidate_sequences: z.int().min(1).optional(),
    }).optional(),
  }).optional(),
  text: z.strictObject({
    tokens_max: size.optional(),
    pooling: z.enum(["mean", "cls", "last"]).optional(),
    labels: z.array(z.string()).optional(),
    activation: z.enum(["softmax", "sigmoid", "none"]).optional(),
    output: z.string().optional(),
    eos_ids: ids.optional(),
    temperature: z.number().min(0).optional(),
    top_k: z.int().min(0).max(2 ** 31 - 1).optional(),
    top_p: z.number().gt(0).max(1).optional(),
    min_p: z.number().min(0).max(1).optional(),
    repetition_penalty: z.number().gt(0).optional(),
    no_repeat_ngram_size: z.int().min(0).max(2 ** 31 - 1).optional(),
    max_new_tokens: size.optional(),
    min_new_tokens: z.int().min(0).max(2 ** 31 - 1).optional(),
    default_prompt_name: z.string().nullable().optional().describe(
      "Which prompt is in front of texts that are embedded, unless a request names one; null: none",
    ),
  }).optional().describe(
    "Of models of texts, in place of what their files say",
  ),
  auto_truncate: z.boolean().optional().describe(
    "Whether Text Embeddings Inference's requests cut texts that are too long; default true",
  ),
  max_client_batch_size: z.int().min(1).optional().describe(
    "Most texts of one of its requests; default 32",
  ),
  sample_rate: z.int().min(1000).max(768_000).optional().describe(
    "Of audio that a detector of speech hears, for /v1/realtime; default 16,000",
  ),
  parameters: z.record(z.string(), z.unknown()).optional().describe(
    "Anything; told on request",
  ),
});

/** A model's settings. */
export type ModelSettings = z.infer<typeof MODEL_SETTINGS>;

/**
 * Checks settings.
 * @param label what they are called
 * @throws RangeError naming keys
 */
export function modelSettings(value: unknown, label: string): ModelSettings {
  const checked = MODEL_SETTINGS.safeParse(value);
  if (checked.success) return checked.data;
  const { issues } = checked.error;
  const hasStrangeKey = issues.some(({ path, code }) =>
    path.length === 0 && code === "unrecognized_keys"
  );
  const keys = hasStrangeKey
    ? `; it takes ${Object.keys(MODEL_SETTINGS.shape).join(", ")}`
    : "";
  throw new RangeError(`${label}: ${schemaMistakes(issues, value)}${keys}`);
}
