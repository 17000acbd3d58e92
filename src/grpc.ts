/**
 * The Open Inference Protocol over gRPC, over a port of its own: for who has `@grpc/grpc-js`, which nothing else of this
 * package asks for.
 * @module
 */
export type * from "./server.ts";
export type {
  GrpcCall,
  GrpcMetadata,
  GrpcModule,
  GrpcServer,
  GrpcStatus,
} from "./server/grpc/grpc_module.ts";
export {
  type GrpcListener,
  listenGrpc,
  type ListenGrpcOptions,
} from "./server/grpc/listen_grpc.ts";
