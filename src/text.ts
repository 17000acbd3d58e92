/**
 * Text in, text out: tokenizers of Hugging Face's files around models whose requests are tokens.
 * @module
 */
export type * from "./mod.ts";
export type { AnswerDefaults } from "./text/answer_options.ts";
export type { ChatMessage, ChatOptions } from "./text/chat/chat_template.ts";
export { readDense } from "./text/dense.ts";
export type { DenseActivation, DenseFiles, DenseLayer } from "./text/dense.ts";
export type { Detokenizer } from "./text/detokenizer.ts";
export { TextFileError, TextTooLongError } from "./text/errors.ts";
export type { GenerateOptions } from "./text/generate_options.ts";
export type { GeneratedEnd, GeneratedPiece } from "./text/generation.ts";
export { generationSettings } from "./text/generation_settings.ts";
export type { GenerationSettings } from "./text/generation_settings.ts";
export type { LikelyToken, TokenLogprobs } from "./text/token_logprobs.ts";
export type { Pooling } from "./text/pooling.ts";
export type {
  RunText,
  StreamText,
  TextRequestOptions,
  TextRun,
  TextSteps,
} from "./text/run_texts.ts";
export type { Prompts } from "./text/prompts.ts";
export { sentenceModules } from "./text/sentence_modules.ts";
export type { SentenceModules } from "./text/sentence_modules.ts";
export { TextModel } from "./text/text_model.ts";
export type {
  EmbedOptions,
  PromptedOptions,
  ScoreOptions,
  Text,
  TextModelOptions,
  TextOptions,
  TextOrPair,
} from "./text/text_options.ts";
export type {
  Classification,
  Embedding,
  LabelScore,
  Relevance,
  TextResult,
  TokenEmbeddings,
} from "./text/text_results.ts";
export { textSettings } from "./text/text_settings.ts";
export type {
  ScoreActivation,
  TextSettings,
  TextSettingsFiles,
} from "./text/text_settings.ts";
export type { TensorOfModel, TokenModel } from "./text/token_inputs.ts";
export { TextTokenizer } from "./text/tokenizer.ts";
export type {
  EncodedText,
  EncodeOptions,
  TokenizerFiles,
} from "./text/tokenizer.ts";
export type { TruncationSide } from "./text/truncate.ts";
