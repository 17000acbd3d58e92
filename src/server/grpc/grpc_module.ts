/** As much of `@grpc/grpc-js` as is used. */

/** What calls bring along and are answered with besides messages. */
export interface GrpcMetadata {
  /** Sets a header. */
  set(key: string, value: string): void;
  /** All that there are; those of bytes are no strings. */
  getMap(): Readonly<Record<string, unknown>>;
}

/** How a call ended, if not well. */
export interface GrpcStatus {
  /** From doc/statuscodes.md of gRPC. */
  readonly code: number;
  /** What is told. */
  readonly details: string;
  /** Trailers. */
  readonly metadata: GrpcMetadata;
}

/** A call, as its server sees it. */
export interface GrpcCall {
  /** What it brings along. */
  readonly metadata: GrpcMetadata;
  /** Address of the other end. */
  getPeer(): string;
  /** When it is to have been answered: a date, or milliseconds since 1970; Infinity: whenever. */
  getDeadline(): Date | number;
  /** Sends the first headers. */
  sendMetadata(metadata: GrpcMetadata): void;
  /** "cancelled": nobody waits for it any more. */
  on(event: "cancelled", listener: () => void): unknown;
}

/** A call of one message. */
export interface GrpcUnaryCall extends GrpcCall {
  /** The message. */
  readonly request: Uint8Array;
}

/** A call of messages both ways. */
export interface GrpcStreamCall extends GrpcCall {
  /** "data": a message. */
  on(event: "data", listener: (message: Uint8Array) => void): unknown;
  /**
   * "end": it has sent its last; "drain": there is room for answers again; "cancelled": nobody waits for it any more.
   */
  on(event: "cancelled" | "drain" | "end", listener: () => void): unknown;
  /** No more messages for now. */
  pause(): unknown;
  /** The next ones. */
  resume(): unknown;
  /** @returns whether there is room for more */
  write(message: Uint8Array): boolean;
  /** "error" ends it with a status. */
  emit(event: "error", status: GrpcStatus): unknown;
  /** Ends it well. */
  end(): void;
}

/** A server of calls. */
export interface GrpcServer {
  /** What it answers. */
  addService(service: object, implementation: object): void;
  /** Begins to listen; the port is what the callback is told. */
  bindAsync(
    address: string,
    credentials: object,
    callback: (error: Error | null, port: number) => void,
  ): void;
  /** Takes no more calls; called when those under way have ended. */
  tryShutdown(callback: (error?: Error) => void): void;
  /** Ends all calls. */
  forceShutdown(): void;
}

/** The module itself is one. */
export interface GrpcModule {
  /** Makes a server. */
  readonly Server: new (options?: Record<string, unknown>) => GrpcServer;
  /** Makes metadata. */
  readonly Metadata: new () => GrpcMetadata;
  /** Whether it speaks TLS. */
  readonly ServerCredentials: {
    /** It does not. */
    createInsecure(): object;
    /** It does, with certificates as PEM. */
    createSsl(
      rootCerts: null,
      pairs: {
        readonly private_key: Uint8Array;
        readonly cert_chain: Uint8Array;
      }[],
    ): object;
  };
}
