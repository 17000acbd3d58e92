// The hot core's exports, and nothing else. The ABI in short:
//
// - Memory is imported (env.memory) and belongs to the host. Static data, constants
//   only, ends at shoal_static_end(); the host plans everything above it. Kernels
//   allocate nothing, call nothing, and keep no state but the address of the scratch
//   memory they were given. An instance per thread may share one memory.
// - Pointers are 32-bit byte addresses. `*Rows` names the address of a table of m u32
//   row addresses; tables and rows are 4-byte aligned, packed weights 16-byte aligned.
// - A row is written from its first to its last element, never beyond; output rows do
//   not overlap input rows unless a kernel says so.
// - A row's bits depend on that row's inputs and the weights alone: not on m, nor on
//   its place in the table, nor on the other rows.
export { shoal_abi_version, shoal_scratch_bytes, shoal_static_end, shoal_use_scratch, shoal_variants } from "./abi";
export {
  abs_f32, add_f32, div_f32, erf_f32, exp_f32, gelu_f32, gelu_tanh_f32, magnitude_f32, max_f32, min_f32,
  mul_f32, neg_f32, relu_f32, sigmoid_f32, silu_f32, sqrt_f32, sub_f32, tanh_f32
} from "./elementwise";
export { additive_attention_f32 } from "./additive_attention";
export { attention_append_f32, attention_f32, attention_scratch_bytes } from "./attention";
export { conv_f32, conv_scratch_bytes, conv_transpose_f32 } from "./conv";
export { depthwise_f32 } from "./depthwise";
export { irfft_f32, rfft_f32 } from "./fft";
export { gemm_f32, gemm_residual_f32, pack_gemm_f32 } from "./gemm";
export { gru_step_f32, gru_units_f32 } from "./gru";
export { lstm_step_f32, lstm_units_f32 } from "./lstm";
export { layer_norm_f32, rms_norm_f32 } from "./norm";
export { pool_average_f32, pool_max_f32 } from "./pool";
export { gemm_q8_f32, gemm_q8_i32, gemm_q8_u8, quantize_rows_f32, quantize_static_rows_f32 } from "./q8";
export { pack_gemm_q8 } from "./q8_dynamic";
export { conv_q8_f32, conv_q8_i32, conv_q8_scratch_bytes, conv_q8_u8 } from "./q8_conv";
export { cell_q8_scratch_bytes, gru_step_q8, gru_units_q8, lstm_step_q8, lstm_units_q8 } from "./q8_cells";
export { argmax_rows_f32, projection_argmax_f32 } from "./projection";
export { resize_linear_f32, resize_nearest_f32 } from "./resize";
export { copy_blocks, copy_rows, gather_rows } from "./rows";
export { softmax_rows_f32 } from "./softmax";
export { topk_rows_f32 } from "./topk";
export { transpose_rows_f32 } from "./transpose";
export {
  tree_internal_f32, tree_internal_units_f32, tree_leaf_f32, tree_leaf_units_f32
} from "./tree_lstm";
export * from "./npu/index";
