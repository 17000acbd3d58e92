/** Servers with a port for gRPC, and clients of it. */
import assert from "node:assert/strict";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import type { HostOptions } from "../../../src/server/host/host_options.ts";
import type { ServedModel } from "../../../src/server/host/served_model.ts";
import {
  type GrpcListener,
  listenGrpc,
  type ListenGrpcOptions,
} from "../../../src/server/grpc/listen_grpc.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { createServer, type Server } from "../../../src/server/server.ts";
import type { ServerOptions } from "../../../src/server/server_options.ts";
import { type CallError, type Client, grpc, grpcClient } from "./client.ts";

/** What a test has. */
export interface Served {
  readonly client: Client;
  readonly server: Server;
  /** Asks over HTTP. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  readonly port: number;
  readonly listener: GrpcListener;
}

/** Runs something against a server of these models. */
export async function withGrpc(
  models: readonly ServedModel[],
  run: (served: Served) => Promise<void>,
  { host: hostOptions, listen, ...options }: ServerOptions & {
    host?: Partial<HostOptions>;
    listen?: Partial<ListenGrpcOptions>;
  } = {},
): Promise<void> {
  const host = await EngineHost.create({
    models,
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false },
    ...hostOptions,
  });
  const server = createServer(host, options);
  const listener = await listenGrpc(server, { grpc, port: 0, ...listen });
  const client = grpcClient(`127.0.0.1:${listener.port}`);
  try {
    await run({
      client,
      server,
      ask: (path, init) =>
        server.fetch(new Request(`http://localhost${path}`, init)),
      port: listener.port,
      listener,
    });
  } finally {
    client.close();
    await listener.close(1000);
    await server.close();
  }
}

/** A request of "intents". */
export function asked(
  tokens: readonly number[] = [3, 1, 4],
  rest: object = {},
) {
  return {
    model_name: "intents",
    inputs: [{
      name: "tokens",
      datatype: "INT32",
      shape: [tokens.length],
      contents: { int_contents: tokens },
    }],
    ...rest,
  };
}

/** What a call is refused with. */
export async function refused(
  client: Client,
  method: string,
  message: object,
  options?: Parameters<Client["call"]>[2],
): Promise<CallError> {
  try {
    await client.call(method, message, options);
  } catch (error) {
    return error as CallError;
  }
  return assert.fail(`${method} was answered`);
}
