/** Statuses without a body (Fetch standard). */
const BODILESS: readonly number[] = [101, 103, 204, 205, 304];

/**
 * An answer to HEAD as Deno and Bun send it without a length: of one without a body they say that it is 0, which it is
 * only if GET's is (RFC 9110, section 8.6). Of a body whose end is not known they say nothing, and do not read it.
 * @returns the answer itself where that is no matter
 */
export function headAnswer({ method }: Request, response: Response): Response {
  const { status, body, headers } = response;
  const isAsSaid = method !== "HEAD" || body !== null ||
    headers.has("content-length") || BODILESS.includes(status);
  return isAsSaid ? response : new Response(new ReadableStream(), response);
}
