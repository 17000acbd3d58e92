/**
 * How each kernel's calls are cut, one entry per export: a new kernel does not compile without one.
 * Rates in the estimates are of the order of what docs/kernels.md shows.
 */
import { packedQ8PanelWords } from "../pack/pack_q8.ts";
import {
  gruUnits,
  lstmUnits,
  treeInternalRows,
  treeInternalUnits,
  treeLeafUnits,
} from "./cells.ts";
import {
  type Arguments,
  byColumns,
  byRows,
  type KernelName,
  type PartMemory,
  type ScratchArgument,
  type Splitting,
  WORD,
} from "./cut.ts";
import { byLines, byPixels, field } from "./images.ts";
import { packColumns, projectionColumns, resizeLines } from "./special.ts";

/** Columns of a whole group of panels. */
const GROUP = 32;
/** Rows that a tile's height divides well, whichever tile it is. */
const TILE_ROWS = 10;
const FLOPS_PER_NS = 40;
const BYTES_PER_NS = 10;
/** Elements of an activation or a softmax. */
const ELEMENTS_PER_NS = 0.5;

/** Bytes of a panel of f32 weights over k. */
const panelBytes = (k: number) => 32 * (1 + k);

/** m, n, k1, a1, k2, a2, w, then tables of results. */
function gemm(tables: readonly number[]): Splitting {
  return {
    cuts: [
      byColumns({
        n: 1,
        tables,
        grain: GROUP,
        weights: { at: 6, panelBytes: (a) => panelBytes(a[2]! + a[4]!) },
      }),
      byRows({ tables: [3, 5, ...tables], grain: TILE_ROWS }),
    ],
    nanoseconds: (a) => 2 * a[0]! * a[1]! * (a[2]! + a[4]!) / FLOPS_PER_NS,
  };
}

/** m, n, k, seven, q, w, c, ... */
function gemmQ8(cutColumns: boolean): Splitting {
  return {
    cuts: [
      ...cutColumns
        ? [byColumns({
          n: 1,
          tables: [6],
          grain: GROUP,
          weights: {
            at: 5,
            panelBytes: (a) => WORD * packedQ8PanelWords(a[2]!),
          },
        })]
        : [],
      byRows({ tables: [4, 6], grain: TILE_ROWS }),
    ],
    nanoseconds: (a) => 2 * a[0]! * a[1]! * a[2]! / FLOPS_PER_NS,
  };
}

/** m, n, ... : rows that are computed as wholes, about so many passes over each. */
function rowwise(tables: readonly number[], passes = 1): Splitting {
  return {
    cuts: [byRows({ tables })],
    nanoseconds: (a) => passes * a[0]! * a[1]! / ELEMENTS_PER_NS,
  };
}

/** m, n, tables: each element by itself. */
function elementwise(tables: readonly number[]): Splitting {
  return {
    cuts: [byRows({ tables }), byColumns({ n: 1, tables, grain: 64 })],
    nanoseconds: (a) => a[0]! * a[1]! / ELEMENTS_PER_NS,
  };
}

const unary = elementwise([2, 3]);
const binary = elementwise([2, 3, 4]);

/** Products of a convolution's window over all output pixels. */
function windowFlops(
  a: Arguments,
  memory: PartMemory,
  channels: number,
): number {
  const of = (name: Parameters<typeof field>[1]) => field(a, name, memory);
  return 2 * a[0]! * of("outHeight") * of("outWidth") * channels *
    of("kernelHeight") * of("kernelWidth");
}

const convScratch: ScratchArgument = {
  at: 7,
  bytes: (a, { kernels }) => kernels.conv_scratch_bytes(a[1]!),
};

/** m, shape, in, w, residual, out, act, scratch. */
function conv(direction: "forward" | "transposed"): Splitting {
  const lines = {
    tables: [4, 5],
    pixels: 20,
    channels: "outChannels",
    direction,
    scratch: convScratch,
  } as const;
  return {
    cuts: [
      byRows({ tables: [2, 4, 5], scratch: convScratch }),
      ...direction === "forward" ? [byPixels(lines)] : [],
      byLines(lines),
    ],
    nanoseconds: (a, memory) =>
      windowFlops(
        a,
        memory,
        field(a, "outChannels", memory) * field(a, "channels", memory) /
          field(a, "groups", memory),
      ) / FLOPS_PER_NS,
  };
}

/** m, shape, ..., in, ..., out: every channel by itself. */
function window(input: number, out: number): Splitting {
  return {
    cuts: [
      byRows({ tables: [input, out] }),
      byLines({ tables: [out], pixels: 1, channels: "channels" }),
    ],
    nanoseconds: (a, memory) =>
      windowFlops(a, memory, field(a, "channels", memory)) / BYTES_PER_NS,
  };
}

/** m, height, width, channels, outHeight, outWidth, in, lines, columns, out. */
function resize(lineBytes: number): Splitting {
  return {
    cuts: [byRows({ tables: [6, 9] }), resizeLines(lineBytes)],
    nanoseconds: (a) => a[0]! * a[3]! * a[4]! * a[5]! / ELEMENTS_PER_NS,
  };
}

/** Bytes of the scores of the longest of m rows; argument 7 is the rows' lengths. */
function longestScores(a: Arguments, { words }: PartMemory): number {
  let longest = 0;
  for (let i = 0, at = a[7]! >>> 2; i < a[0]!; i++) {
    longest = Math.max(longest, words[at + i]!);
  }
  return WORD * 8 * Math.ceil(longest / 8);
}

