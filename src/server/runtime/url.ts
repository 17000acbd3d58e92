/** Where a server is reached. */
export function urlOf(
  hostname: string,
  port: number,
  isSecure: boolean,
): string {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return `${isSecure ? "https" : "http"}://${host}:${port}/`;
}

/** Ends a host in a URL, or what is in front of one, and blanks, which are between two that a runtime has joined. */
const OUTSIDE_HOSTS = /[\s/\\?#@]/;

/**
 * The answer to a request whose URL is none, or whose header Host is no host (RFC 9112, section 3.2): runtimes put the
 * two together as they are, so that with `a\b?` in front the path would be another than the one which a proxy has let pass.
 */
export function urlRefusal({ url, headers }: Request): Response | undefined {
  return URL.canParse(url) && isHost(headers.get("host") ?? "")
    ? undefined
    : new Response(null, { status: 400 });
}

/** Whether a header Host, if it can be read as part of a URL at all, is no more than a host and a port there. */
export function isHost(header: string): boolean {
  return !OUTSIDE_HOSTS.test(header);
}
