/** Errors as OpenAI's clients read them: `{ error: { message, type, param, code } }`. */
import { RequestFieldError } from "../../base/request_field_error.ts";
import { TextTooLongError } from "../../text/errors.ts";
import { InputError } from "../host/errors.ts";
import { wireName } from "../host/wire_names.ts";
import { HttpError } from "../http/http_error.ts";
import { type Fault, FieldError } from "../wire/fields.ts";

/** What clients are told of an error. */
export interface OpenAIError {
  readonly message: string;
  readonly type: string;
  /** The field that is to blame. */
  readonly param: string | null;
  readonly code: string | null;
}

const FAULTS: Readonly<Record<Fault, string>> = {
  missing: "missing_required_parameter",
  invalid: "invalid_value",
  unknown: "unknown_parameter",
  unsupported: "unsupported_parameter",
};

/** The body of an error's answer. */
export function errorBody(error: HttpError): { readonly error: OpenAIError } {
  const { message, status, cause } = error;
  const field = cause instanceof FieldError ? cause : undefined;
  const theirs = cause instanceof InputError ? cause.cause : undefined;
  const isTooLong = theirs instanceof TextTooLongError;
  const named = theirs instanceof RequestFieldError ? theirs : undefined;
  return {
    error: {
      message,
      type: typeOf(status),
      param: field?.field || (named && wireName(named.field)) || null,
      code: field
        ? FAULTS[field.fault]
        : named
        ? FAULTS.invalid
        : isTooLong
        ? "context_length_exceeded"
        : codeOf(status),
    },
  };
}

/** Of a field that cannot be taken; whatever else it is, it is returned. */
export function asHttpError(error: unknown): unknown {
  if (!(error instanceof FieldError)) return error;
  return new HttpError(400, error.message, {}, { cause: error });
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

function codeOf(status: number): string | null {
  switch (status) {
    case 401:
      return "invalid_api_key";
    case 404:
      return "not_found";
    case 429:
      return "rate_limit_exceeded";
    case 503:
      return "overloaded";
    default:
      return null;
  }
}
