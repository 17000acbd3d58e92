/** Shoal's public surface. @module */
export { constantCost, TableCost } from "./cost/table_cost.ts";
export type { CostModel } from "./cost/cost_model.ts";
export type { Ending } from "./engine/active_request.ts";
export { EngineCore } from "./engine/engine.ts";
export {
  CellError,
  ClosedError,
  DeadlineError,
  QueueFullError,
} from "./engine/errors.ts";
export { PairedExecutor } from "./engine/paired_executor.ts";
export { readKernels } from "./engine/runtime.ts";
export { ServingEngine } from "./engine/serving.ts";
export type { RequestOptions, ServingOptions } from "./engine/serving.ts";
export { SimExecutor } from "./engine/sim_executor.ts";
export { TensorExecutor } from "./engine/tensor_executor.ts";
export { Timeline } from "./engine/timeline.ts";
export { driveVirtual } from "./engine/virtual_driver.ts";
export { defineCell, f32, i32 } from "./graph/cell_builder.ts";
export type { CellDefinition, Operators } from "./graph/cell_builder.ts";
export type { Cell, Phase, Port } from "./graph/cell.ts";
export type { CellGraph, CellNode, Source } from "./graph/cell_graph.ts";
export type { Model, Result } from "./graph/model.ts";
export type { Operator, Value } from "./graph/operator.ts";
export type { ParseTree } from "./graph/parse_tree.ts";
export { instantiateKernels } from "./kernels/module.ts";
export type { KernelExports } from "./kernels/module.ts";
export { lstm } from "./models/lstm.ts";
export { MODELS } from "./models/registry.ts";
export { seq2seq } from "./models/seq2seq.ts";
export { treeLstm } from "./models/tree_lstm.ts";
export { bucketed } from "./policy/bucketed.ts";
export { cellular } from "./policy/cellular.ts";
export { graph } from "./policy/graph_batching.ts";
export { late } from "./policy/late.ts";
export type { Launch, Step, Task } from "./policy/launch.ts";
export { merged } from "./policy/merged.ts";
export type {
  Decision,
  EngineView,
  Policy,
  WorkerView,
} from "./policy/policy.ts";
export type { Observer, RequestRecord, TaskRecord } from "./policy/records.ts";
export { POLICIES } from "./policy/registry.ts";
export type { Request } from "./policy/request.ts";
export { serial } from "./policy/serial.ts";
export { readSafetensors } from "./tensor/safetensors.ts";
export { tensor } from "./tensor/tensor.ts";
export type { Tensor } from "./tensor/tensor.ts";
export { namedWeights, seededWeights } from "./tensor/weights.ts";
export type { WeightSource } from "./tensor/weights.ts";
