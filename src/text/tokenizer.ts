/**
 * Text to ids and back, by the files of Hugging Face's tokenizers. `@huggingface/tokenizers` splits words and joins
 * pieces, but for the parts of it that `tokenizer_parts.ts` replaces; it is loaded when the first tokenizer is.
 * Truncation, pairs and special tokens are ours, so that what a request says holds, whatever the file says.
 */
import {
  checkedOptions,
  type Checks,
  listOf,
  ofType,
  oneOf,
  positiveInteger,
} from "../base/checked_options.ts";
import { describe } from "../base/describe.ts";
import { knownOptions } from "../base/options.ts";
import {
  type ChatMessage,
  type ChatOptions,
  ChatTemplate,
} from "./chat/chat_template.ts";
import { Detokenizer } from "./detokenizer.ts";
import { TextFileError, TextTooLongError } from "./errors.ts";
import { parsed } from "./parsed.ts";
import { type Place, type PostProcessor, templateOf } from "./template.ts";
import {
  replaceParts,
  type TokenizerParts,
  understood,
} from "./tokenizer_parts.ts";
import { cutTo, longestFirst, type TruncationSide } from "./truncate.ts";

/** The files of a tokenizer: text, bytes, or what JSON.parse makes of them. */
export interface TokenizerFiles {
  /** `tokenizer.json`. */
  readonly tokenizer: unknown;
  /** `tokenizer_config.json`; default: nothing but defaults. */
  readonly config?: unknown;
  /** `special_tokens_map.json`: tokens by role, of which the configuration has none. */
  readonly specialTokens?: unknown;
  /** `chat_template.jinja`, which counts more than the one of the configuration: text or bytes. */
  readonly chatTemplate?: string | BufferSource;
}

/** How a text is encoded. */
export interface EncodeOptions {
  /** A second text: a question's answer, a query's document. */
  readonly pair?: string;
  /** Whether special tokens go around it, such as [CLS] and [SEP]; default true. */
  readonly addSpecialTokens?: boolean;
  /** Most tokens, special ones included; default: any number. */
  readonly tokensMax?: number;
  /** Whether a longer text is cut; default false: it is refused. */
  readonly truncate?: boolean;
  /** Which end is cut off; default "right". */
  readonly truncationSide?: TruncationSide;
}

const FILES = [
  "tokenizer",
  "config",
  "specialTokens",
  "chatTemplate",
] satisfies (keyof TokenizerFiles)[];

const ENCODE_CHECKS: Checks<EncodeOptions> = {
  pair: ofType("string"),
  addSpecialTokens: ofType("boolean"),
  tokensMax: positiveInteger,
  truncate: ofType("boolean"),
  truncationSide: oneOf(["left", "right"]),
};

/** A text as its model takes it. */
export interface EncodedText {
  /** Ids of its tokens. */
  readonly ids: Int32Array;
  /** Of each token, which of two texts it is of (`token_type_ids`). */
  readonly typeIds: Int32Array;
  /** Of each token, 1 where it was added around the texts. */
  readonly added: Uint8Array;
  /** How many tokens were cut off. */
  readonly truncated: number;
}

/** What is used of `@huggingface/tokenizers`. */
interface Backend {
  encode(
    text: string,
    options: { add_special_tokens: false },
  ): { ids: number[] };
  decode(
    ids: number[],
    options: {
      skip_special_tokens: false;
      clean_up_tokenization_spaces: false;
    },
  ): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
}

const CHAT_CHECKS: Checks<ChatOptions> = {
  addGenerationPrompt: ofType("boolean"),
  variables: ofType("object"),
  now: (name, value) => {
    if (value instanceof Date && !Number.isNaN(value.getTime())) return;
    throw new TypeError(`"${name}" is a time, got ${describe(value)}`);
  },
};

/** Tokens in front that a token's text is seen behind: more than a character has bytes. */
const CONTEXT_TOKENS = 8;

type Json = Readonly<Record<string, unknown>>;

