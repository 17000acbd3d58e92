/** Answers. */
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
