/** A port that a server is reached at, in whatever runtime this is. */
import {
  checkedOptions,
  type Checks,
  integer,
  ofType,
  withMethods,
} from "../../base/checked_options.ts";
import { listenInBun } from "./bun.ts";
import { listenInDeno } from "./deno.ts";
import {
  checkTls,
  type Handler,
  type Listener,
  type ListenOptions,
} from "./listener.ts";
import { listenInNode } from "./node.ts";

const PORT = 8000;
const PORT_MAX = 65_535;

const checkServer = withMethods("what createServer() returns", ["fetch"]);

const CHECKS: Checks<ListenOptions> = {
  hostname: ofType("string"),
  port: integer(0, PORT_MAX),
  tls: checkTls,
};

/**
 * Listens at a port, with Deno's, Bun's or Node's own server.
 * @throws TypeError or RangeError on a server or an option that is none; what the runtime throws where the port is taken; Error in
 * a runtime without ports: there `fetch` is what to call, as in a service worker
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, lstm, ServingEngine } from "@shoal/core";
 * import { createServer, listen, servedTokens } from "@shoal/core/server";
 *
 * const model = lstm({ hidden: 8, vocabulary: 10 });
 * await using engine = await ServingEngine.create({ models: [model], policy: cellular(), workers: 0 });
 * const server = createServer(engine, { models: [servedTokens(model, { name: "sentences" })] });
 * const listener = await listen(server, { port: 0 });
 * const response = await fetch(`${listener.url}v2/health/ready`);
 * assert.deepEqual(await response.json(), { ready: true });
 * await listener.close();
 * await server.close();
 * ```
 */
export function listen(
  server: Handler,
  options: ListenOptions = {},
): Promise<Listener> {
  checkServer("server", server);
  const { hostname = "127.0.0.1", port = PORT, tls } = checkedOptions(
    "listen()",
    options,
    CHECKS,
  );
  const address = { hostname, port, ...(tls && { tls }) };
  const start = listenInDeno ?? listenInBun ?? listenInNode;
  return start(server, address);
}
