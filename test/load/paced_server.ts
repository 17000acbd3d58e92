import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** A server with a capacity of its own: so many answers at every tick, on any machine. */
export interface PacedServer extends AsyncDisposable {
  readonly url: string;
  /** Requests answered so far. */
  readonly answered: number;
}

/** @param perTick answers every 10 ms; what waits is answered in its order */
export async function pacedServer(perTick: number): Promise<PacedServer> {
  const waiting: http.ServerResponse[] = [];
  let answered = 0;
  const server = http.createServer((request, response) => {
    request.resume();
    waiting.push(response);
  });
  const id = setInterval(() => {
    for (const response of waiting.splice(0, perTick)) {
      answered++;
      response.end("ok");
    }
  }, 10);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    get answered() {
      return answered;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(id);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
