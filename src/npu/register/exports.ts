/**
 * The systolic array's part of the hot core as it is exported (assembly/npu/): raw functions over
 * linear memory. Addresses are bytes; nothing is checked in release builds.
 */
export interface NpuExports {
  /** First address above the module's static data. */
  shoal_static_end?(): number;
  /** Bytes of the registers of an array. dtype: 0 f32, 1 int8. resident: 1 for ws and is. */
  npu_state_bytes(
    rows: number,
    cols: number,
    dtype: number,
    resident: number,
  ): number;
  npu_init(
    state: number,
    rows: number,
    cols: number,
    dtype: number,
    resident: number,
  ): void;
  npu_step(state: number): void;
  npu_job_bytes(): number;
  npu_scratch_bytes(state: number, sr: number, sc: number): number;
  npu_run_begin(state: number, job: number): void;
  /** Runs at most `cycles` cycles; 1 when the job is done. */
  npu_run(state: number, job: number, cycles: number): number;
}

/** Byte offsets of the fields of a job (class Job in assembly/npu/sequencer.ts). */
export const JOB = {
  sr: 0,
  sc: 4,
  t: 8,
  overlap: 12,
  left: 16,
  leftByRow: 20,
  leftByTime: 24,
  top: 28,
  topByFirst: 32,
  topByCol: 36,
  out: 40,
  outByFirst: 44,
  outByCol: 48,
  scratch: 52,
  log: 56,
  logCycles: 60,
  cycles: 64,
  leftWords: 72,
  topWords: 80,
  bottomWords: 88,
  readBacks: 96,
  activeTotal: 104,
} as const;

/** Offsets of the fields of an array's registers that a reader needs (class ArrayState). */
export const STATE = {
  tagStride: 20,
  dataStride: 24,
  sumStride: 28,
  chainStride: 32,
  moving: 36,
  tags: 40,
  held: 44,
  heldTags: 48,
  chain: 52,
  chainTags: 56,
  sums: 60,
  countActive: 76,
} as const;
