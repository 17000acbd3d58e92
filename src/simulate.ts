/**
 * Studying policies: the engine's core on virtual time, workloads, costs, what came of a run and why, registries, the
 * papers' offline phases. Models and policies come from the serving door.
 *
 * @example Two policies on one load: 200 sentences, one every 10 us, on a device where a step takes 2 us and 0.1 us a row
 * ```ts
 * import { cellular, graph, lstm, type Policy } from "@shoal/core";
 * import { driveVirtual, EngineCore, SimExecutor, TableCost, Timeline } from "@shoal/core/simulate";
 *
 * const model = lstm({ hidden: 8, vocabulary: 10 });
 * const cost = new TableCost({ lstm_step: [[1, 2_100], [64, 8_400]] });
 *
 * function meanLatencyNs(policy: Policy): number {
 *   const timeline = new Timeline();
 *   const executor = new SimExecutor({
 *     timeline,
 *     cost,
 *     onCompleted: (task, startNs, endNs) => engine.completed(task, startNs, endNs),
 *   });
 *   const engine = new EngineCore({ models: [model], policy, executor });
 *   let sumNs = 0;
 *   driveVirtual(engine, timeline, Array.from({ length: 200 }, (_, i) => ({
 *     model,
 *     input: { tokens: new Int32Array(1 + i % 20) },
 *     arrivalNs: 10_000 * i,
 *     onEnd: () => sumNs += timeline.nowNs - 10_000 * i,
 *   })));
 *   return sumNs / 200;
 * }
 *
 * console.log(meanLatencyNs(cellular()), meanLatencyNs(graph({ windowNs: 0 })));
 * ```
 *
 * @module
 */
export { coRunNs } from "./cost/shared_capacity.ts";
export type { CostModel } from "./cost/cost_model.ts";
export { GpuCost, TITAN_RTX } from "./cost/gpu_cost.ts";
export type { GpuConfig, LayersOf } from "./cost/gpu_cost.ts";
export { NpuCost } from "./cost/npu_cost.ts";
export { profileCells } from "./cost/profile_cells.ts";
export type { CellProfileOptions } from "./cost/profile_cells.ts";
export {
  LSTM_STEP_V100,
  RESNET_TITAN_RTX,
  sharedTable,
  titanRtxInterference,
} from "./cost/published.ts";
export type { SharedTableOptions } from "./cost/published.ts";
export type { SharedCost } from "./cost/shared_cost.ts";
export { constantCost, TableCost } from "./cost/table_cost.ts";
export type {
  ActiveRequest,
  ActiveSession,
  OnEnd,
} from "./engine/core/active_request.ts";
export type { DoneStep, OnStep } from "./engine/core/step_rows.ts";
export { EngineCore } from "./engine/core/engine.ts";
export type {
  EngineOptions,
  Submission,
} from "./engine/core/engine_options.ts";
export type { ResultRows } from "./graph/result_rows.ts";
export type { SlotExecutor } from "./engine/tensors/slot_executor.ts";
export type {
  FrameRows,
  Session,
  SessionAction,
} from "./engine/core/session.ts";
export type { Sessions } from "./engine/core/sessions.ts";
export type {
  Executor,
  SessionMemory,
  Settlement,
} from "./engine/core/executor.ts";
export { PairedExecutor } from "./engine/virtual/paired_executor.ts";
export type { PairedOptions } from "./engine/virtual/paired_executor.ts";
export { streamArrivals } from "./engine/virtual/stream_arrivals.ts";
export type {
  FrameArrival,
  StreamArrivalsOptions,
} from "./engine/virtual/stream_arrivals.ts";
export { streamLoad } from "./workload/stream_load.ts";
export type {
  StreamArrival,
  StreamLoadOptions,
  StreamSources,
} from "./workload/stream_load.ts";
export { SimExecutor } from "./engine/virtual/sim_executor.ts";
export { Timeline } from "./engine/virtual/timeline.ts";
export {
  driveTimeline,
  driveVirtual,
  throughInStream,
} from "./engine/virtual/virtual_driver.ts";
export type { VirtualArrival } from "./engine/virtual/virtual_driver.ts";
export type { VirtualWorkersOptions } from "./engine/virtual/virtual_workers.ts";
export { MLPERF_GNMT } from "./models/gnmt.ts";
export type { InputKind } from "./graph/model.ts";
export { MODELS } from "./models/registry.ts";
export type { ModelEntry, SizeClass } from "./models/registry.ts";
export { BASELINES, searchWindow } from "./policy/baselines/search_window.ts";
export type {
  BaselineOptions,
  GraphSettings,
} from "./policy/baselines/search_window.ts";
export {
  engineConfiguration,
  searchConfigurations,
} from "./policy/e2bird/offline.ts";
export type {
  SearchObjective,
  SearchOptions,
} from "./policy/e2bird/offline.ts";
export { decTimesteps } from "./policy/common/exec_time.ts";
export { oracle } from "./policy/lazybatching/lazy.ts";
export { POLICIES } from "./policy/registry.ts";
export type { PolicyEntry } from "./policy/registry.ts";
export { aimd, type AimdOptions } from "./policy/rivals/aimd.ts";
export { deferred, type DeferredOptions } from "./policy/rivals/deferred.ts";
export {
  earliestDeadline,
  type EarliestDeadlineOptions,
} from "./policy/rivals/earliest_deadline.ts";
export { iteration, type IterationOptions } from "./policy/rivals/iteration.ts";
export {
  lengthSorted,
  type LengthSortedOptions,
} from "./policy/rivals/length_sorted.ts";
export {
  shortestFirst,
  type ShortestFirstOptions,
} from "./policy/rivals/shortest_first.ts";
export {
  tokenBudget,
  type TokenBudgetOptions,
} from "./policy/rivals/token_budget.ts";
export { Collector } from "./metrics/collector.ts";
export type { CellTally } from "./metrics/collector.ts";
export type { Column } from "./metrics/column.ts";
export type { CellMetrics, Distribution, Metrics } from "./metrics/metrics.ts";
export { summarize } from "./metrics/summarize.ts";
export type { SummarizeOptions } from "./metrics/summarize.ts";
export { tee } from "./metrics/tee.ts";
export { DecisionLog } from "./report/decision_log.ts";
export type {
  DecisionLogLimits,
  LoggedLaunch,
  LoggedWait,
} from "./report/decision_log.ts";
export { seededWeights } from "./tensor/weights.ts";
export {
  atOnce,
  interval,
  poisson,
  stepping,
  traceReplay,
} from "./workload/arrivals.ts";
export type {
  Arrivals,
  RateOptions,
  SteppingOptions,
  TraceOptions,
} from "./workload/arrivals.ts";
export type { Prng } from "./base/prng.ts";
export type {
  GeneratedInput,
  InputGenerator,
} from "./workload/input_generator.ts";
export { workload } from "./workload/workload.ts";
export type { Arrival, WorkloadOptions } from "./workload/workload.ts";

// What models, policies and machines are made of, for those who study them through this door alone.
export type * from "./mod.ts";
export type * from "./npu.ts";
