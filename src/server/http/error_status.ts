/** The one place where errors become statuses. */
import { withoutStack } from "../../base/without_stack.ts";
import {
  CellError,
  ClosedError,
  DeadlineError,
  QueueFullError,
  WorkerError,
} from "../../engine/core/errors.ts";
import {
  ForbiddenError,
  InputError,
  NotFoundError,
  OverloadedError,
  UnavailableError,
} from "../host/errors.ts";
import { HttpError } from "./http_error.ts";

/** Nobody reads it: the client has gone. nginx's number for that. */
export const CLIENT_GONE = 499;

/** When it is worth trying again where nobody has worked it out. */
const RETRY_AFTER_MS = 1000;

/** What a protocol calls being asked for more than can be done. */
export type OverloadedStatus = 429 | 503;

/**
 * What a client is told of an error, whatever it is. Of those that are not its own mistakes it hears no more than that
 * there was one: their messages may name files.
 * @param overloadedStatus the protocol's
 */
export function httpErrorOf(
  error: unknown,
  overloadedStatus: OverloadedStatus = 503,
): HttpError {
  if (error instanceof HttpError) return error;
  const as = (status: number, headers: Record<string, string> = {}) =>
    new HttpError(status, (error as Error).message, headers, { cause: error });
  if (error instanceof InputError) return as(400);
  if (error instanceof NotFoundError) return as(404);
  if (error instanceof ForbiddenError) return as(403);
  // The row was alone to blame: those beside it in its batches did not notice.
  if (error instanceof CellError) return as(422);
  if (error instanceof OverloadedError) {
    return withoutStack(() =>
      as(
        // A key's share is its holder's business, in every protocol.
        error.reason === "key" ? 429 : overloadedStatus,
        retryAfter(error.retryAfterMs),
      )
    );
  }
  if (error instanceof QueueFullError) {
    return as(overloadedStatus, retryAfter(RETRY_AFTER_MS));
  }
  if (error instanceof UnavailableError || error instanceof ClosedError) {
    return as(503, retryAfter(RETRY_AFTER_MS));
  }
  if (error instanceof DeadlineError) return as(504);
  if (error instanceof DOMException && error.name === "AbortError") {
    return as(CLIENT_GONE);
  }
  const message = error instanceof WorkerError
    ? "The worker that computed this died; whether the request is to blame cannot be told"
    : "An error of the server's; its log says more";
  return new HttpError(500, message, {}, { cause: error });
}

/** Whole seconds, as the header has them (RFC 9110, section 10.2.3), and milliseconds, as OpenAI's clients read. */
function retryAfter(ms: number): Record<string, string> {
  return {
    "retry-after": `${Math.max(1, Math.ceil(ms / 1000))}`,
    "retry-after-ms": `${Math.ceil(ms)}`,
  };
}
