/** Who may call which route. */
import { HttpError } from "../http/http_error.ts";
import type { Scope } from "../http/route.ts";
import type { KeyEntry, KeyRing } from "./key_ring.ts";

/** What is known of where a request comes from; a fetch handler alone knows nothing. */
export interface Origin {
  /** Whether the other end of the connection is this machine. */
  readonly isLoopback?: boolean;
}

/** Names by which a browser on this machine reaches it; any other may be a page's that has taken its address. */
const LOCAL_NAMES = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * The key that opened a route, if keys there are.
 * @throws HttpError 401 without a key that is known, 403 when it does not open this
 */
export async function openGate(
  scope: Scope,
  request: Request,
  keys: KeyRing | undefined,
  origin: Origin,
): Promise<KeyEntry | undefined> {
  if (scope === "open") return undefined;
  const key = scope !== "local" && isMadeToSend(request)
    ? undefined
    : await keys?.find(request.headers);
  if (key?.scope === "admin") return key;
  if (scope === "infer") {
    if (keys === undefined || key) return key;
    throw unauthorized("Bearer");
  }
  if (!keys?.hasAdmin) {
    // What changes nothing may be looked at from this machine, if there is nobody for it. Who has set up a key may have
    // a proxy on this machine, too, through which everybody comes from here.
    if (scope === "local" && isLocal(request, origin)) return key;
    throw new HttpError(
      403,
      "Calls of administrators are off: the server has no key for them",
    );
  }
  if (key) {
    throw new HttpError(403, "This key opens no calls of administrators");
  }
  // A browser asks for a password then.
  throw unauthorized(scope === "local" ? "Basic" : "Bearer");
}

/**
 * Whether a page may have made a browser send a password that it knows from the server's own page: it adds it by itself,
 * whoever's page that is, and says whose it is wherever that could change something, or be a WebSocket.
 */
function isMadeToSend({ headers }: Request): boolean {
  return headers.has("origin") &&
    /^basic /i.test(headers.get("authorization") ?? "");
}

function isLocal({ url }: Request, { isLoopback }: Origin): boolean {
  return isLoopback === true && LOCAL_NAMES.test(new URL(url).hostname);
}

function unauthorized(scheme: string): HttpError {
  return new HttpError(401, "A key is needed that the server knows", {
    "www-authenticate": `${scheme} realm="shoal"`,
  });
}
