// The systolic array, usable by itself: lay out the registers (npu_state_bytes,
// npu_init), describe a GEMM (fields of Job in sequencer.ts, npu_job_bytes long), and
// run it (npu_run_begin, npu_run); or write the port registers and npu_step yourself.
export { npu_step } from "./array";
export { npu_job_bytes, npu_run, npu_run_begin, npu_scratch_bytes } from "./sequencer";
export { npu_init, npu_state_bytes } from "./state";
