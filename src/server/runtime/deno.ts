/** Deno's server. */
import type { Connection } from "../http/socket.ts";
import { Cuts } from "./cuts.ts";
import { type DenoSockets, openDenoSocket } from "./deno_socket.ts";
import { headAnswer } from "./head_answer.ts";
import { lastTurns } from "./last_turns.ts";
import type { Address, Handler, Listener } from "./listener.ts";
import { isLoopback } from "./loopback.ts";
import { urlOf, urlRefusal } from "./url.ts";
import { within } from "./within.ts";

/** As much of Deno as is used. */
interface DenoRuntime extends DenoSockets {
  serve(
    options: {
      readonly hostname: string;
      readonly port: number;
      readonly cert?: string;
      readonly key?: string;
      onListen(): void;
    },
    handler: (
      request: Request,
      info: { readonly remoteAddr: { readonly hostname?: string } },
    ) => Promise<Response>,
  ): {
    readonly addr: { readonly port: number };
    shutdown(): Promise<void>;
  };
}

/** Of bodies that were not read to their end: too much, or too slow. */
const STILL_SENDING: readonly number[] = [408, 413];

const { Deno: deno } = globalThis as { Deno?: DenoRuntime };

/** Undefined elsewhere. */
export const listenInDeno = deno?.serve && (
  // What serve() throws rejects this promise.
  // deno-lint-ignore require-await
  async (server: Handler, address: Address): Promise<Listener> => {
    const { hostname, port, tls } = address;
    let cut = () => {};
    const isCut = new Promise<void>((resolve) => cut = resolve);
    const cuts = new Cuts<Response>();
    void isCut.then(() => cuts.end(() => new Response(null, { status: 503 })));
    const listening = deno.serve({
      hostname,
      port,
      ...tls,
      onListen() {},
    }, async (request, { remoteAddr }) => {
      const refusal = urlRefusal(request);
      if (refusal) return refusal;
      // From the first look on it tells of a client that leaves.
      void request.signal;
      let wanted: Parameters<NonNullable<Connection["openSocket"]>> | undefined;
      const answer = server.fetch(request, {
        isLoopback: isLoopback(remoteAddr.hostname),
        openSocket(...socket) {
          wanted = socket;
          return new Response();
        },
      });
      const response = await cuts.orCut(answer);
      if (wanted) {
        const [handlers, protocol] = wanted;
        const opened = await openDenoSocket(deno, request, handlers, protocol);
        for (const [name, value] of response.headers) {
          opened.headers.set(name, value);
        }
        return opened;
      }
      if (STILL_SENDING.includes(response.status)) {
        // Whoever still sends has been told enough.
        response.headers.set("connection", "close");
      }
      return headAnswer(request, response);
    });
    const { port: given } = listening.addr;
    return {
      url: urlOf(hostname, given, tls !== undefined),
      port: given,
      async close(graceMs) {
        await lastTurns();
        await within(
          Promise.race([listening.shutdown(), isCut]),
          graceMs,
          cut,
        );
      },
    };
  }
);