/**
 * A tokenizer of a file.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { TextTokenizer } from "@shoal/core/text";
 *
 * const tokenizer = await TextTokenizer.load({
 *   tokenizer: {
 *     normalizer: { type: "BertNormalizer", lowercase: true },
 *     pre_tokenizer: { type: "BertPreTokenizer" },
 *     post_processor: { type: "BertProcessing", cls: ["[CLS]", 1], sep: ["[SEP]", 2] },
 *     decoder: { type: "WordPiece", prefix: "##", cleanup: true },
 *     added_tokens: ["[UNK]", "[CLS]", "[SEP]"].map((content, id) => ({ id, content, special: true })),
 *     model: {
 *       type: "WordPiece",
 *       unk_token: "[UNK]",
 *       continuing_subword_prefix: "##",
 *       vocab: { "[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "shoal": 4, "##s": 5, ".": 6 },
 *     },
 *   },
 * });
 * const { ids } = tokenizer.encode("A Shoals.");
 * assert.deepEqual([...ids], [1, 3, 4, 5, 6, 2]);
 * assert.equal(tokenizer.decode(ids), "a shoals.");
 * assert.deepEqual([...tokenizer.encode("a shoal", { tokensMax: 3, truncate: true }).ids], [1, 3, 2]);
 * assert.deepEqual([...tokenizer.encode("a", { pair: "shoal" }).typeIds], [0, 0, 0, 1, 1]);
 * ```
 */
export class TextTokenizer {
  readonly #backend: Backend;
  readonly #single: readonly Place[];
  readonly #pair: readonly Place[];
  readonly #special: ReadonlySet<number>;
  readonly #config: Json;
  #chat: ChatTemplate | undefined;

