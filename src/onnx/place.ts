import { shorten } from "../base/describe.ts";
import {
  type OptionWords,
  PROGRAM_WORDS,
  type Worded,
} from "./option_words.ts";

/** Characters that a message repeats of a name. */
const NAME_SHOWN = 60;

/**
 * What is wrong with a model file; the message names file, node and attribute.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { OnnxError, readModel } from "@shoal/core/onnx";
 *
 * try {
 *   readModel(new Uint8Array(2), { label: "model.onnx" });
 *   assert.fail("what is no model is refused");
 * } catch (error) {
 *   assert(error instanceof OnnxError && error instanceof RangeError);
 *   assert.match(error.message, /^Cannot load model.onnx: /);
 * }
 * ```
 */
export class OnnxError extends RangeError {
  /** Of the class, as errors print it. */
  override name = "OnnxError";
}

/** An error whose way out is an option, which callers may know by another name. */
export class OptionError extends OnnxError {
  readonly #worded: Worded;

  constructor(worded: Worded) {
    super(worded(PROGRAM_WORDS));
    this.#worded = worded;
  }

  /** The message for whoever gives options otherwise than programs do. */
  inWords(words: OptionWords): string {
    return this.#worded(words);
  }
}

/** A name in quotes, cut off where it is long. */
export function quoted(name: string): string {
  return `"${shorten(name, NAME_SHOWN)}"`;
}

/** What messages say of a node. */
export interface NamedNode {
  readonly name: string;
  readonly op: string;
  readonly outputs: readonly string[];
}

/** Where in a model something is, for messages. */
export class Place {
  /** What bytes that cannot be read are told not to be. */
  readonly format = "ONNX file";

  /**
   * @param what a part of what is around it, e.g. `attribute "pads"`
   * @param around undefined for the file itself
   */
  constructor(readonly what: string, readonly around?: Place) {}

  /** A part of this. */
  in(what: string): Place {
    return new Place(what, this);
  }

  /** A node of this; one without a name has that of its first result. */
  node({ name, op, outputs }: NamedNode): Place {
    const called = name || (outputs.find((output) => output !== "") ?? "");
    return this.in(`node ${quoted(called)} (${shorten(op, NAME_SHOWN)})`);
  }

  /** @throws OnnxError; OptionError where the reason names options */
  fail(why: string | Worded): never {
    const text = (why: string) => `Cannot load ${this}: ${why}`;
    if (typeof why === "string") throw new OnnxError(text(why));
    throw new OptionError((words) => text(why(words)));
  }

  toString(): string {
    const { around, what } = this;
    if (around === undefined) return what;
    return around.around === undefined
      ? `${around}: ${what}`
      : `${around}, ${what}`;
  }
}
