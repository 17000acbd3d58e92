/** What a protocol is made of. */
import type { EngineHost } from "../host/engine_host.ts";
import type { ModelRepository } from "../host/model_repository.ts";
import type { Body } from "./body.ts";
import type { OverloadedStatus } from "./error_status.ts";
import type { HttpError } from "./http_error.ts";
import type { Connection } from "./socket.ts";
import type { TextObserver } from "./text_observer.ts";

/**
 * Who may call a route: anybody; whoever may ask models for something; administrators, with their key; these, and whoever
 * sits at this machine.
 */
export type Scope = "open" | "infer" | "admin" | "local";

/** A request as routes see it. */
export interface Context extends Connection {
  /** As it came; its body is read through `body`. */
  readonly request: Request;
  /** Its address. */
  readonly url: URL;
  /** What the braces of the route's path matched, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Its body, within the server's limits. */
  readonly body: Body;
  /** Runs models. */
  readonly host: EngineHost;
  /** Where models come from, if they come and go. */
  readonly repository?: ModelRepository;
  /** The server's version. */
  readonly version: string;
  /** Set when the client has left. */
  readonly signal: AbortSignal;
  /** Of the header `x-request-id`, or made up; the answer has it, too. */
  readonly requestId: string;
  /** Name of the key that it came with, if there are keys. */
  readonly key?: string;
  /** Hears of requests about texts, if somebody does. */
  readonly texts?: TextObserver;
  /**
   * Tells whoever runs the server of an error behind the first part of an answer, if it is the server's own; what `handle`
   * throws is told without it.
   */
  report(error: unknown): void;
}

/** A method and a path, and what answers. */
export interface Route {
  /** HEAD is GET's without its body. */
  readonly method: "GET" | "POST";
  /** Segments after slashes; `{name}` matches any one, which `params` has then. */
  readonly path: string;
  /** Who may call it. */
  readonly scope: Scope;
  /**
   * Answers.
   * @throws HttpError, or any of the host's errors
   */
  handle(context: Context): Response | Promise<Response>;
}

/** Routes whose errors look alike. */
export interface Protocol {
  /** For logs. */
  readonly name: string;
  /** What it answers. */
  readonly routes: readonly Route[];
  /** Status of what is refused because too much is asked for; default 503, as Triton has it. */
  readonly overloadedStatus?: OverloadedStatus;
  /** The body of an error's answer, as JSON. */
  errorBody(error: HttpError): unknown;
}
