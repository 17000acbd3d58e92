import { TextFileError } from "../errors.ts";

/** What is wrong with a template, and where. */
export function templateError(what: string, line: number): TextFileError {
  return new TextFileError(`The chat template, line ${line}: ${what}`);
}

/** What is wrong with a value; where is known to the statement that has it. */
export class TemplateValueError extends Error {}
