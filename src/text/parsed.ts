import { describe } from "../base/describe.ts";
import { TextFileError } from "./errors.ts";

/**
 * A JSON file's object, of its text or bytes, or as it was parsed already.
 * @param name of the file, for messages
 * @throws TextFileError when it is none
 */
export function parsed(
  name: string,
  file: unknown,
): Readonly<Record<string, unknown>> {
  let value = file;
  if (ArrayBuffer.isView(file) || file instanceof ArrayBuffer) {
    value = new TextDecoder().decode(file as Uint8Array<ArrayBuffer>);
  }
  if (typeof value === "string") {
    try {
      value = JSON.parse(value);
    } catch (error) {
      throw new TextFileError(
        `${name} is no JSON: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new TextFileError(`${name} is an object, got ${describe(value)}`);
}
