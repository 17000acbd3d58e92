/** Checks of the options that every way to read a file has. */
import { describe } from "../base/describe.ts";

function isRecord(option: string, value: unknown): void {
  if (typeof value === "object" && value !== null) return;
  throw new TypeError(`"${option}" is an object, got ${describe(value)}`);
}

export const FILE_CHECKS = {
  name: (option: string, value: unknown) => {
    if (typeof value === "string" && value.length <= 60) return;
    throw new TypeError(
      `"${option}" is a text of up to 60 characters, got ${describe(value)}`,
    );
  },
  constants: (option: string, value: unknown) => {
    if (value instanceof Map) return;
    throw new TypeError(
      `"${option}" is a Map of tensors or numbers, got ${describe(value)}`,
    );
  },
  sizes: isRecord,
  sizesMax: isRecord,
  shapes: isRecord,
};
