/** The bounded queue is full: slow down, or make `queueMax` larger. */
export class QueueFullError extends Error {
  override name = "QueueFullError";
}

/** The deadline passed before the request was started. */
export class DeadlineError extends Error {
  override name = "DeadlineError";
}

/** Without a stack, which says nothing about a deadline: an overloaded engine makes thousands a second. */
export function deadlineError(message: string): DeadlineError {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return new DeadlineError(message);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The engine was closed, or its workers are gone. */
export class ClosedError extends Error {
  override name = "ClosedError";
}

/** A cell failed on this request's row. */
export class CellError extends Error {
  override name = "CellError";
}

/** The worker died twice that had begun a task with one of the request's rows. */
export class WorkerError extends Error {
  override name = "WorkerError";
}
