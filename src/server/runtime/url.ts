/** Where a server is reached. */
export function urlOf(
  hostname: string,
  port: number,
  isSecure: boolean,
): string {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return `${isSecure ? "https" : "http"}://${host}:${port}/`;
}

/** The answer to a request whose URL is none: runtimes make it with the header Host, whatever that is. */
export function urlRefusal({ url }: Request): Response | undefined {
  return URL.canParse(url) ? undefined : new Response(null, { status: 400 });
}
