/** Serving over HTTP: one `fetch` handler that speaks the field's protocols, for every runtime. @module */
export type * from "./onnx.ts";
export type * from "./text.ts";
export type { AdmissionLimits } from "./server/admission/admission_limits.ts";
export type { CostEstimate } from "./server/admission/cost_estimate.ts";
export { CostAdmission } from "./server/admission/cost_admission.ts";
export type { TimeSource } from "./server/admission/time_source.ts";
export type { Admission } from "./server/host/admission.ts";
export type { HostRequest } from "./server/host/host_request.ts";
export type {
  Datatype,
  DatatypeArrays,
  FixedDatatype,
  WireElements,
} from "./server/host/datatypes.ts";
export { EngineHost } from "./server/host/engine_host.ts";
export type { HostState } from "./server/host/host_state.ts";
export type {
  EngineSettings,
  HostHooks,
  HostOptions,
} from "./server/host/host_options.ts";
export {
  ForbiddenError,
  InputError,
  NotFoundError,
  OverloadedError,
  UnavailableError,
} from "./server/host/errors.ts";
export type { CorsOptions } from "./server/http/cors.ts";
export type { Answered, HttpObserver } from "./server/http/http_observer.ts";
export type { Origin } from "./server/keys/gate.ts";
export { type KeyEntry, KeyRing, keySha256 } from "./server/keys/key_ring.ts";
export { KeyedAdmission } from "./server/keys/keyed_admission.ts";
export { AccessLog } from "./server/observe/access_log.ts";
export {
  type MetricNames,
  Monitor,
  type MonitorOptions,
} from "./server/monitor.ts";
export {
  type TraceApi,
  type TraceSpan,
  Tracing,
} from "./server/observe/tracing.ts";
export { LoadAgent } from "./server/observe/load_agent.ts";
export {
  type AgentListener,
  listenAgent,
  type ListenAgentOptions,
} from "./server/runtime/listen_agent.ts";
export type {
  HostEnding,
  HostObserver,
  ModelVersion,
} from "./server/host/host_observer.ts";
export type {
  ModelRepository,
  RepositoryEntry,
} from "./server/host/model_repository.ts";
export type {
  CountAndTime,
  ModelFigures,
  ModelStatistics,
} from "./server/host/model_statistics.ts";
export type { HostSession } from "./server/host/host_session.ts";
export type { HostRunOptions } from "./server/host/run_options.ts";
export type {
  ServedKind,
  ServedModel,
  TensorSpec,
  WireTensor,
} from "./server/host/served_model.ts";
export { servedDecoder } from "./server/models/served_decoder.ts";
export { servedOnnx } from "./server/models/served_onnx.ts";
export type { ServedOptions } from "./server/models/served_options.ts";
export { servedStream } from "./server/models/served_stream.ts";
export { servedText } from "./server/models/served_text.ts";
export { servedTokens } from "./server/models/served_tokens.ts";
export { HttpError } from "./server/http/http_error.ts";
export type {
  Connection,
  Socket,
  SocketHandlers,
} from "./server/http/socket.ts";
export type { Context, Protocol, Route, Scope } from "./server/http/route.ts";
export type { Body } from "./server/http/body.ts";
export type { BodyLimits } from "./server/http/body_limits.ts";
export type { OverloadedStatus } from "./server/http/error_status.ts";
export type {
  TextCost,
  TextObserver,
  TextsEnded,
} from "./server/http/text_observer.ts";
export type { HeadLimits } from "./server/http/head_limits.ts";
export { listen } from "./server/runtime/listen.ts";
export type {
  Handler,
  Listener,
  ListenOptions,
} from "./server/runtime/listener.ts";
export { createServer, type Server } from "./server/server.ts";
export type { ServerOptions } from "./server/server_options.ts";
