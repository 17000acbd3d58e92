/** What a client calls its request, if that is short and plain, or an id that no other request has. */
export function requestIdOf({ headers }: Request): string {
  const given = headers.get("x-request-id");
  return given !== null && /^[\w.:-]{1,128}$/.test(given)
    ? given
    : crypto.randomUUID();
}
