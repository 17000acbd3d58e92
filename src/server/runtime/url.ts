/** Where a server is reached. */
export function urlOf(
  hostname: string,
  port: number,
  isSecure: boolean,
): string {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return `${isSecure ? "https" : "http"}://${host}:${port}/`;
}
