/** The page at `/`: what the server does now. One file of HTML without anything from elsewhere. */
import type { Protocol } from "../http/route.ts";
import { EVENT_HEADERS } from "../wire/event_stream.ts";
import type { LiveFeed } from "./live_feed.ts";
import { PAGE_HTML } from "./page_html.ts";

/** A page may run what it brings and ask its own server, and nothing else. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; " +
  "script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/** The page and what it reads. */
export function pageProtocol(feed: LiveFeed): Protocol {
  return {
    name: "page",
    routes: [
      {
        method: "GET",
        path: "/",
        scope: "local",
        handle: () =>
          new Response(PAGE_HTML, {
            headers: {
              "content-type": "text/html; charset=utf-8",
              "content-security-policy": POLICY,
              "cache-control": "no-store",
            },
          }),
      },
      {
        method: "GET",
        path: "/live",
        scope: "local",
        handle: () =>
          new Response(feed.read(), {
            headers: { ...EVENT_HEADERS, "cache-control": "no-store" },
          }),
      },
    ],
    errorBody: ({ message }) => ({ error: message }),
  };
}
