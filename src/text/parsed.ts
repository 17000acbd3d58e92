import { describe, isList } from "../base/describe.ts";
import { TextFileError } from "./errors.ts";

/**
 * A JSON file's value, of its text or bytes, or as it was parsed already.
 * @param name of the file, for messages
 * @throws TextFileError when it is none
 */
export function parsedJson(name: string, file: unknown): unknown {
  const text = ArrayBuffer.isView(file) || file instanceof ArrayBuffer
    ? new TextDecoder().decode(file as Uint8Array<ArrayBuffer>)
    : file;
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TextFileError(
      `${name} is no JSON: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/**
 * A JSON file's object; see parsedJson.
 * @throws TextFileError when it is none
 */
export function parsed(
  name: string,
  file: unknown,
): Readonly<Record<string, unknown>> {
  const value = parsedJson(name, file);
  if (typeof value === "object" && value !== null && !isList(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new TextFileError(`${name} is an object, got ${describe(value)}`);
}
