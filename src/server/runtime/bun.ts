/** Bun's server. */
import type { Address, Handler, Listener } from "./listener.ts";
import { urlOf } from "./url.ts";
import { within } from "./within.ts";

/** As much of Bun as is used. */
interface BunRuntime {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly tls?: Address["tls"];
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
    fetch(request: Request): Promise<Response>;
  }): {
    readonly port: number;
    stop(closeActiveConnections?: boolean): Promise<void>;
  };
}

/** Seconds that a connection may be silent, the most there can be: what is computed may take its time. */
const IDLE_S = 255;

const { Bun: bun } = globalThis as { Bun?: BunRuntime };

/** Undefined elsewhere. */
export const listenInBun = bun &&
  ((server: Handler, { hostname, port, tls }: Address) =>
    new Promise<Listener>((resolve) => {
      const listening = bun.serve({
        hostname,
        port,
        ...(tls && { tls }),
        idleTimeout: IDLE_S,
        // Bodies have limits of their own.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        fetch: (request) => server.fetch(request),
      });
      resolve({
        url: urlOf(hostname, listening.port, tls !== undefined),
        port: listening.port,
        close: (graceMs) =>
          within(listening.stop(), graceMs, () => listening.stop(true)),
      });
    }));
