/**
 * Errors as Text Embeddings Inference has them: `{ error, error_type }`, and its statuses (its router, `lib.rs` and
 * `http/server.rs`, and the OpenAPI document of 1.9.3).
 * Deviation: a batch that is too large is answered with 413, as the document has it; the router says 422.
 */
import { CellError } from "../../engine/core/errors.ts";
import { TextFileError } from "../../text/errors.ts";
import { InputError } from "../host/errors.ts";
import { HttpError } from "../http/http_error.ts";
import { WrongKindError } from "../texts/served_text.ts";
import { FieldError } from "../wire/fields.ts";
import { BatchSizeError, EmptyError } from "./inputs.ts";

type ErrorType =
  | "Unhealthy"
  | "Backend"
  | "Overloaded"
  | "Validation"
  | "Tokenizer"
  | "Empty";

/** The body of an error's answer. */
export function errorBody(
  { message, status, cause }: HttpError,
): { readonly error: string; readonly error_type: ErrorType } {
  return {
    error: message,
    error_type: cause instanceof EmptyError ? "Empty" : typeOf(status),
  };
}

function typeOf(status: number): ErrorType {
  if (status === 424 || status === 500 || status === 504) return "Backend";
  if (status === 429) return "Overloaded";
  return status === 503 ? "Unhealthy" : "Validation";
}

/** With the protocol's status, where it has one of its own; otherwise what it was. */
export function asHttpError(error: unknown): unknown {
  const status = statusOf(error);
  if (status === undefined) return error;
  return new HttpError(status, (error as Error).message, {}, { cause: error });
}

function statusOf(error: unknown): number | undefined {
  if (error instanceof EmptyError) return 400;
  if (error instanceof BatchSizeError) return 413;
  if (error instanceof FieldError || error instanceof InputError) return 422;
  if (error instanceof WrongKindError || error instanceof CellError) return 424;
  // Such as one that has no rows for tokens.
  if (error instanceof TextFileError) return 424;
  return undefined;
}
