/**
 * What a request is answered with when it cannot be served.
 *
 * @example A route of one's own that refuses
 * ```ts
 * import assert from "node:assert/strict";
 * import { HttpError, type Route } from "@shoal/core/server";
 *
 * const route: Route = {
 *   method: "GET",
 *   path: "/teapot",
 *   scope: "open",
 *   handle() {
 *     throw new HttpError(418, "I am a teapot");
 *   },
 * };
 * assert.throws(() => route.handle(undefined as never), HttpError);
 * ```
 */
export class HttpError extends Error {
  /** "HttpError". */
  override name = "HttpError";

  /** Thrown by routes; whatever else they throw goes through `httpErrorOf`. */
  constructor(
    /** 4xx or 5xx. */
    readonly status: number,
    /** Told to the client: names nothing of this machine. */
    message: string,
    /** Headers of the answer. */
    readonly headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
