/** One `fetch` handler for all protocols: no sockets, no files, so that it runs wherever there are Web APIs. */
import { checkedOptions } from "../base/checked_options.ts";
import { describe } from "../base/describe.ts";
import { reporter } from "../engine/wall/reporter.ts";
import { ServingEngine } from "../engine/wall/serving.ts";
import { EngineHost } from "./host/engine_host.ts";
import { Body } from "./http/body.ts";
import { BodyBudget } from "./http/body_budget.ts";
import type { BodyLimits } from "./http/body_limits.ts";
import { Cors } from "./http/cors.ts";
import { httpErrorOf } from "./http/error_status.ts";
import { checkHead, type HeadLimits } from "./http/head_limits.ts";
import type { Answered } from "./http/http_observer.ts";
import type { HttpError } from "./http/http_error.ts";
import { requestIdOf } from "./http/request_id.ts";
import { errorResponse, withHeader } from "./http/respond.ts";
import type { Protocol } from "./http/route.ts";
import type { Handler } from "./runtime/listener.ts";
import type { Connection } from "./http/socket.ts";
import { type Match, Router } from "./http/router.ts";
import { openGate, type Origin } from "./keys/gate.ts";
import { PROTOCOLS } from "./protocols.ts";
import {
  limitsOf,
  SERVER_CHECKS,
  type ServerOptions,
} from "./server_options.ts";

/** Methods whose answers caches keep. */
const READING: readonly string[] = ["GET", "HEAD"];

/** The header by which an answer says whether it may be kept. */
const CACHING = "cache-control";

/** What serves. */
export interface Server {
  /** Runs models. */
  readonly host: EngineHost;
  /** What is read of a request. */
  readonly limits: BodyLimits & HeadLimits;
  /**
   * Answers a request; never rejects.
   * @param connection what is known of its connection, and what the runtime can do with it
   */
  fetch(request: Request, connection?: Origin & Connection): Promise<Response>;
  /** What answers in other protocols, with the same keys, limits and observers: for a port of their own. */
  speaking(protocols: readonly Protocol[]): Handler;
  /**
   * Says that it is not ready any more, and asks clients to leave (`Connection: close`), while requests are served as
   * before: a lame duck, which balancers take out before it is closed.
   */
  leave(): void;
  /** Takes no more requests, lets those that have come finish. An engine that was given stays open. */
  close(): Promise<void>;
}

/** Whether it is an engine or a host, but of a class that another copy of the package has. */
function isForeign(of: unknown): boolean {
  return ["run", "open", "close"].every((method) =>
    typeof (of as Record<string, unknown> | null | undefined)?.[method] ===
      "function"
  );
}

/**
 * Makes a server of an engine, or of a host of engines whose models come and go.
 * @throws TypeError or RangeError on what is neither, or an option that there is not, or that cannot be
 *
 * @example A request without a socket
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstm, ServingEngine } from "@shoal/core";
 * import { createServer, servedTokens } from "@shoal/core/server";
 *
 * const model = lstm({ hidden: 8, vocabulary: 10, head: "classifier" });
 * await using engine = await ServingEngine.create({ models: [model], policy: cellular(), workers: 0 });
 * const server = createServer(engine, { models: [servedTokens(model, { name: "intents" })] });
 * const response = await server.fetch(
 *   new Request("http://localhost/v2/models/intents/infer", {
 *     method: "POST",
 *     body: JSON.stringify({
 *       inputs: [{ name: "tokens", shape: [3], datatype: "INT32", data: [3, 1, 4] }],
 *     }),
 *   }),
 * );
 * const { outputs } = await response.json();
 * assert.deepEqual(outputs.map(({ name }: { name: string }) => name), ["h", "logits"]);
 * await server.close();
 * ```
 */
