/** What may be wrong with a request before the engine has it. Protocols give each a status in one place. */

/**
 * There is no such model, version, sequence or request.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { NotFoundError } from "@shoal/core/server";
 *
 * assert.equal(new NotFoundError('There is no model "a"').name, "NotFoundError");
 * ```
 */
export class NotFoundError extends Error {
  /** "NotFoundError". */
  override name = "NotFoundError";
}

/**
 * What a request brings does not fit the model; the cause is the engine's TypeError or RangeError.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { InputError } from "@shoal/core/server";
 *
 * assert.equal(new InputError('"tokens" are empty').name, "InputError");
 * ```
 */
export class InputError extends Error {
  /** "InputError". */
  override name = "InputError";
}

/**
 * The model or stream is not to be used any more, or the server is about to end.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { UnavailableError } from "@shoal/core/server";
 *
 * assert.equal(new UnavailableError("The server is about to end").name, "UnavailableError");
 * ```
 */
export class UnavailableError extends Error {
  /** "UnavailableError". */
  override name = "UnavailableError";
}

/**
 * Whoever asks may not use this model.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { ForbiddenError } from "@shoal/core/server";
 *
 * assert.equal(new ForbiddenError("This key may not use this model").name, "ForbiddenError");
 * ```
 */
export class ForbiddenError extends Error {
  /** "ForbiddenError". */
  override name = "ForbiddenError";
}

/**
 * More is asked for than can be done in time. The request was not begun, so that it may be sent again.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { OverloadedError } from "@shoal/core/server";
 *
 * const error = new OverloadedError("As much waits as may wait", 1500, "full");
 * assert.equal(error.retryAfterMs, 1500);
 * ```
 */
export class OverloadedError extends Error {
  /** "OverloadedError". */
  override name = "OverloadedError";

  /** Made where admission is decided. */
  constructor(
    message: string,
    /** When it is worth to try again. */
    readonly retryAfterMs: number,
    /**
     * "full": as much waits as may; "late": it would not be done in time; "displaced": one of higher priority took its
     * place; "key": its key's share is used up.
     */
    readonly reason: "full" | "late" | "displaced" | "key" = "full",
  ) {
    super(message);
  }
}
