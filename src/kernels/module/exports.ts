/**
 * The hot core's exports as TypeScript sees them. Semantics, layouts and orders of roundings
 * stand at each kernel in assembly/; docs/abi.md is for hosts in other languages.
 */

/** Activations fused into matrix kernels; the numbers are part of the ABI. */
export const ACTIVATIONS = {
  none: 0,
  relu: 1,
  sigmoid: 2,
  tanh: 3,
  gelu: 16,
  geluTanh: 17,
  silu: 18,
} as const;

/** Name of an activation fused into a GEMM. */
export type Activation = keyof typeof ACTIVATIONS;

/** (m, n, aRows, outRows), rows of n floats. */
export type UnaryKernel = (
  m: number,
  n: number,
  aRows: number,
  outRows: number,
) => void;

/** (m, n, aRows, bRows, outRows), rows of n floats. */
export type BinaryKernel = (
  m: number,
  n: number,
  aRows: number,
  bRows: number,
  outRows: number,
) => void;

/**
 * The kernels, raw. Addresses are bytes in linear memory; `*Rows` is the address of a
 * table of m u32 row addresses. Tables and rows are 4-byte aligned, packed weights (`w`,
 * see pack.ts) 16-byte aligned. Nothing is checked in release builds, everything in
 * debug builds. Semantics and layouts stand at each kernel in assembly/.
 */
