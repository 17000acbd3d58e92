/** A server of a small model that computes in this thread, for tests of what hangs on servers and hosts. */
import { lstm } from "../../src/models/lstm.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import { EngineHost } from "../../src/server/host/engine_host.ts";
import type { HostOptions } from "../../src/server/host/host_options.ts";
import { servedTokens } from "../../src/server.ts";
import { createServer, type Server } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server_options.ts";

/** Its name is "intents"; there is another one, "others". */
const MODEL = lstm({ hidden: 8, vocabulary: 10, head: "classifier" });
const OTHER = lstm({ hidden: 8, vocabulary: 10, head: "classifier" });

/** A body that a request for inference takes. */
export function inferBody(tokens: readonly number[] = [3, 1, 4]): string {
  return JSON.stringify({
    inputs: [{
      name: "tokens",
      shape: [tokens.length],
      datatype: "INT32",
      data: tokens,
    }],
  });
}

export async function withServer(
  { host: hostOptions, ...options }:
    & { host?: Partial<HostOptions> }
    & ServerOptions,
  run: (
    ask: (path: string, init?: RequestInit) => Promise<Response>,
    server: Server,
  ) => Promise<void>,
): Promise<void> {
  const host = await EngineHost.create({
    models: [
      servedTokens(MODEL, { name: "intents" }),
      servedTokens(OTHER, { name: "others" }),
    ],
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false },
    ...hostOptions,
  });
  const server = createServer(host, options);
  try {
    await run(
      (path, init) =>
        server.fetch(new Request(`http://localhost${path}`, init)),
      server,
    );
  } finally {
    await server.close();
  }
}
