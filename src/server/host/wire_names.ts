/** What programs call a field, protocols call otherwise: `maxSteps` is "max_steps". */
import { RequestFieldError } from "../../base/request_field_error.ts";

/** A field's name in protocols. */
export function wireName(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What is wrong with a request, for its client. */
export function wireMessage(error: Error): string {
  return error instanceof RequestFieldError
    ? `"${wireName(error.field)}" ${error.problem}`
    : error.message;
}
