/**
 * Spans for OpenTelemetry, through its API package and nothing else: whoever sets up an SDK, or a runtime that brings
 * one, decides what becomes of them; without one they cost a few calls that do nothing. A request's span continues what
 * its `traceparent` began and has two children, told when it has ended: "queue", from arrival to its first batch, and
 * "execute", from there to its last. It ends when its answer is made; of one that is streamed, when that begins.
 */
import { SteadyMap } from "../../base/steady_map.ts";
import { NS_PER_MS, nsToMs } from "../../base/units.ts";
import { dateMs, wallNs } from "../../engine/wall/clock.ts";
import type { HostEnding, HostObserver } from "../host/host_observer.ts";
import type { HostRequest } from "../host/host_request.ts";
import type { Answered, HttpObserver } from "../http/http_observer.ts";

/** What is used of a span (`@opentelemetry/api`). */
export interface TraceSpan {
  /** Names something of it. */
  setAttribute(name: string, value: string | number): unknown;
  /** Says whether it failed. */
  setStatus(status: { code: number }): unknown;
  /** It ends; `endTime` in milliseconds since 1970. */
  end(endTime?: number): void;
}

/** What is used of `@opentelemetry/api`: the module itself is one. */
export interface TraceApi {
  /** Spans and what they hang on. */
  readonly trace: {
    // deno-lint-ignore no-explicit-any -- contexts are the API's own
    setSpan(context: any, span: any): any;
    /** Makes spans. */
    getTracer(name: string): {
      startSpan(
        name: string,
        options: {
          kind?: number;
          startTime?: number;
          attributes?: Record<string, string | number>;
        },
        // deno-lint-ignore no-explicit-any -- as above
        context: any,
      ): TraceSpan;
    };
  };
  /** The context around a call. */
  // deno-lint-ignore no-explicit-any -- as above
  readonly context: { active(): any };
  /** Reads headers. */
  readonly propagation: {
    // deno-lint-ignore no-explicit-any -- as above
    extract(context: any, carrier: any, getter: any): any;
  };
}

/** SpanKind.SERVER and SpanStatusCode.ERROR of the API, whose numbers are the protocol's. */
const SERVER = 1;
const ERROR = 2;

/** What spans below a request's need of it. */
interface Traced {
  readonly context: unknown;
  /**
   * Milliseconds since 1970 of nanoseconds of this thread: by the machine's clock when the request came, as those have it
   * that the trace is from, and from there on by one that is never set.
   */
  msOf(ns: number): number;
}

const HEADERS = {
  get: (headers: Headers, name: string) => headers.get(name) ?? undefined,
  keys: (headers: Headers) => [...headers.keys()],
};

/**
 * Makes spans of a server's requests: give it to its host and to the server.
 *
 * @example With `import * as api from "@opentelemetry/api"`, and an SDK that somebody has set up
 * ```ts
 * import { Tracing, type TraceApi } from "@shoal/core/server";
 *
 * function tracing(api: TraceApi) {
 *   const tracing = new Tracing(api);
 *   return { host: { observers: [tracing] }, server: { observers: [tracing] } };
 * }
 * console.log(tracing);
 * ```
 */
export class Tracing implements HttpObserver, HostObserver {
  readonly #api: TraceApi;
  readonly #tracer: ReturnType<TraceApi["trace"]["getTracer"]>;
  /** Requests that are being answered, by their ids. */
  readonly #answered = new SteadyMap<Traced>();
  /** Of those that have not ended, by label: their answers may have begun, and their spans have ended. */
  readonly #present = new SteadyMap<Traced>();

  /**
   * Spans of one server.
   * @param api the module `@opentelemetry/api`
   */
  constructor(api: TraceApi) {
    this.#api = api;
    this.#tracer = api.trace.getTracer("@shoal/core");
  }

  /** See HttpObserver. */
  began(request: Request, id: string): (answered: Answered) => void {
    const { trace, context, propagation } = this.#api;
    const parent = propagation.extract(
      context.active(),
      request.headers,
      HEADERS,
    );
    const [startMs, startNs] = [dateMs(), wallNs()];
    const msOf = (ns: number) => startMs + nsToMs(ns - startNs);
    const span = this.#tracer.startSpan(
      request.method,
      {
        kind: SERVER,
        startTime: startMs,
        attributes: { "http.request.method": request.method },
      },
      parent,
    );
    const own = { context: trace.setSpan(parent, span), msOf };
    this.#answered.set(id, own);
    return ({ status, route, model }) => {
      // Another request may have the same id by now: clients choose them.
      if (this.#answered.get(id) === own) this.#answered.delete(id);
      span.setAttribute("http.response.status_code", status);
      if (route !== undefined) span.setAttribute("http.route", route);
      if (model !== undefined) span.setAttribute("shoal.model", model);
      if (status >= 500) span.setStatus({ code: ERROR });
      span.end(msOf(wallNs()));
    };
  }

  /** See HostObserver. */
  arrived({ label, id }: HostRequest): void {
    const traced = this.#answered.get(id);
    if (traced === undefined) return;
    this.#present.set(label, traced);
  }

  /** See HostObserver. */
  ended(
    request: HostRequest,
    { timing, beganNs, endNs, outcome }: HostEnding,
  ): void {
    const { label, arrivalNs, served } = request;
    const traced = this.#present.get(label);
    if (traced === undefined) return;
    this.#present.delete(label);
    const attributes = {
      "shoal.model": served.name,
      "shoal.version": served.version,
      "shoal.outcome": outcome,
    };
    const child = (name: string, fromNs: number, toNs: number) =>
      this.#tracer.startSpan(
        name,
        { startTime: traced.msOf(fromNs), attributes },
        traced.context,
      ).end(traced.msOf(toNs));
    // Of one that did not finish nobody knows when its first batch began.
    const startNs = timing && beganNs !== undefined
      ? beganNs + timing.queuedMs * NS_PER_MS
      : endNs;
    child("queue", arrivalNs, startNs);
    if (timing) child("execute", startNs, startNs + timing.ranMs * NS_PER_MS);
  }
}
