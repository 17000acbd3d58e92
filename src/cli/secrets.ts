/** What a command's arguments have of keys and passwords. */
import { Buffer } from "node:buffer";
import { UsageError } from "./terminal.ts";

/** Whatever is in front of the host; a header that a server knows somebody by. */
const SECRETS =
  /(?<=^\s*https?:[/\\]*)[^/\\?#]*(?=@)|(?<=^(--header=)?[^:]*(authorization|cookie|key|token)[^:]*:\s*)\S.*/i;

/** An argument as it may be shown to others: in a report, which goes further than the command line. */
export function withoutSecrets(arg: string): string {
  return arg.replace(SECRETS, "…");
}

/**
 * Takes name and password out of a URL, which HTTP does not send as a part of it.
 * Source: RFC 7617, section 2, in UTF-8.
 * @returns the header that they are sent as; none without them
 * @throws UsageError on what the header cannot say
 */
export function takeCredentials(url: URL): { authorization?: string } {
  const { username, password } = url;
  if (username === "" && password === "") return {};
  url.username = url.password = "";
  let [name, secret]: string[] = [];
  try {
    [name, secret] = [username, password].map(decodeURIComponent);
  } catch {
    throw new UsageError("the URL's user is not percent-encoded UTF-8");
  }
  if (name.includes(":")) {
    throw new UsageError("a user's name in a URL has no colon");
  }
  return {
    authorization: `Basic ${
      Buffer.from(`${name}:${secret}`).toString("base64")
    }`,
  };
}
