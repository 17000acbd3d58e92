/** How requests about texts reach the host: each text is a request to the engine of its own. */
import type { RunText, StreamText } from "../../text/run_texts.ts";
import { InputError } from "../host/errors.ts";
import { wireMessage } from "../host/wire_names.ts";
import type { HostRunOptions } from "../host/run_options.ts";
import type { Context } from "../http/route.ts";
import type { ServedText } from "./served_text.ts";

/** The ways to run a model for a request. */
export interface TextRunners {
  readonly run: RunText<HostRunOptions>;
  readonly stream: StreamText<HostRunOptions>;
}

/**
 * Runs a model for a request: under its id, with its key, until its client leaves. Of several requests to the engine,
 * those after the first have a number behind the id.
 */
export function textRunners(
  { host, requestId, key }: Context,
  served: ServedText,
): TextRunners {
  let count = 0;
  const asAsked = (options: HostRunOptions): HostRunOptions => {
    const id = count === 0 ? requestId : `${requestId}.${count}`;
    count++;
    return { ...options, id, ...(key !== undefined && { key }) };
  };
  return {
    run: (input, options) => host.run(served, input, asAsked(options)),
    stream: (input, options) => host.stream(served, input, asAsked(options)),
  };
}

/**
 * What a model of texts does not take is the client's mistake.
 * @throws InputError, and whatever else the model throws
 */
export function asInputError(error: unknown): unknown {
  return error instanceof TypeError || error instanceof RangeError
    ? new InputError(wireMessage(error), { cause: error })
    : error;
}