  /**
   * Reads a tokenizer.
   * @throws TypeError on a file that it has no name for
   * @throws TextFileError when the files are none of a tokenizer, or say what is not known
   */
  static async load(files: TokenizerFiles): Promise<TextTokenizer> {
    knownOptions("TextTokenizer.load()", files, FILES, "file");
    const tokenizer = parsed("tokenizer.json", files.tokenizer);
    const { chatTemplate, specialTokens } = files;
    const config = {
      ...(files.config !== undefined &&
        parsed("tokenizer_config.json", files.config)),
      ...(chatTemplate !== undefined && {
        chat_template: typeof chatTemplate === "string"
          ? chatTemplate
          : new TextDecoder().decode(chatTemplate),
      }),
    };
    const roles = specialTokens === undefined
      ? {}
      : rolesOf(parsed("special_tokens_map.json", specialTokens));
    // Loaded by who needs it alone.
    const { Tokenizer } = await import("@huggingface/tokenizers").catch(
      (cause: Error) => {
        throw new Error(
          `Cannot load the code of tokenizers: ${cause.message}; ` +
            "service workers import nothing while they run: bundle yours into one file",
          { cause },
        );
      },
    );
    try {
      const file = understood(tokenizer);
      const backend = new Tokenizer(
        {
          normalizer: null,
          pre_tokenizer: null,
          post_processor: null,
          decoder: null,
          added_tokens: [],
          ...file,
        },
        flattened(config, tokenizer["model"]),
      );
      replaceParts(backend as unknown as TokenizerParts, file);
      return new TextTokenizer(
        backend as Backend,
        backend.post_processor as unknown as PostProcessor | null,
        tokenizer,
        { ...roles, ...config },
      );
    } catch (error) {
      throw new TextFileError(
        `tokenizer.json is none that can be read: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }

  private constructor(
    backend: Backend,
    process: PostProcessor | null,
    tokenizer: Json,
    config: Json,
  ) {
    this.#backend = backend;
    this.#config = config;
    const idOf = (token: string): number => {
      const id = backend.token_to_id(token);
      if (id !== undefined) return id;
      throw new TextFileError(
        `special token ${describe(token)} is not in the vocabulary`,
      );
    };
    const written = tokenizer["post_processor"];
    this.#single = templateOf(process, written, false, idOf);
    this.#pair = templateOf(process, written, true, idOf);
    const added = (tokenizer["added_tokens"] ?? []) as readonly {
      readonly id: number;
      readonly special?: boolean;
    }[];
    this.#special = new Set(
      added.filter(({ special }) => special).map(({ id }) => id),
    );
  }

  /** What fills up inputs of a fixed length; 0 where the file names none. */
  get padId(): number {
    return this.specialId("pad_token") ?? 0;
  }

  /** Most tokens of a text as `tokenizer_config.json` has it (`model_max_length`), if it does. */
  get tokensMax(): number | undefined {
    const most = this.#config["model_max_length"];
    // Files that have none say 1e30.
    return typeof most === "number" && most >= 1 && most <= 2 ** 30
      ? most
      : undefined;
  }

  /** The template of chats, in Jinja, of a file of its own or the configuration: of several the one named "default". */
  get chatTemplate(): string | undefined {
    const template = this.#config["chat_template"];
    if (typeof template === "string") return template;
    if (!Array.isArray(template)) return undefined;
    const named = template as readonly { name?: string; template?: string }[];
    return named.find(({ name }) => name === "default")?.template;
  }

  /**
   * A conversation as a prompt, by the tokenizer's template. It has its special tokens in it: encode it with
   * `addSpecialTokens: false`. What messages say is put in as it is, special tokens included.
   * @throws TextFileError when there is no template, it uses what is not known, or refuses the messages
   */
  chatPrompt(
    messages: readonly ChatMessage[],
    options: ChatOptions = {},
  ): string {
    const { addGenerationPrompt = true, variables = {}, now } = checkedOptions(
      "chatPrompt()",
      options,
      CHAT_CHECKS,
    );
    listOf(ofType("object"))("messages", messages);
    const source = this.chatTemplate;
    if (source === undefined) {
      throw new TextFileError("The tokenizer has no template of chats");
    }
    this.#chat ??= new ChatTemplate(source);
    const tokens = ["bos_token", "eos_token", "unk_token", "pad_token"]
      .flatMap((role) => {
        const token = this.specialToken(role);
        return token === undefined ? [] : [[role, token]];
      });
    return this.#chat.render({
      // What transformers gives a template of a conversation without them.
      tools: null,
      documents: null,
      ...Object.fromEntries(tokens),
      ...variables,
      messages,
      add_generation_prompt: addGenerationPrompt,
    }, now);
  }

  /** A token by its role, such as "eos_token" or "pad_token", as `tokenizer_config.json` or `special_tokens_map.json` has it. */
  specialToken(role: string): string | undefined {
    return contentOf(this.#config[role]);
  }

  /** Its id. */
  specialId(role: string): number | undefined {
    const token = this.specialToken(role);
    return token === undefined ? undefined : this.tokenToId(token);
  }

  /** Whether an id is of a special token, which texts leave out. */
  isSpecial(id: number): boolean {
    return this.#special.has(id);
  }

  /** The id of a token, if there is such a one. */
  tokenToId(token: string): number | undefined {
    return this.#backend.token_to_id(token);
  }

  /** The token of an id, if there is such a one. */
  idToToken(id: number): string | undefined {
    return this.#backend.id_to_token(id);
  }

  /** Special tokens around one text, or two. */
  addedTokens(isPair = false): number {
    const places = isPair ? this.#pair : this.#single;
    return places.filter(({ kind }) => kind === "special").length;
  }

  /**
   * Encodes a text, or two.
   * @throws TypeError when it is none, or an option is not one; TextTooLongError when it is longer than `tokensMax`;
   * RangeError when there is no room for special tokens
   */
  encode(text: string, options: EncodeOptions = {}): EncodedText {
    ofType("string")("text", text);
    const {
      pair,
      addSpecialTokens = true,
      tokensMax = Infinity,
      truncate = false,
      truncationSide = "right",
    } = checkedOptions("encode()", options, ENCODE_CHECKS);
    const places = (pair === undefined ? this.#single : this.#pair).filter(
      ({ kind }) => addSpecialTokens || kind === "text",
    );
    const texts = [text, ...(pair === undefined ? [] : [pair])].map((text) =>
      this.#idsOf(text)
    );
    const added = places.filter(({ kind }) => kind === "special").length;
    const counts = texts.map(({ length }) => length);
    const whole = counts.reduce((sum, count) => sum + count, added);
    if (whole > tokensMax && !truncate) {
      throw new TextTooLongError(whole, tokensMax);
    }
    if (added > tokensMax) {
      throw new RangeError(
        `"tokensMax" is ${tokensMax}, of which special tokens alone take ${added}`,
      );
    }
    const room = Math.max(0, tokensMax - added);
    const kept = longestFirst(counts[0], counts[1] ?? 0, room);
    const cut = texts.map((ids, i) => cutTo(ids, kept[i], truncationSide));
    return assembled(places, cut, whole);
  }

  #idsOf(text: string): readonly number[] {
    // It tells nothing from no text.
    if (text === "") return [];
    const { ids } = this.#backend.encode(text, { add_special_tokens: false });
    const missing = ids.findIndex((id) => id === undefined);
    if (missing < 0) return ids;
    throw new RangeError(
      `The tokenizer has no token for a part of the text, and none for what is unknown`,
    );
  }

  /**
   * The text of ids; those that are no token's are left out.
   * @param skipSpecialTokens whether special tokens are left out, too
   */
  decode(ids: ArrayLike<number>, skipSpecialTokens = true): string {
    const known = Array.from(ids).filter((id) =>
      this.idToToken(id) !== undefined &&
      !(skipSpecialTokens && this.isSpecial(id))
    );
    if (known.length === 0) return "";
    return this.#backend.decode(known, {
      skip_special_tokens: false,
      // It would change what was streamed before: tokens behind a space take it away.
      clean_up_tokenization_spaces: false,
    });
  }

  /**
   * Makes text of ids that come one by one.
   * @param context ids in front of them, of which a few count: what follows a word begins with a space
   * @param skipSpecialTokens whether special tokens are left out
   */
  detokenizer(
    context: ArrayLike<number> = [],
    skipSpecialTokens = true,
  ): Detokenizer {
    return new Detokenizer(
      (ids) => this.decode(ids, skipSpecialTokens),
      Array.from(context).slice(-CONTEXT_TOKENS),
    );
  }
}

/** A token's text, which files write alone or with how it is found. */
function contentOf(token: unknown): string | undefined {
  if (typeof token === "string") return token;
  const { content } = (token ?? {}) as { content?: unknown };
  return typeof content === "string" ? content : undefined;
}

/** The configuration as the package reads it: tokens by role are their texts. */
function flattened(config: Json, model: unknown): Json {
  const { unk_token } = (model ?? {}) as { unk_token?: unknown };
  const tokens = Object.entries(rolesOf({ unk_token, ...config }))
    .map(([name, token]) => [name, contentOf(token)]);
  return { ...config, ...Object.fromEntries(tokens) };
}

/** What of a file is tokens by role. */
function rolesOf(file: Json): Json {
  return Object.fromEntries(
    Object.entries(file).filter(([name]) => name.endsWith("_token")),
  );
}

function assembled(
  places: readonly Place[],
  texts: readonly (readonly number[])[],
  whole: number,
): EncodedText {
  const parts = places.map((place) =>
    place.kind === "special" ? [place.id] : texts[place.pair ? 1 : 0]
  );
  const count = parts.reduce((sum, { length }) => sum + length, 0);
  const ids = new Int32Array(count);
  const typeIds = new Int32Array(count);
  const added = new Uint8Array(count);
  let at = 0;
  parts.forEach((part, i) => {
    const { kind, type } = places[i];
    ids.set(part, at);
    typeIds.fill(type, at, at + part.length);
    if (kind === "special") added[at] = 1;
    at += part.length;
  });
  return { ids, typeIds, added, truncated: whole - count };
}
