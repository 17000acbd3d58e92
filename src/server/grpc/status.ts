/** Statuses of HTTP as gRPC has them (grpc/grpc, doc/statuscodes.md). */
import type { HttpError } from "../http/http_error.ts";

const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;

const CODES: Readonly<Record<number, number>> = {
  400: INVALID_ARGUMENT,
  401: 16, // UNAUTHENTICATED
  403: 7, // PERMISSION_DENIED
  404: 5, // NOT_FOUND
  405: UNIMPLEMENTED,
  408: DEADLINE_EXCEEDED,
  413: RESOURCE_EXHAUSTED,
  414: INVALID_ARGUMENT,
  422: INVALID_ARGUMENT,
  429: RESOURCE_EXHAUSTED,
  431: RESOURCE_EXHAUSTED,
  499: 1, // CANCELLED
  501: UNIMPLEMENTED,
  503: 14, // UNAVAILABLE: worth trying again
  504: DEADLINE_EXCEEDED,
};

/** The code of a status that is no success. */
export function codeOf({ status }: Pick<HttpError, "status">): number {
  return CODES[status] ?? INTERNAL;
}
