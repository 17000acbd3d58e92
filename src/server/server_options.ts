/** Options of servers, checked where they come in: a misspelt key or limit would be an open door. */
import {
  anything,
  type Check,
  checkedOptions,
  type Checks,
  listOf,
  nonNegative,
  ofType,
  withMethods,
} from "../base/checked_options.ts";
import { describe } from "../base/describe.ts";
import type { ModelRepository } from "./host/model_repository.ts";
import { type ServedModel, servedModel } from "./host/served_model.ts";
import { BODY_LIMITS, type BodyLimits } from "./http/body_limits.ts";
import type { CorsOptions } from "./http/cors.ts";
import { HEAD_LIMITS, type HeadLimits } from "./http/head_limits.ts";
import type { HttpObserver } from "./http/http_observer.ts";
import type { Protocol } from "./http/route.ts";
import { KeyRing } from "./keys/key_ring.ts";
import { Monitor } from "./monitor.ts";

/** Options of {@linkcode createServer}. */
export interface ServerOptions {
  /** With an engine: what it serves, under which names. */
  models?: readonly ServedModel[];
  /** What it speaks; default: all protocols that there are. */
  protocols?: readonly Protocol[];
  /** Where models come from, if they come and go: what calls for loading and unloading reach. */
  repository?: ModelRepository;
  /** What it says its version is; default "unknown". */
  version?: string;
  /**
   * What is read of a request. Default: a body of 64 MiB, of texts 4 MiB, that takes 30 s, 100 levels of JSON, 512 MiB of bodies at once;
   * a URL of 8192 characters; 100 headers of 16,384 characters together.
   */
  limits?: Partial<BodyLimits & HeadLimits>;
  /** Who may call what; default: anybody may ask models for something, and calls of administrators are off. */
  keys?: KeyRing;
  /** Pages of which other origins may read its answers; default: of none. Calls of administrators are for none. */
  cors?: CorsOptions;
  /** Answers `/metrics` and explains requests; its observers have to be the host's. Default: nobody does. */
  monitor?: Monitor;
  /** Hear of each request and its answer. */
  observers?: readonly HttpObserver[];
  /** Hears of errors that are the server's own, which clients are told nothing of; default: the console's `error`. */
  onError?: (error: unknown, requestId: string) => void;
}

/** An object of a class of ours; others with its methods (an array has `find`) are none. */
function instance(what: abstract new (...args: never[]) => unknown): Check {
  return (name, value) => {
    if (value instanceof what) return;
    throw new TypeError(`"${name}" is a ${what.name}, got ${describe(value)}`);
  };
}

/** Of the options of `createServer`. */
export const SERVER_CHECKS: Checks<ServerOptions> = {
  models: listOf(servedModel),
  protocols: listOf(withMethods("a protocol", ["errorBody"])),
  repository: withMethods("a repository of models", [
    "index",
    "load",
    "unload",
  ]),
  version: ofType("string"),
  limits: anything,
  keys: instance(KeyRing),
  cors: anything,
  monitor: instance(Monitor),
  observers: listOf(withMethods("an observer of HTTP", ["began"])),
  onError: ofType("function"),
};

const LIMIT_CHECKS: Checks<BodyLimits & HeadLimits> = {
  bytesMax: nonNegative,
  textBytesMax: nonNegative,
  depthMax: nonNegative,
  timeoutMs: nonNegative,
  bytesTogetherMax: nonNegative,
  urlCharactersMax: nonNegative,
  headersMax: nonNegative,
  headerCharactersMax: nonNegative,
};

/** All limits: the given ones, and the defaults where nothing is said, or undefined. */
export function limitsOf(
  given: ServerOptions["limits"] = {},
): BodyLimits & HeadLimits {
  const checked = checkedOptions(
    "limits",
    given,
    LIMIT_CHECKS as Checks<Partial<BodyLimits & HeadLimits>>,
  );
  const said = Object.entries(checked).filter(([, value]) =>
    value !== undefined
  );
  return { ...BODY_LIMITS, ...HEAD_LIMITS, ...Object.fromEntries(said) };
}
