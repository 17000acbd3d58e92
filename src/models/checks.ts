/** Checks of options and request inputs shared by the models: errors name the value and the way out. */
import { describe, isList } from "../base/describe.ts";
import { knownOptions } from "../base/options.ts";
import type { ImageSize } from "../graph/operator.ts";

export function checkObject(
  model: string,
  input: unknown,
): asserts input is Record<string, unknown> {
  if (typeof input !== "object" || input === null || isList(input)) {
    throw new TypeError(
      `A request to "${model}" is an object, got ${describe(input)}`,
    );
  }
}

export function checkKeys(
  model: string,
  input: Record<string, unknown>,
  known: readonly string[],
): void {
  knownOptions(`A request to "${model}"`, input, known, "field");
}

/** Most tokens of a request, steps of a decoder and leaves of a tree, where a model's options do not say. */
export const LENGTH_MAX = 16_384;

/**
 * A sequence of 1 to `tokensMax` token ids in [0, vocabulary), checked and copied: what a proxy or shared
 * memory holds may be something else at a second look. Models read it in `check`, and again in `unfold`.
 */
export function readTokens(
  model: string,
  tokens: unknown,
  vocabulary: number,
  tokensMax: number,
  field = "tokens",
  option = "tokensMax",
): Int32Array {
  if (!isList(tokens) && !isView(tokens, Int32Array)) {
    throw new TypeError(
      `"${field}" of a request to "${model}" is an array of ids, got ${
        describe(tokens)
      }${ArrayBuffer.isView(tokens) ? "; copy it into an Int32Array" : ""}`,
    );
  }
  const { length } = tokens;
  if (length === 0) {
    throw new RangeError(
      `"${field}" of a request to "${model}" is empty; a sequence has at least one id`,
    );
  }
  if (!(length <= tokensMax)) {
    throw new RangeError(
      `"${field}" of a request to "${model}" are ${
        describe(length)
      } ids; the model takes up to ${tokensMax} (its option "${option}")`,
    );
  }
  const ids = new Int32Array(length);
  for (let i = 0; i < length; i++) {
    const id: unknown = tokens[i];
    if (!isToken(id, vocabulary)) {
      checkToken(model, id, vocabulary, `${field}[${i}]`);
    }
    ids[i] = id as number;
  }
  return ids;
}

/** Whether a value is a typed array of a kind; a proxy of one passes for it with `instanceof` alone. */
function isView<View extends Int32Array | Float32Array>(
  value: unknown,
  View: new (length: number) => View,
): value is View {
  return ArrayBuffer.isView(value) && value instanceof View;
}

function isToken(id: unknown, vocabulary: number): boolean {
  return Number.isInteger(id) && (id as number) >= 0 &&
    (id as number) < vocabulary;
}

/** @throws RangeError unless the id is one of the vocabulary's */
export function checkToken(
  model: string,
  id: unknown,
  vocabulary: number,
  where: string,
): void {
  if (!isToken(id, vocabulary)) {
    throw new RangeError(
      `${where} of a request to "${model}" is ${
        describe(id)
      }; ids are integers from 0 to ${vocabulary - 1}`,
    );
  }
}

/** `{ image }`: as many finite numbers as the model's images have. */
export function checkImageInput(
  model: string,
  input: unknown,
  { height, width, channels }: ImageSize,
): asserts input is { image: ArrayLike<number> } {
  checkObject(model, input);
  checkKeys(model, input, ["image"]);
  const { image } = input;
  if (!isList(image) && !isView(image, Float32Array)) {
    throw new TypeError(
      `"image" of a request to "${model}" is a Float32Array or an array of numbers, got ${
        describe(image)
      }`,
    );
  }
  const numbers = height * width * channels;
  if (image.length !== numbers) {
    throw new RangeError(
      `"image" of a request to "${model}" has ${
        describe(image.length)
      } numbers; ` +
        `[${height}][${width}][${channels}] (height, width, channels) are ${numbers}`,
    );
  }
  for (let i = 0; i < numbers; i++) {
    const pixel: unknown = image[i];
    if (!Number.isFinite(pixel)) {
      throw new RangeError(
        `image[${i}] of a request to "${model}" is ${
          describe(pixel)
        }; pixels are finite numbers`,
      );
    }
  }
}

