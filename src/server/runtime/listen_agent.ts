/** A port that tells whoever connects one line: what load balancers ask (`agent-check`). */
import type { Socket } from "node:net";
import {
  checkedOptions,
  type Checks,
  integer,
  ofType,
} from "../../base/checked_options.ts";
import { nodeModule } from "../../base/node_module.ts";

/** Options of {@linkcode listenAgent}. */
export interface ListenAgentOptions {
  /** Default "127.0.0.1": nobody but this machine. */
  hostname?: string;
  /** 0: any that is free. */
  port: number;
}

/** A port that is listened at. */
export interface AgentListener {
  /** Its number. */
  readonly port: number;
  /** Tells nobody any more. */
  close(): Promise<void>;
}

const CHECKS: Checks<ListenAgentOptions> = {
  hostname: ofType("string"),
  port: integer(0, 65_535),
};

/**
 * Tells a line to whoever connects; see LoadAgent for one.
 * @param line is asked for it each time; who connects while it throws is told nothing
 * @throws TypeError or RangeError on a line or an option that is none; what the runtime throws where the port is taken; Error in a
 * runtime without ports
 *
 * @example
 * ```ts
 * import { listenAgent } from "@shoal/core/server";
 *
 * const listener = await listenAgent(() => "ready up 100%\n", { port: 0 });
 * await listener.close();
 * ```
 */
export function listenAgent(
  line: () => string,
  options: ListenAgentOptions,
): Promise<AgentListener> {
  ofType("function")("line", line);
  const { hostname = "127.0.0.1", port } = checkedOptions(
    "listenAgent()",
    options,
    CHECKS,
    ["port"],
  );
  const net = nodeModule("node:net");
  if (net === undefined) {
    return Promise.reject(new Error("This runtime has no ports"));
  }
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // Whoever is gone before the line has no use for it.
    socket.on("error", () => {});
    // What a balancer sends (`agent-send`) is nothing here; unread it would keep the connection from its end.
    socket.resume();
    try {
      socket.end(line());
    } catch (error) {
      // Nobody would catch it here; to a balancer it is a check that failed.
      console.error("Shoal:", error);
      socket.destroy();
    }
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, () => {
      const address = server.address();
      resolve({
        port: typeof address === "object" && address !== null
          ? address.port
          : port,
        close: () =>
          new Promise((resolve) => {
            server.close(() => resolve());
            for (const socket of sockets) socket.destroy();
          }),
      });
    });
  });
}
