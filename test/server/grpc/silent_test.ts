/** Clients of gRPC whose network is gone. */
import assert from "node:assert/strict";
import {
  type AddressInfo,
  connect,
  createServer as createNetServer,
  type Socket,
} from "node:net";
import type { GrpcModule } from "../../../src/server/grpc/grpc_module.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { grpc, grpcClient } from "./client.ts";
import { withGrpc } from "./serving.ts";

const MODEL = servedTokens(
  lstm({ hidden: 8, vocabulary: 10, head: "classifier" }),
  { name: "intents" },
);

const { Server } = grpc as unknown as {
  Server: new (options: Record<string, number>) => object;
};

/** The same, for whom half a minute is a tenth of a second. */
class Hasty extends Server {
  constructor(options: Record<string, number>) {
    const shorter = (name: string) => ({ [name]: options[name] / 300 });
    super({
      ...options,
      ...shorter("grpc.keepalive_time_ms"),
      ...shorter("grpc.keepalive_timeout_ms"),
    });
  }
}

/** More than any machine takes. */
const MOST_MS = 20_000;

Deno.test("a connection of gRPC that brings nothing any more is closed", async () => {
  await withGrpc([MODEL], async ({ port }) => {
    let isGone = false;
    const sockets: Socket[] = [];
    let onClosed: (isClosed: boolean) => void;
    const closed = new Promise<boolean>((resolve) => onClosed = resolve);
    const network = createNetServer((from) => {
      const to = connect(port, "127.0.0.1");
      sockets.push(from, to);
      for (const [one, other] of [[from, to], [to, from]]) {
        one.on("error", () => {});
        one.on("data", (bytes) => isGone || other.write(bytes));
      }
      to.on("close", () => onClosed(true));
    });
    await new Promise<void>((resolve) => network.listen(0, resolve));
    const address = network.address() as AddressInfo;
    const away = grpcClient(`127.0.0.1:${address.port}`);
    const late = setTimeout(() => onClosed(false), MOST_MS);
    try {
      await away.call("ServerLive", {});
      isGone = true;
      assert(await closed, "it is closed");
    } finally {
      clearTimeout(late);
      away.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => network.close(resolve));
    }
  }, { listen: { grpc: { ...grpc, Server: Hasty } as unknown as GrpcModule } });
});