/** Every export that computes. `null`: over before another thread could have begun. */
export const SPLITTINGS: Readonly<Record<KernelName, Splitting | null>> = {
  shoal_abi_version: null,
  shoal_static_end: null,
  shoal_variants: null,
  shoal_scratch_bytes: null,
  shoal_use_scratch: null,
  conv_scratch_bytes: null,
  attention_scratch_bytes: null,
  gemm_f32: gemm([7]),
  gemm_residual_f32: gemm([7, 8]),
  pack_gemm_f32: {
    cuts: [packColumns],
    nanoseconds: (a) => a[0]! * a[1]! / ELEMENTS_PER_NS,
  },
  quantize_rows_f32: rowwise([3, 4]),
  quantize_static_rows_f32: rowwise([4, 5]),
  gemm_q8_f32: gemmQ8(true),
  gemm_q8_i32: gemmQ8(true),
  // A row of bytes ends with its sum, which takes the whole row.
  gemm_q8_u8: gemmQ8(false),
  conv_f32: conv("forward"),
  conv_transpose_f32: conv("transposed"),
  depthwise_f32: window(2, 4),
  pool_max_f32: window(2, 3),
  pool_average_f32: window(3, 4),
  resize_nearest_f32: resize(4),
  resize_linear_f32: resize(16),
  attention_append_f32: null,
  // m, heads, kvHeads, headSize, capacity, scale, q, keys, values, lengths, out, scratch. Heads share rows
  // of a cache, so that a part of them is no call of its own.
  attention_f32: {
    cuts: [
      byRows({
        tables: [6, 7, 8, 9, 10],
        grain: 4,
        scratch: {
          at: 11,
          bytes: (a, { kernels }) => kernels.attention_scratch_bytes(a[4]!),
        },
      }),
    ],
    nanoseconds: (a) => 4 * a[0]! * a[1]! * a[3]! * a[4]! / FLOPS_PER_NS,
  },
  // m, keyWidth, valueWidth, q, v, keys, values, lengths, out, scratch.
  additive_attention_f32: {
    cuts: [
      byRows({
        tables: [3, 5, 6, 7, 8],
        scratch: { at: 9, bytes: longestScores },
      }),
    ],
    nanoseconds: (a, memory) =>
      a[0]! * a[1]! * longestScores(a, memory) / WORD / ELEMENTS_PER_NS,
  },
  layer_norm_f32: rowwise([2, 6], 2),
  rms_norm_f32: rowwise([2, 5], 2),
  topk_rows_f32: rowwise([4, 5, 6]),
  // m, hidden, kx, x, h, c, w, hOut, cOut.
  lstm_step_f32: {
    cuts: [lstmUnits, byRows({ tables: [3, 4, 5, 7, 8], grain: TILE_ROWS })],
    nanoseconds: (a) => 8 * a[0]! * a[1]! * (a[1]! + a[2]!) / FLOPS_PER_NS,
  },
  lstm_units_f32: null,
  // m, hidden, kx, x, h, w, hOut.
  gru_step_f32: {
    cuts: [gruUnits, byRows({ tables: [3, 4, 6], grain: TILE_ROWS })],
    nanoseconds: (a) => 6 * a[0]! * a[1]! * (a[1]! + a[2]!) / FLOPS_PER_NS,
  },
  gru_units_f32: null,
  // m, hidden, kx, x, w, hOut, cOut.
  tree_leaf_f32: {
    cuts: [treeLeafUnits, byRows({ tables: [3, 5, 6], grain: TILE_ROWS })],
    nanoseconds: (a) => 6 * a[0]! * a[1]! * a[2]! / FLOPS_PER_NS,
  },
  tree_leaf_units_f32: null,
  // m, hidden, arity, ...
  tree_internal_f32: {
    cuts: [treeInternalUnits, treeInternalRows],
    nanoseconds: (a) =>
      2 * (3 + a[2]!) * a[0]! * a[1]! * a[1]! * a[2]! / FLOPS_PER_NS,
  },
  tree_internal_units_f32: null,
  // m, n, k, a, w, ids, logits, best.
  projection_argmax_f32: {
    cuts: [
      projectionColumns,
      byRows({ tables: [3, 5, 6, 7], grain: TILE_ROWS }),
    ],
    nanoseconds: (a) => 2 * a[0]! * a[1]! * a[2]! / FLOPS_PER_NS,
  },
  argmax_rows_f32: rowwise([2, 3]),
  gather_rows: null,
  // m, lines, pieces, bytes, four distances, a, out.
  copy_blocks: {
    cuts: [byRows({ tables: [8, 9] })],
    nanoseconds: (a) => 2 * a[0]! * a[1]! * a[2]! * a[3]! / BYTES_PER_NS,
  },
  // m, bytes, a, out.
  copy_rows: {
    cuts: [byRows({ tables: [2, 3] })],
    nanoseconds: (a) => a[0]! * a[1]! / BYTES_PER_NS,
  },
  // m, height, width, a, out.
  transpose_rows_f32: {
    cuts: [byRows({ tables: [3, 4] })],
    nanoseconds: (a) => 4 * a[0]! * a[1]! * a[2]! / BYTES_PER_NS,
  },
  softmax_rows_f32: rowwise([2, 3]),
  relu_f32: unary,
  sigmoid_f32: unary,
  tanh_f32: unary,
  exp_f32: unary,
  erf_f32: unary,
  gelu_f32: unary,
  gelu_tanh_f32: unary,
  silu_f32: unary,
  sqrt_f32: unary,
  neg_f32: unary,
  abs_f32: unary,
  add_f32: binary,
  sub_f32: binary,
  mul_f32: binary,
  div_f32: binary,
  max_f32: binary,
  min_f32: binary,
};
