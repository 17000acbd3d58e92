/** Finds the route of a request. */
import { listed } from "../../base/describe.ts";
import { HttpError } from "./http_error.ts";
import type { Protocol, Route } from "./route.ts";

/** A route that fits, and what its braces matched. */
export interface Match {
  readonly protocol: Protocol;
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** Characters of the paths that are told of where there is nothing. */
const TOLD_MAX = 300;

interface Entry {
  readonly protocol: Protocol;
  readonly route: Route;
  readonly segments: readonly string[];
}

/** All routes of some protocols. */
export class Router {
  readonly #entries: readonly Entry[];

  /** @throws RangeError when two routes answer the same */
  constructor(readonly protocols: readonly Protocol[]) {
    const seen = new Set<string>();
    this.#entries = protocols.flatMap((protocol) =>
      protocol.routes.map((route) => {
        const label = `${route.method} ${route.path.replace(/\{\w+\}/g, "{}")}`;
        if (seen.has(label)) {
          throw new RangeError(`Two routes answer ${label}`);
        }
        seen.add(label);
        return { protocol, route, segments: segmentsOf(route.path) };
      })
    );
  }

  /**
   * @param path as it is in a URL; a slash at its end makes no difference
   * @throws HttpError 404, or 405 with the methods that there are
   */
  find(method: string, path: string): Match {
    const segments = segmentsOf(path);
    const byMethod = this.#at(segments);
    if (byMethod.size === 0) throw nothingAmong(this.#like(segments));
    const found = byMethod.get(method === "HEAD" ? "GET" : method);
    if (found === undefined) {
      const allow = [...byMethod.keys()]
        .flatMap((one) => one === "GET" ? [one, "HEAD"] : [one]).join(", ");
      throw new HttpError(405, `This path takes ${allow}`, { allow });
    }
    const params: Record<string, string> = {};
    found.segments.forEach((segment, i) => {
      if (segment.startsWith("{")) {
        params[segment.slice(1, -1)] = decoded(segments[i]);
      }
    });
    return { protocol: found.protocol, route: found.route, params };
  }

  /** What answers at a path, of each method that it takes; nothing where there is nothing. */
  routesAt(path: string): Route[] {
    return [...this.#at(segmentsOf(path)).values()].map(({ route }) => route);
  }

  /** Whose words a path's clients read, whatever is wrong: those of what is like it, or else the first protocol's. */
  protocolOf(path: string): Protocol {
    const [entry] = this.#like(segmentsOf(path));
    return entry?.protocol ?? this.protocols[0];
  }

  /**
   * What a path may have been meant for: it is the end of another one (a client was given an address without what is in
   * front, such as "/v1"), or else it begins like others, as far as any does, or ends in another one (a proxy has kept
   * a prefix, or a client was given "/v1" and puts that in front itself).
   */
  #like(segments: readonly string[]): Entry[] {
    const isEnd = (entry: Entry) =>
      segments.length > 0 &&
      segments.join("/") === entry.segments.slice(-segments.length).join("/");
    const ends = this.#entries.filter(isEnd);
    if (ends.length > 0) return ends;
    const common = this.#entries.map((entry) => {
      const at = entry.segments.findIndex((segment, i) =>
        !fits(segment, segments[i] ?? "")
      );
      const isFull = at < 0 || isBehind(entry, segments);
      return isFull ? entry.segments.length : at;
    });
    const most = Math.max(1, ...common);
    return this.#entries.filter((_, i) => common[i] === most);
  }

  #at(segments: readonly string[]): ReadonlyMap<string, Entry> {
    const byMethod = new Map<string, Entry>();
    for (const entry of this.#entries) {
      const isThere = entry.segments.length === segments.length &&
        entry.segments.every((segment, i) => fits(segment, segments[i]));
      if (!isThere) continue;
      const { method } = entry.route;
      const other = byMethod.get(method);
      // What is spelt out goes before what any name fits.
      if (other === undefined || braces(entry) < braces(other)) {
        byMethod.set(method, entry);
      }
    }
    return byMethod;
  }
}

/** @param given of a request's path */
function fits(segment: string, given: string): boolean {
  return segment.startsWith("{") ? given !== "" : segment === given;
}

/** Whether a path ends in an entry's, whatever is in front. */
function isBehind(entry: Entry, given: readonly string[]): boolean {
  const skipped = given.length - entry.segments.length;
  return skipped >= 0 &&
    entry.segments.every((segment, i) => fits(segment, given[skipped + i]));
}

function nothingAmong(like: readonly Entry[]): HttpError {
  const paths = [...new Set(like.map(({ route }) => route.path))];
  const there = paths.length === 0
    ? ""
    : `; like it there is ${listed(paths, TOLD_MAX)}`;
  return new HttpError(404, `There is nothing at this path${there}`);
}

function segmentsOf(path: string): string[] {
  return path.replace(/\/$/, "").split("/").slice(1);
}

function braces({ segments }: Entry): number {
  return segments.filter((segment) => segment.startsWith("{")).length;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new HttpError(400, "The path is not percent-encoded UTF-8");
  }
}