export interface KernelExports {
  shoal_abi_version(): number;
  /** First address above the module's static data. */
  shoal_static_end(): number;
  /** Variants with equal bits that {@linkcode shoal_use_scratch} can choose in this build: a {@linkcode Variants}. */
  shoal_variants(): number;
  /** Bytes of scratch memory that {@linkcode shoal_use_scratch} takes with these variants. */
  shoal_scratch_bytes(variants: number): number;
  /**
   * Scratch memory of this instance alone, 16-byte aligned; 0 takes it away. It changes no bit: few
   * rows meet large weights faster. `variants`: a {@linkcode Variants}; what the build lacks is ignored.
   */
  shoal_use_scratch(address: number, variants: number): void;
  gemm_f32(
    m: number,
    n: number,
    k1: number,
    aRows1: number,
    k2: number,
    aRows2: number,
    w: number,
    cRows: number,
    act: number,
  ): void;
  gemm_residual_f32(
    m: number,
    n: number,
    k1: number,
    aRows1: number,
    k2: number,
    aRows2: number,
    w: number,
    rRows: number,
    cRows: number,
    act: number,
  ): void;
  /** Packs a run-time right operand into panels at w. */
  pack_gemm_f32(
    n: number,
    k: number,
    bRows: number,
    transposed: number,
    w: number,
  ): void;
  /** Rows of f32 to rows of bytes with a header; levels 127 or 255. */
  quantize_rows_f32(
    m: number,
    k: number,
    levels: number,
    aRows: number,
    qRows: number,
  ): void;
  quantize_static_rows_f32(
    m: number,
    k: number,
    scale: number,
    zero: number,
    aRows: number,
    qRows: number,
  ): void;
  /** seven = 1: every activation is below 128. */
  gemm_q8_f32(
    m: number,
    n: number,
    k: number,
    seven: number,
    qRows: number,
    w: number,
    cRows: number,
    act: number,
  ): void;
  gemm_q8_i32(
    m: number,
    n: number,
    k: number,
    seven: number,
    qRows: number,
    w: number,
    cRows: number,
  ): void;
  gemm_q8_u8(
    m: number,
    n: number,
    k: number,
    seven: number,
    qRows: number,
    w: number,
    cRows: number,
    act: number,
    scale: number,
    zero: number,
  ): void;
  /** shape: address of what imageShape() returns. */
  conv_scratch_bytes(
    shape: number,
  ): number;
  /** residualRows may be 0. */
  conv_f32(
    m: number,
    shape: number,
    inRows: number,
    w: number,
    residualRows: number,
    outRows: number,
    act: number,
    scratch: number,
  ): void;
  /** residualRows may be 0. */
  conv_transpose_f32(
    m: number,
    shape: number,
    inRows: number,
    w: number,
    residualRows: number,
    outRows: number,
    act: number,
    scratch: number,
  ): void;
  depthwise_f32(
    m: number,
    shape: number,
    inRows: number,
    w: number,
    outRows: number,
    act: number,
  ): void;
  pool_max_f32(
    m: number,
    shape: number,
    inRows: number,
    outRows: number,
  ): void;
  pool_average_f32(
    m: number,
    shape: number,
    countPadding: number,
    inRows: number,
    outRows: number,
  ): void;
  /** lines, columns: tables of resizeNearest(). */
  resize_nearest_f32(
    m: number,
    height: number,
    width: number,
    channels: number,
    outHeight: number,
    outWidth: number,
    inRows: number,
    lines: number,
    columns: number,
    outRows: number,
  ): void;
  /** lines, columns: tables of resizeLinear(). */
  resize_linear_f32(
    m: number,
    height: number,
    width: number,
    channels: number,
    outHeight: number,
    outWidth: number,
    inRows: number,
    lines: number,
    columns: number,
    outRows: number,
  ): void;
  attention_scratch_bytes(
    capacity: number,
  ): number;
  /** positions: m i32. */
  attention_append_f32(
    m: number,
    keyWidth: number,
    valueWidth: number,
    kRows: number,
    vRows: number,
    positions: number,
    kCaches: number,
    vCaches: number,
  ): void;
  /** lengths: m i32, positions that each row sees. */
  attention_f32(
    m: number,
    heads: number,
    kvHeads: number,
    headSize: number,
    capacity: number,
    scale: number,
    qRows: number,
    kCaches: number,
    vCaches: number,
    lengths: number,
    outRows: number,
    scratch: number,
  ): void;
  /** v: keyWidth f32; lengths: m i32, positions that each row sees. */
  additive_attention_f32(
    m: number,
    keyWidth: number,
    valueWidth: number,
    qRows: number,
    v: number,
    kCaches: number,
    vCaches: number,
    lengths: number,
    outRows: number,
    scratch: number,
  ): void;
  /** beta may be 0. */
  layer_norm_f32(
    m: number,
    n: number,
    aRows: number,
    gamma: number,
    beta: number,
    epsilon: number,
    outRows: number,
  ): void;
  rms_norm_f32(
    m: number,
    n: number,
    aRows: number,
    gamma: number,
    epsilon: number,
    outRows: number,
  ): void;
  topk_rows_f32(
    m: number,
    n: number,
    k: number,
    largest: number,
    aRows: number,
    valueRows: number,
    idRows: number,
  ): void;
  lstm_step_f32(
    m: number,
    hidden: number,
    kx: number,
    xRows: number,
    hRows: number,
    cRows: number,
    w: number,
    hOutRows: number,
    cOutRows: number,
  ): void;
  /** Units first .. first + units - 1 alone; cRows and result rows start at the first one. */
  lstm_units_f32(
    m: number,
    hidden: number,
    first: number,
    units: number,
    kx: number,
    xRows: number,
    hRows: number,
    cRows: number,
    w: number,
    hOutRows: number,
    cOutRows: number,
  ): void;
  gru_step_f32(
    m: number,
    hidden: number,
    kx: number,
    xRows: number,
    hRows: number,
    w: number,
    hOutRows: number,
  ): void;
  /** Units first .. first + units - 1 alone; hUnitRows and hOutRows start at the first one. */
  gru_units_f32(
    m: number,
    hidden: number,
    first: number,
    units: number,
    kx: number,
    xRows: number,
    hRows: number,
    hUnitRows: number,
    w: number,
    hOutRows: number,
  ): void;
  tree_leaf_f32(
    m: number,
    hidden: number,
    kx: number,
    xRows: number,
    w: number,
    hOutRows: number,
    cOutRows: number,
  ): void;
  /** Units first .. first + units - 1 alone; result rows start at the first one. */
  tree_leaf_units_f32(
    m: number,
    hidden: number,
    first: number,
    units: number,
    kx: number,
    xRows: number,
    w: number,
    hOutRows: number,
    cOutRows: number,
  ): void;
  /** hRowsTables, cRowsTables: arrays of `arity` addresses of row tables. */
  tree_internal_f32(
    m: number,
    hidden: number,
    arity: number,
    hRowsTables: number,
    cRowsTables: number,
    w: number,
    hOutRows: number,
    cOutRows: number,
  ): void;
  /** Units first .. first + units - 1 alone; rows of c and result rows start at the first one. */
  tree_internal_units_f32(
    m: number,
    hidden: number,
    first: number,
    units: number,
    arity: number,
    hRowsTables: number,
    cRowsTables: number,
    w: number,
    hOutRows: number,
    cOutRows: number,
  ): void;
  /** Writes i32 ids through idOutRows and m greatest logits to bestOut; logitsRows may be 0. */
  projection_argmax_f32(
    m: number,
    n: number,
    k: number,
    aRows: number,
    w: number,
    idOutRows: number,
    logitsRows: number,
    bestOut: number,
  ): void;
  argmax_rows_f32(m: number, n: number, aRows: number, idOutRows: number): void;
  /** Fills outRows with addresses into `table`; -1, or the first row whose id is out of range. */
  gather_rows(
    m: number,
    idRows: number,
    table: number,
    rowBytes: number,
    count: number,
    outRows: number,
  ): number;
  /** [height][width] of every row to [width][height]. */
  transpose_rows_f32(
    m: number,
    height: number,
    width: number,
    aRows: number,
    outRows: number,
  ): void;
  copy_rows(m: number, bytes: number, aRows: number, outRows: number): void;
  /** Distances in bytes from one line or piece to the next. */
  copy_blocks(
    m: number,
    lines: number,
    pieces: number,
    bytes: number,
    aLine: number,
    aPiece: number,
    outLine: number,
    outPiece: number,
    aRows: number,
    outRows: number,
  ): void;
  softmax_rows_f32: UnaryKernel;
  relu_f32: UnaryKernel;
  sigmoid_f32: UnaryKernel;
  tanh_f32: UnaryKernel;
  exp_f32: UnaryKernel;
  erf_f32: UnaryKernel;
  gelu_f32: UnaryKernel;
  gelu_tanh_f32: UnaryKernel;
  silu_f32: UnaryKernel;
  sqrt_f32: UnaryKernel;
  neg_f32: UnaryKernel;
  abs_f32: UnaryKernel;
  add_f32: BinaryKernel;
  sub_f32: BinaryKernel;
  mul_f32: BinaryKernel;
  div_f32: BinaryKernel;
  max_f32: BinaryKernel;
  min_f32: BinaryKernel;
}
