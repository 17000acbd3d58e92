/**
 * Pages of other origins: which of them may read what a server answers (https://fetch.spec.whatwg.org/#http-cors-protocol).
 * They get what anybody gets who may ask models for something, and nothing of administrators': a browser at this machine
 * may look at the server's page without a key, and so might any page in it.
 * Credentials that a browser adds by itself are never asked for: a key is a header that the page sets.
 */
import {
  type Check,
  checkedOptions,
  type Checks,
  listOf,
} from "../../base/checked_options.ts";
import { describe } from "../../base/describe.ts";
import { HttpError } from "./http_error.ts";
import type { Route, Scope } from "./route.ts";

/** Who may read. */
export interface CorsOptions {
  /** Origins as browsers send them, such as "https://app.example", or "*": all. */
  origins: readonly string[];
}

const ANY = "*";

/** Routes of these are shared. */
const SCOPES: readonly Scope[] = ["open", "infer"];

/** How long a browser need not ask again: the most that Chromium takes. */
const MAX_AGE_S = 7200;

/** Names of headers that a page asks for, and how many characters they may have. */
const NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/;
const NAMES_MAX = 1024;

/**
 * What is wrong with an origin that is to be allowed: browsers send it in one form, which has no path and no default
 * port, and to which it is compared as it is.
 * @returns what it has to be; undefined: nothing is wrong
 */
export function originFault(value: unknown): string | undefined {
  if (value === ANY) return undefined;
  const sent = typeof value === "string" ? serialized(value) : undefined;
  if (sent !== undefined && sent === value) return undefined;
  const meant = sent === undefined ? "" : ` (${describe(sent)}?)`;
  return `"*" or an origin as browsers send it, such as "https://app.example"${meant}`;
}

/** Of what is no address of a host, nothing; nor of a pattern, since nothing would match it. */
function serialized(text: string): string | undefined {
  const { protocol, host } = URL.canParse(text) ? new URL(text) : {};
  return host && !host.includes(ANY) ? `${protocol}//${host}` : undefined;
}

const isOrigin: Check = (name, value) => {
  const fault = originFault(value);
  if (fault === undefined) return;
  throw new RangeError(`"${name}" is ${fault}, got ${describe(value)}`);
};

const CHECKS: Checks<CorsOptions> = { origins: listOf(isOrigin) };

/** Says so in answers. */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  /** @throws TypeError or RangeError on an origin that is none */
  constructor(options: CorsOptions) {
    const { origins } = checkedOptions("cors", options, CHECKS, ["origins"]);
    this.#origins = new Set(origins);
  }

  /**
   * What a browser is answered that asks before it sends a page's request: it brings no key then.
   * @param routes of its path
   * @returns undefined where it asks nothing, or nothing is shared
   */
  preflight(
    { method, headers: asked }: Request,
    routes: () => readonly Route[],
  ): Response | undefined {
    if (method !== "OPTIONS" || !asked.has("access-control-request-method")) {
      return undefined;
    }
    const methods = routes().filter(({ scope }) => SCOPES.includes(scope))
      .map(({ method }) => method);
    if (methods.length === 0) return undefined;
    const answer = new Response(null, { status: 204 });
    if (this.#allowed(asked) === undefined) return answer;
    const { headers } = answer;
    headers.set("access-control-allow-methods", methods.join(", "));
    headers.set("access-control-max-age", `${MAX_AGE_S}`);
    const names = asked.get("access-control-request-headers") ?? "";
    if (names.length <= NAMES_MAX && NAMES.test(names)) {
      headers.set("access-control-allow-headers", names);
    }
    return answer;
  }

  /**
   * Lets a page read an answer, be it an error's.
   * @param scope of its route, if it has one
   */
  share(
    { headers: asked }: Request,
    { headers }: Response,
    scope: Scope = "open",
  ): void {
    if (!SCOPES.includes(scope)) return;
    if (!this.#origins.has(ANY)) headers.append("vary", "Origin");
    const allowed = this.#allowed(asked);
    if (allowed === undefined) return;
    headers.set("access-control-allow-origin", allowed);
    // All of them, as there are no credentials.
    headers.set("access-control-expose-headers", "*");
  }

  /**
   * WebSockets have no answers that a browser keeps from a page: they are not opened for those that may not read.
   * Pages of the server's own address may, and what is no browser does not say where it is from.
   * @throws HttpError 403
   */
  checkSocket({ headers: asked }: Request): void {
    const origin = asked.get("origin");
    if (origin === null || this.#allowed(asked) !== undefined) return;
    const isOwn = URL.canParse(origin) &&
      new URL(origin).host === asked.get("host");
    if (isOwn) return;
    throw new HttpError(
      403,
      "Pages of this origin open no WebSockets here: it is none of those of `cors`",
    );
  }

  /** What an answer says is allowed. */
  #allowed(asked: Headers): string | undefined {
    if (this.#origins.has(ANY)) return ANY;
    const origin = asked.get("origin");
    return origin !== null && this.#origins.has(origin) ? origin : undefined;
  }
}