/** The numbers of an image that was checked: as many as there are to be, whatever it says it has now. */
export function readImage(
  image: ArrayLike<number>,
  { height, width, channels }: ImageSize,
): Float32Array {
  const numbers = new Float32Array(height * width * channels);
  for (let i = 0; i < numbers.length; i++) numbers[i] = image[i];
  return numbers;
}

/** What a model takes as an utterance. */
export interface FrameLimits {
  /** Numbers of a frame. */
  readonly frameSize: number;
  /** Fewest frames; default 1. */
  readonly framesMin?: number;
  /** Most frames. */
  readonly framesMax: number;
}

/** Frames of finite numbers, one after the other, checked and copied: see readTokens. */
export function readFrames(
  model: string,
  frames: unknown,
  { frameSize, framesMin = 1, framesMax }: FrameLimits,
): Float32Array {
  const field = `"frames" of a request to "${model}"`;
  if (!isList(frames) && !isView(frames, Float32Array)) {
    throw new TypeError(
      `${field} is a Float32Array or an array of numbers, got ${
        describe(frames)
      }`,
    );
  }
  const { length } = frames;
  const count = length / frameSize;
  if (!(Number.isInteger(count) && count >= framesMin && count <= framesMax)) {
    throw new RangeError(
      `${field} are ${
        describe(length)
      } numbers; the model takes ${framesMin} to ${framesMax} frames ` +
        `(up to its option "framesMax") of ${frameSize} numbers each`,
    );
  }
  const numbers = new Float32Array(length);
  for (let i = 0; i < length; i++) {
    const number: unknown = frames[i];
    if (!Number.isFinite(number)) {
      throw new RangeError(
        `frames[${i}] of a request to "${model}" is ${
          describe(number)
        }; frames are of finite numbers`,
      );
    }
    numbers[i] = number as number;
  }
  return numbers;
}

/**
 * The options of a model are an object with names that it knows.
 * @param known without "weights", which every model takes
 */
export function checkOptions(
  model: string,
  options: unknown,
  known: readonly string[],
): void {
  knownOptions(`Model "${model}"`, options, [...known, "weights"]);
}

/** A size option of a model: a positive integer, or the default. */
export function checkSize(model: string, name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new RangeError(
      `"${name}" of model "${model}" is a positive integer, got ${
        describe(value)
      }`,
    );
  }
  return value;
}

/** An option of a model that lists sizes: at least one, each a positive integer. `what` it lists. */
export function checkSizes(
  model: string,
  name: string,
  value: readonly number[],
  what: string,
): number[] {
  if (!isList(value) || value.length === 0) {
    throw new RangeError(
      `"${name}" of model "${model}" lists ${what}, got ${describe(value)}`,
    );
  }
  return Array.from(
    value,
    (size, i) => checkSize(model, `${name}[${i}]`, size),
  );
}

/** A size of something that a model may do without: 0 then, the default. */
export function checkOptionalSize(
  model: string,
  name: string,
  value = 0,
): number {
  if (value === 0) return 0;
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(
      `"${name}" of model "${model}" is a positive integer, or 0 for none, got ${
        describe(value)
      }`,
    );
  }
  return value;
}

/** @throws RangeError unless the heads divide the rows evenly */
export function checkHeads(
  model: string,
  heads: number,
  hidden: number,
): number {
  if (hidden % checkSize(model, "heads", heads) !== 0) {
    throw new RangeError(
      `"heads" of model "${model}" divides "hidden" (${hidden}), got ${heads}`,
    );
  }
  return heads;
}

/** An option of a model that is one of a few words, or the default. */
export function checkChoice<T extends string>(
  model: string,
  name: string,
  value: T,
  choices: readonly T[],
): T {
  if (!choices.includes(value)) {
    throw new RangeError(
      `"${name}" of model "${model}" is one of ${choices.join(", ")}, got ${
        describe(value)
      }`,
    );
  }
  return value;
}

/** An option of a model that is on or off, the default. */
export function checkFlag(
  model: string,
  name: string,
  value = false,
): boolean {
  if (typeof value !== "boolean") {
    throw new TypeError(
      `"${name}" of model "${model}" is a boolean, got ${describe(value)}`,
    );
  }
  return value;
}
