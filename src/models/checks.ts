/** Checks of request inputs shared by the models: errors name the value and the way out. */
import type { ImageSize } from "../graph/operator.ts";

export function checkObject(
  model: string,
  input: unknown,
): asserts input is Record<string, unknown> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
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
  for (const key of Object.keys(input)) {
    if (!known.includes(key)) {
      throw new TypeError(
        `A request to "${model}" has no field "${key}"; it takes ${
          known.join(", ")
        }`,
      );
    }
  }
}

/** A sequence of 1 to `tokensMax` token ids in [0, vocabulary). */
export function checkTokens(
  model: string,
  tokens: unknown,
  vocabulary: number,
  tokensMax = Infinity,
  field = "tokens",
): asserts tokens is ArrayLike<number> {
  if (!Array.isArray(tokens) && !(tokens instanceof Int32Array)) {
    throw new TypeError(
      `"${field}" of a request to "${model}" is an array of ids, got ${
        describe(tokens)
      }`,
    );
  }
  if (tokens.length === 0) {
    throw new RangeError(
      `"${field}" of a request to "${model}" is empty; a sequence has at least one id`,
    );
  }
  if (tokens.length > tokensMax) {
    throw new RangeError(
      `"${field}" of a request to "${model}" are ${tokens.length} ids; the model takes up to ${tokensMax}`,
    );
  }
  for (let i = 0; i < tokens.length; i++) {
    if (!isToken(tokens[i], vocabulary)) {
      checkToken(model, tokens[i], vocabulary, `${field}[${i}]`);
    }
  }
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
  if (!Array.isArray(image) && !(image instanceof Float32Array)) {
    throw new TypeError(
      `"image" of a request to "${model}" is a Float32Array or an array of numbers, got ${
        describe(image)
      }`,
    );
  }
  const numbers = height * width * channels;
  if (image.length !== numbers) {
    throw new RangeError(
      `"image" of a request to "${model}" has ${image.length} numbers; ` +
        `[${height}][${width}][${channels}] (height, width, channels) are ${numbers}`,
    );
  }
  for (let i = 0; i < numbers; i++) {
    if (!Number.isFinite(image[i])) {
      throw new RangeError(
        `image[${i}] of a request to "${model}" is ${
          describe(image[i])
        }; pixels are finite numbers`,
      );
    }
  }
}

/** A size option of a model: a positive integer, or the default. */
export function checkSize(model: string, name: string, value: number): number {
  if (!Number.isInteger(value) || value < 1) {
    throw new RangeError(
      `"${name}" of model "${model}" is a positive integer, got ${
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

/** Characters of a value that an error message repeats. */
const SHOWN = 80;

/** A value as an error message names it. */
export function describe(value: unknown): string {
  let text: string | undefined;
  try {
    text = typeof value === "bigint" ? `${value}n` : JSON.stringify(value);
  } catch {
    // Circular: what it is must do.
    text = Object.prototype.toString.call(value);
  }
  if (text === undefined || typeof value === "number") text = String(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
