/** Ports that a server is to listen at, tried before anything is loaded. */
import { createServer, type Server } from "node:net";
import { UsageError } from "../terminal.ts";

/** A port that is to be listened at. */
export interface WantedPort {
  /** What says so, such as "--port". */
  readonly option: string;
  readonly hostname: string;
  readonly port: number;
}

/**
 * Listens at each for a moment.
 * @throws UsageError naming the first that cannot be had, and the way out
 */
export async function checkPorts(wanted: readonly WantedPort[]): Promise<void> {
  const held: Server[] = [];
  try {
    for (const [i, each] of wanted.entries()) {
      const other = wanted.slice(0, i).find(({ port }) =>
        port === each.port && port !== 0
      );
      if (other) {
        throw new UsageError(
          `${other.option} and ${each.option} are both ${each.port}: each needs a port of its own`,
        );
      }
      held.push(await listening(each).catch(tellPort(each)));
    }
  } finally {
    await Promise.all(
      held.map((server) => new Promise((resolve) => server.close(resolve))),
    );
  }
}

/** Says why a port cannot be listened at. @returns throws UsageError where it is known, or what it was given */
export function tellPort(
  { option, hostname, port }: WantedPort,
): (error: unknown) => never {
  return (error) => {
    const address = `${hostname}:${port}`;
    const another =
      `choose another one with ${option}, or 0 for any that is free`;
    switch ((error as { code?: string }).code) {
      case "EADDRINUSE":
        throw new UsageError(
          `${address} is in use already: end what listens there, or ${another}`,
        );
      case "EACCES":
        throw new UsageError(
          `${address} is not for this user, as ports below 1024 often are: ${another}`,
        );
      case "EADDRNOTAVAIL":
      case "EINVAL":
      case "ENOTFOUND":
      case "EAI_AGAIN":
        throw new UsageError(
          `--host: this machine has no address ${hostname}; 127.0.0.1 is for itself alone, 0.0.0.0 every address that it has`,
        );
    }
    throw error;
  };
}

function listening({ hostname, port }: WantedPort): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen(port, hostname, () => resolve(server));
  });
}
