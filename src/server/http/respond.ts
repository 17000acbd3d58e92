/** Answers. */
import { describe } from "../../base/describe.ts";
import type { HttpError } from "./http_error.ts";

const JSON_TYPE = "application/json";

/** A value as JSON. */
export function jsonResponse(value: unknown, status = 200): Response {
  return jsonText(JSON.stringify(value), status);
}

/** JSON that is written already. */
export function jsonText(text: string, status = 200): Response {
  return new Response(text, {
    status,
    headers: { "content-type": JSON_TYPE },
  });
}

/** What a request that cannot be served is answered with. */
export function errorResponse(
  { status, headers }: HttpError,
  body: unknown,
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": JSON_TYPE, ...headers },
  });
}

/**
 * An answer with a header more; one like it where its own cannot be changed (`Response.redirect`, or what `fetch` gave).
 * @throws TypeError when a route answered with something else, or with what somebody has read already
 */
export function withHeader(
  response: Response,
  name: string,
  value: string,
): Response {
  if (!response?.headers) {
    throw new TypeError(
      `A route answers with a Response, got ${describe(response)}`,
    );
  }
  if (response.bodyUsed || response.body?.locked) {
    throw new TypeError(
      "A route answers with a Response of its own for each request, got one whose body is read already",
    );
  }
  try {
    response.headers.set(name, value);
    return response;
  } catch {
    const same = new Response(response.body, response);
    same.headers.set(name, value);
    return same;
  }
}
