/** npm's gRPC client, unmodified, on the protocol's own messages: it shares nothing with the server. */
import { fileURLToPath } from "node:url";
import { requirePeer } from "../../../bench/kernels/peers/install.ts";
import type { GrpcModule } from "../../../src/grpc.ts";
import { installClients } from "../npm_clients.ts";

installClients();

/** `@grpc/grpc-js`. */
export const grpc: GrpcModule & {
  readonly credentials: {
    createInsecure(): object;
    createSsl(rootCerts: Uint8Array): object;
  };
  readonly status: Readonly<Record<string, number>>;
  loadPackageDefinition(definition: object): unknown;
} = requirePeer("@grpc/grpc-js");

type Message = Readonly<Record<string, unknown>>;

/** What a call that fails is rejected with. */
export interface CallError extends Error {
  readonly code: number;
  readonly details: string;
  readonly metadata: { get(key: string): unknown[] };
}

/** A call of messages both ways. */
export interface Duplex extends AsyncIterable<Message> {
  write(message: object): boolean;
  end(): void;
  cancel(): void;
}

/** Calls by their names, in the protocol's spelling. */
export interface Client {
  call(
    method: string,
    message: object,
    options?: {
      readonly deadline?: Date;
      readonly headers?: Readonly<Record<string, string>>;
      readonly signal?: AbortSignal;
    },
  ): Promise<Message>;
  stream(method: string, options?: { readonly deadline?: Date }): Duplex;
  close(): void;
}

type Call = (
  message: object,
  metadata: unknown,
  options: object,
  done: (error: CallError | null, answer: Message) => void,
) => { cancel(): void };

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

const { loadSync } = requirePeer("@grpc/proto-loader") as {
  loadSync(files: readonly string[], options: object): object;
};

const PACKAGES = grpc.loadPackageDefinition(loadSync(
  ["inference.proto", "health.proto"],
  {
    includeDirs: [FOLDER],
    keepCase: true,
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  },
)) as {
  readonly inference: { readonly GRPCInferenceService: Service };
  readonly grpc: {
    readonly health: { readonly v1: { readonly Health: Service } };
  };
};

type Service = new (
  address: string,
  credentials: object,
  options?: object,
) => Record<string, Call> & { close(): void };

/** A client of one service. */
export function grpcClient(
  address: string,
  {
    service = "inference",
    credentials = grpc.credentials.createInsecure(),
    options = {},
  }: {
    readonly service?: "inference" | "health";
    readonly credentials?: object;
    readonly options?: object;
  } = {},
): Client {
  const Service = service === "health"
    ? PACKAGES.grpc.health.v1.Health
    : PACKAGES.inference.GRPCInferenceService;
  const own = new Service(address, credentials, {
    "grpc.max_receive_message_length": -1,
    ...options,
  });
  return {
    call: (method, message, { deadline, headers = {}, signal } = {}) =>
      new Promise((resolve, reject) => {
        const metadata = new grpc.Metadata();
        for (const [name, value] of Object.entries(headers)) {
          metadata.set(name, value);
        }
        const call = own[method](
          message,
          metadata,
          { ...(deadline && { deadline }) },
          (error, answer) => error ? reject(error) : resolve(answer),
        );
        signal?.addEventListener("abort", () => call.cancel());
      }),
    stream: (method, options = {}) =>
      (own[method] as unknown as (
        metadata: unknown,
        options: object,
      ) => Duplex)(new grpc.Metadata(), options),
    close: () => own.close(),
  };
}
