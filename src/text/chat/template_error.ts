import { TextFileError } from "../errors.ts";

/** What is wrong with a template, and where. */
export function templateError(what: string, line: number): TextFileError {
  return new TextFileError(`The chat template, line ${line}: ${what}`);
}
