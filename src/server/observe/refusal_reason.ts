/** Why a request that was not served was not: one word of few, for labels. */
import {
  CellError,
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

/** What is counted apart. */
export type RefusalReason =
  | OverloadedError["reason"]
  | "deadline"
  | "cancelled"
  | "input"
  | "unavailable"
  | "internal";

/** @param error that a host's request ended with */
export function reasonOf(error: unknown): RefusalReason {
  if (error instanceof OverloadedError) return error.reason;
  if (error instanceof QueueFullError) return "full";
  if (error instanceof DeadlineError) return "deadline";
  if (error instanceof InputError || error instanceof NotFoundError) {
    return "input";
  }
  if (error instanceof CellError) return "input";
  if (error instanceof ForbiddenError) return "key";
  if (error instanceof UnavailableError) return "unavailable";
  if (error instanceof WorkerError) return "internal";
  // Reasons of signals: whatever a client or its caller gave.
  return error instanceof DOMException ? "cancelled" : "internal";
}
