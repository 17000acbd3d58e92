/** Finds the route of a request. */
import { HttpError } from "./http_error.ts";
import type { Protocol, Route } from "./route.ts";

/** A route that fits, and what its braces matched. */
export interface Match {
  readonly protocol: Protocol;
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

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
    if (byMethod.size === 0) {
      throw new HttpError(404, "There is nothing at this path");
    }
    const found = byMethod.get(method === "HEAD" ? "GET" : method);
    if (found === undefined) {
      const allow = [...byMethod.keys()].join(", ");
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

  #at(segments: readonly string[]): ReadonlyMap<string, Entry> {
    const byMethod = new Map<string, Entry>();
    for (const entry of this.#entries) {
      const fits = entry.segments.length === segments.length &&
        entry.segments.every((segment, i) =>
          segment.startsWith("{") ? segments[i] !== "" : segment === segments[i]
        );
      if (!fits) continue;
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
