// The hot core's exports, and nothing else. The ABI in short:
//
// - Memory is imported (env.memory) and belongs to the host. Static data, constants
//   only, ends at shoal_static_end(); the host plans everything above it. Kernels
//   allocate nothing, keep no state and call nothing. An instance per thread may
//   share one memory.
// - Pointers are 32-bit byte addresses. `*Rows` names the address of a table of m u32
//   row addresses; tables and rows are 4-byte aligned, packed weights 16-byte aligned.
// - A row is written from its first to its last element, never beyond; output rows do
//   not overlap input rows unless a kernel says so.
// - A row's bits depend on that row's inputs and the weights alone: not on m, nor on
//   its place in the table, nor on the other rows.
export { shoal_abi_version, shoal_static_end } from "./abi";
export {
  abs_f32, add_f32, div_f32, exp_f32, mul_f32, neg_f32, relu_f32, sigmoid_f32, sub_f32, tanh_f32
} from "./elementwise";
export { gemm_f32 } from "./gemm";
export { gru_step_f32 } from "./gru";
export { lstm_step_f32 } from "./lstm";
export { argmax_rows_f32, projection_argmax_f32 } from "./projection";
export { copy_rows, gather_rows } from "./rows";
export { softmax_rows_f32 } from "./softmax";
export { tree_internal_f32, tree_leaf_f32 } from "./tree_lstm";
export * from "./npu/index";