export function createServer(
  of: EngineHost | ServingEngine,
  given: ServerOptions = {},
): Server {
  const options = checkedOptions("createServer()", given, SERVER_CHECKS);
  const host = of instanceof ServingEngine
    ? EngineHost.around(of, options.models ?? [])
    : of;
  if (!(host instanceof EngineHost)) {
    throw new TypeError(
      `A server is made of a ServingEngine or an EngineHost, got ${
        isForeign(of)
          ? "one of another copy of @shoal/core: engine and server have to come from the same " +
            "(npm ls @shoal/core tells of two; a bundle has one of its own)"
          : describe(of)
      }`,
    );
  }
  const {
    protocols = PROTOCOLS,
    repository,
    version = "unknown",
    observers = [],
    onError,
  } = options;
  const cors = options.cors && new Cors(options.cors);
  const texts = options.monitor?.texts;
  const limits = limitsOf(options.limits);
  const budget = new BodyBudget(limits.bytesTogetherMax);
  const report = (error: unknown, id: string) =>
    reporter(onError && ((error) => onError(error, id)))(error);

  async function answer(
    router: Router,
    request: Request,
    id: string,
    connection: Origin & Connection,
  ): Promise<{ response: Response; answered: Answered }> {
    let match: Match | undefined;
    let key: string | undefined;
    const body = new Body(request, limits, budget);
    let isSocket = false;
    let path = "";
    const told = (given: Response, error?: unknown) => {
      let response = withHeader(given, "x-request-id", id);
      // It is so now: caches may keep what says nothing of it (RFC 9111, section 4.2.2), Varnish does for two minutes.
      if (READING.includes(request.method) && !response.headers.has(CACHING)) {
        response = withHeader(response, CACHING, "no-store");
      }
      // The port closes soon: who keeps the connection would send the next request into that.
      if (host.state !== "serving" && !isSocket) {
        response = withHeader(response, "connection", "close");
      }
      cors?.share(request, response, match?.route.scope);
      return {
        response,
        answered: {
          status: response.status,
          ...(match && {
            route: match.route.path,
            protocol: match.protocol.name,
            ...(match.params["model"] && { model: match.params["model"] }),
          }),
          ...(key !== undefined && { key }),
          ...(error !== undefined && { error }),
        },
      };
    };
    const openSocket: Connection["openSocket"] = connection.openSocket &&
      ((handlers, protocol) => {
        cors?.checkSocket(request);
        isSocket = true;
        return connection.openSocket!(handlers, protocol);
      });
    try {
      const url = new URL(request.url);
      path = url.pathname;
      checkHead(request, limits);
      const preflight = cors?.preflight(
        request,
        () => router.routesAt(path),
      );
      if (preflight) return told(preflight);
      match = router.find(request.method, path);
      const { scope, method } = match.route;
      key = (await openGate(scope, request, options.keys, connection))?.name;
      if (scope === "infer" && method === "POST") {
        // Of the highest priority: what the body says nobody knows yet.
        const refusal = host.refusal(1);
        if (refusal) {
          options.monitor?.refusedUnread(match.route.path, refusal);
          throw refusal;
        }
      }
      const response = await match.route.handle({
        request,
        url,
        params: match.params,
        body,
        host,
        ...(repository && { repository }),
        version,
        signal: request.signal,
        requestId: id,
        report: (error) => {
          if (httpErrorOf(error).status === 500) report(error, id);
        },
        ...(key !== undefined && { key }),
        ...(texts && { texts }),
        ...(openSocket && { openSocket }),
      });
      if (request.method !== "HEAD") return told(response);
      // Nobody reads what would be behind the head.
      void response.body?.cancel().catch(() => {});
      return told(new Response(null, response));
    } catch (error) {
      const protocol = match?.protocol ?? router.protocolOf(path);
      const asTold: HttpError = httpErrorOf(error, protocol.overloadedStatus);
      if (asTold.status === 500) report(error, id);
      const response = safely(
        id,
        () => errorResponse(asTold, protocol.errorBody(asTold)),
      );
      return told(response ?? new Response(null, { status: 500 }), error);
    } finally {
      body.release();
    }
  }

  /** What an observer throws is no request's fault, nor what a protocol does that tells of an error. */
  function safely<T>(id: string, tell: () => T): T | undefined {
    try {
      return tell();
    } catch (error) {
      report(error, id);
      return undefined;
    }
  }

  function speaking(protocols: readonly Protocol[]): Handler {
    const router = new Router(protocols);
    return {
      async fetch(request, connection = {}) {
        const id = requestIdOf(request);
        const ended = observers.map((observer) =>
          safely(id, () => observer.began(request, id))
        );
        const { response, answered } = await answer(
          router,
          request,
          id,
          connection,
        );
        for (const end of ended) safely(id, () => end?.(answered));
        return response;
      },
    };
  }

  const { fetch } = speaking([
    ...protocols,
    ...options.monitor?.protocols ?? [],
  ]);
  return {
    host,
    limits,
    fetch,
    speaking,
    leave: () => host.leave(),
    close() {
      options.monitor?.close();
      return host.close();
    },
  };
}
