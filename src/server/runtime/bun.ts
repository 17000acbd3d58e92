/** Bun's server. */
import type { Address, Handler, Listener } from "./listener.ts";
import { isLoopback } from "./loopback.ts";
import { urlOf } from "./url.ts";
import { within } from "./within.ts";

interface BunServer {
  requestIP(request: Request): { readonly address: string } | null;
}

/** As much of Bun as is used. */
interface BunRuntime {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly tls?: Address["tls"];
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
    fetch(request: Request, server: BunServer): Promise<Response>;
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
        fetch: (request, own) =>
          server.fetch(request, {
            isLoopback: isLoopback(own.requestIP(request)?.address),
          }),
      });
      resolve({
        url: urlOf(hostname, listening.port, tls !== undefined),
        port: listening.port,
        close: (graceMs) =>
          within(listening.stop(), graceMs, () => listening.stop(true)),
      });
    }));
