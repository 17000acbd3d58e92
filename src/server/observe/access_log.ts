/** A line of JSON for each request, without anything of its body, its query or its headers. */
import { shorten } from "../../base/describe.ts";
import { nsToMs } from "../../base/units.ts";
import { isoNow, wallNs } from "../../engine/wall/clock.ts";
import type { Answered, HttpObserver } from "../http/http_observer.ts";

/** Characters of a path. */
const PATH_SHOWN = 200;

/**
 * Writes the access log of a server.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { AccessLog, createServer, EngineHost } from "@shoal/core/server";
 * import { cellular } from "@shoal/core";
 *
 * const lines: string[] = [];
 * const host = await EngineHost.create({ policy: () => cellular() });
 * const server = createServer(host, { observers: [new AccessLog((line) => lines.push(line))] });
 * await server.fetch(new Request("http://localhost/v2/health/live"));
 * assert.equal(JSON.parse(lines[0]).status, 200);
 * await server.close();
 * ```
 */
export class AccessLog implements HttpObserver {
  readonly #write: (line: string) => void;

  /**
   * A log that somebody else keeps.
   * @param write takes a line, without its end
   */
  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** See HttpObserver. */
  began(
    { method, url }: Request,
    requestId: string,
  ): (answered: Answered) => void {
    const startNs = wallNs();
    return ({ status, protocol, model, key, error }) =>
      this.#write(JSON.stringify({
        time: isoNow(),
        id: requestId,
        method,
        path: shorten(pathOf(url), PATH_SHOWN),
        status,
        took_ms: Number(nsToMs(wallNs() - startNs).toFixed(3)),
        ...(protocol !== undefined && { protocol }),
        ...(model !== undefined && { model }),
        ...(key !== undefined && { key }),
        ...(error !== undefined && { error: nameOf(error) }),
      }));
  }
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : "";
}

/** What it says may repeat what a client sent. */
function nameOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause ?? error : error;
  return cause instanceof Error ? cause.name : typeof cause;
}
