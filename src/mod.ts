/** Shoal's public surface. @module */
export { NpuCost } from "./cost/npu_cost.ts";
export { profileCells } from "./cost/profile_cells.ts";
export type { CellProfileOptions } from "./cost/profile_cells.ts";
export { constantCost, TableCost } from "./cost/table_cost.ts";
export { GpuCost, TITAN_RTX } from "./cost/gpu_cost.ts";
export type { GpuConfig } from "./cost/gpu_cost.ts";
export { coRunNs } from "./cost/shared_capacity.ts";
export type { SharedCost } from "./cost/shared_cost.ts";
export {
  LSTM_STEP_V100,
  RESNET_TITAN_RTX,
  sharedTable,
  titanRtxInterference,
} from "./cost/published.ts";
export type { CostModel } from "./cost/cost_model.ts";
export type { Ending } from "./engine/core/active_request.ts";
export { EngineCore } from "./engine/core/engine.ts";
export {
  CellError,
  ClosedError,
  DeadlineError,
  QueueFullError,
  WorkerError,
} from "./engine/core/errors.ts";
export { KernelTeam } from "./engine/wall/kernel_team.ts";
export type { KernelTeamOptions } from "./engine/wall/kernel_team.ts";
export { PairedExecutor } from "./engine/virtual/paired_executor.ts";
export { readKernels } from "./engine/wall/runtime.ts";
export { ServingEngine } from "./engine/wall/serving.ts";
export type { RequestOptions, ServingOptions } from "./engine/wall/serving.ts";
export { probeScratch } from "./engine/wall/scratch_probe.ts";
export type {
  ScratchAdvice,
  ScratchProbeOptions,
} from "./engine/wall/scratch_probe.ts";
export type { ScratchPlace, Variants } from "./kernels/module/scratch.ts";
export { SimExecutor } from "./engine/virtual/sim_executor.ts";
export { TensorExecutor } from "./engine/wall/tensor_executor.ts";
export { Timeline } from "./engine/virtual/timeline.ts";
export {
  driveVirtual,
  throughInStream,
} from "./engine/virtual/virtual_driver.ts";
export { defineCell, f32, i32, image } from "./graph/cell_builder.ts";
export { warmUp } from "./engine/wall/warm_up.ts";
export type { WarmUpOptions } from "./engine/wall/warm_up.ts";
export type { CellDefinition, Operators } from "./graph/cell_builder.ts";
export type { Cell, Phase, Port } from "./graph/cell.ts";
export type { Cache, CacheSpec, Extent } from "./graph/cache.ts";
export type { CellGraph, CellNode, Source } from "./graph/cell_graph.ts";
export type { Model, Result } from "./graph/model.ts";
export type { ImageSize, Operator, Value } from "./graph/operator.ts";
export type { ParseTree } from "./graph/parse_tree.ts";
export { checkedKernels } from "./kernels/host/checked_kernels.ts";
export { chooseBuild, supports } from "./kernels/module/features.ts";
export type { ChosenBuild, EngineProbe } from "./kernels/module/features.ts";
export { KernelHost } from "./kernels/host/kernel_host.ts";
export type { Argument, Arguments } from "./kernels/host/kernel_host.ts";
export type { Block, Rows } from "./kernels/host/arena.ts";
export { createMemory } from "./kernels/module/memory.ts";
export { instantiateKernels } from "./kernels/module/module.ts";
export type { KernelExports } from "./kernels/module/module.ts";
export { bert, type BertOptions } from "./models/bert.ts";
export { gnmt, type GnmtOptions, MLPERF_GNMT } from "./models/gnmt.ts";
export { lstm, type LstmOptions } from "./models/lstm.ts";
export { MODELS } from "./models/registry.ts";
export { resnet50, type ResNet50Options } from "./models/resnet50.ts";
export { seq2seq, type Seq2SeqOptions } from "./models/seq2seq.ts";
export { transformer, type TransformerOptions } from "./models/transformer.ts";
export { treeLstm, type TreeLstmOptions } from "./models/tree_lstm.ts";
export { unet, type UNetOptions } from "./models/unet.ts";
export { createNpu } from "./npu/npu.ts";
export type { Npu } from "./npu/npu.ts";
export type { NpuConfig } from "./npu/config.ts";
export { preset } from "./npu/presets.ts";
export { loadProfile, profileTable, saveProfile } from "./npu/profile.ts";
export type { LatencyProfile } from "./npu/profile.ts";
export { bucketed } from "./policy/baselines/bucketed.ts";
export { BASELINES, searchWindow } from "./policy/baselines/search_window.ts";
export { cellular } from "./policy/cellular_batching/cellular.ts";
export type { Query } from "./policy/dvabatch/query_table.ts";
export type {
  Admission,
  AdmitView,
  DvaSchedule,
  WaitingQueries,
} from "./policy/dvabatch/schedule.ts";
export { dvabatch } from "./policy/dvabatch/dvabatch.ts";
export { eEbird } from "./policy/e2bird/e_ebird.ts";
export {
  engineConfiguration,
  searchConfigurations,
} from "./policy/e2bird/offline.ts";
export { decTimesteps } from "./policy/lazybatching/exec_time.ts";
export { graph } from "./policy/baselines/graph_batching.ts";
export { late } from "./policy/late_batching/late.ts";
export type { Launch, Note, Step, Task, Token } from "./policy/launch.ts";
export { lazy, oracle } from "./policy/lazybatching/lazy.ts";
export { merged } from "./policy/baselines/merged.ts";
export { nEbird } from "./policy/e2bird/n_ebird.ts";
export type {
  Decision,
  EngineView,
  Policy,
  WorkerView,
} from "./policy/policy.ts";
export type { Observer, RequestRecord, TaskRecord } from "./policy/records.ts";
export type { Profile, ProfileTable } from "./policy/profile.ts";
export { POLICIES } from "./policy/registry.ts";
export type { Request } from "./policy/request.ts";
export { serial } from "./policy/baselines/serial.ts";
export { readSafetensors } from "./tensor/safetensors.ts";
export { tensor } from "./tensor/tensor.ts";
export type { Tensor } from "./tensor/tensor.ts";
export { namedWeights, seededWeights } from "./tensor/weights.ts";
export type { WeightSource } from "./tensor/weights.ts";
