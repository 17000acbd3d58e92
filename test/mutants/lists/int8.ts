/** int8: quantised rows, packed weights, dot products, cells and convolutions (assembly/q8*.ts), and their packers. */
import { agrees } from "../kernel_cases.ts";
import type { MutantList, MutantTest } from "../mutant.ts";

/** What they say of every build, on integers. */
const exact = (kernel: string): MutantTest => ({
  file: "test/kernels/kernels_test.ts",
  filter: `/^${kernel} is exact on small integers/`,
});

export const MUTANTS: MutantList = [
  {
    id: "int8.padding",
    file: "assembly/q8.ts",
    from: "for (let i = k; i & 3; ++i) store<u8>(q + ROW_HEADER + i, 0);",
    to: "",
    tests: [agrees("quantize_rows_f32", "quantize_static_rows_f32")],
    why: "quantised rows are padded with 0, which is part of their sum",
  },
  {
    id: "int8.weight-zero",
    file: "assembly/q8_epilogue.ts",
    from: "i32x4.mul(rowSum, v128.load(header, 48))",
    to: "i32x4.mul(rowSum, v128.load(header, 32))",
    tests: [agrees("gemm_q8_i32", "gemm_q8_f32")],
    why: "every column has its own zero point",
  },
  {
    id: "int8.both-sums",
    file: "assembly/q8_epilogue.ts",
    from: "if (kind == q8.BOTH) {",
    to: "if (false) {",
    tests: [agrees("lstm_step_q8", "gru_step_q8")],
    why: "a gate of an int8 cell is the sum of x's product and h's",
  },
  {
    id: "int8.conv-padding",
    file: "assembly/q8_conv.ts",
    from: "else memory.fill(to, <u8>zero, bytes);",
    to: "else memory.fill(to, 0, bytes);",
    tests: [agrees("conv_q8_i32")],
    why: "padding stands for 0, which is the image's zero point",
  },
  {
    id: "int8.depthwise-padding",
    file: "assembly/q8_depthwise.ts",
    from: "memory.fill(zeros, <u8>load<i32>(a, 4), zerosBytes(s));",
    to: "memory.fill(zeros, 0, zerosBytes(s));",
    tests: [agrees("conv_q8_i32")],
    why: "padding stands for 0, which is the image's zero point",
  },
  {
    id: "int8.rows-differ",
    file: "assembly/q8_epilogue.ts",
    from: " && load<i32>(q, 4) == rowZero",
    to: "",
    builds: ["dot"],
    tests: [exact("gemm_q8_i32")],
    why: "what is at hand for several rows is of rows with one zero point",
  },
  {
    id: "int8.images-differ",
    file: "assembly/q8_epilogue.ts",
    from: " && load<u64>(q) == head",
    to: "",
    builds: ["dot"],
    tests: [exact("conv_q8_u8")],
    why:
      "what is at hand for several rows is of rows with one zero point and scale",
  },
  {
    id: "int8.headers-apart",
    file: "assembly/q8_sweep.ts",
    from: "headers ? headers + at * (HEADER_BYTES >> 2) : scratch + offset",
    to: "scratch + offset",
    builds: ["dot"],
    tests: [exact("conv_q8_i32")],
    why: "what lies before a pixel that is read in place is no header",
  },
  {
    id: "int8.high-bits",
    file: "assembly/q8_epilogue.ts",
    from: "v128.store(high, i32x4.shl(lo, 7));",
    to: "v128.store(high, i32x4.shl(lo, 6));",
    builds: ["dot"],
    tests: ["test/kernels/q8_engines_test.ts"],
    why: "the highest bit of a byte counts 128",
  },
  {
    id: "int8.packed-blocks",
    file: "assembly/q8_sweep.ts",
    from:
      "return rows < PACKED_ROWS ? rows : min(BLOCK_ROWS, rows - rows % PACKED_ROWS);",
    to: "return BLOCK_ROWS;",
    builds: ["dot"],
    tests: ["test/kernels/q8_streaming_test.ts"],
    why: "as many rows are packed as scratch memory holds",
  },
  {
    id: "int8.dots-of-bytes",
    file: "assembly/scratch.ts",
    from: "wholeBytes = wholeDots && dotsTakeBytes();",
    to: "wholeBytes = wholeDots;",
    builds: ["dot"],
    tests: ["test/kernels/q8_engines_test.ts"],
    why: "dot products of 8-bit activations are exact in some engines alone",
  },
  {
    id: "int8.levels",
    file: "assembly/q8.ts",
    from: "most = mostOf(zero, levels)",
    to: "most = mostOf(zero, 255)",
    tests: ["test/kernels/quantize_test.ts"],
    why: "7-bit activations end at 127",
  },
  {
    id: "int8.exceptions",
    file: "assembly/q8_exceptions.ts",
    from: "return exception(slot) < done ? slot + 2 : slot;",
    to: "return slot + 2;",
    builds: ["relaxed"],
    tests: ["test/kernels/q8_chain_test.ts"],
    why: "a pair of steps that could overflow 16 bits is summed apart",
  },
  {
    id: "int8.listed",
    file: "src/kernels/pack/pack_q8.ts",
    from: "if (Math.max(positive, negative) > SUM_MAX) return true;",
    to: "if (positive > SUM_MAX) return true;",
    tests: ["test/kernels/q8_chain_test.ts"],
    why: "four products fit 16 bits if the weights of either sign sum to 258",
  },
  {
    id: "int8.column-sum",
    file: "src/kernels/pack/pack_q8.ts",
    from: "words[header + lane] = sum - k * (zero?.[j] ?? 0);",
    to: "words[header + lane] = sum;",
    tests: [agrees("gemm_q8_i32")],
    why: "the row's zero point meets the column's sum less K weightZero",
  },
  {
    id: "int8.dynamic-zero",
    file: "assembly/q8_dynamic.ts",
    from: "store<i32>(to, zero - 128, 32);",
    to: "store<i32>(to, zero, 32);",
    tests: [agrees("pack_gemm_q8")],
    why:
      "a byte of a dynamic operand is packed less 128, and so is its zero point",
  },
  {
    id: "int8.dynamic-last-column",
    file: "assembly/q8_dynamic.ts",
    from:
      "describe(k, q, load<i32>(q, 8), lane, w);\n    if (lane & 1) continue;",
    to:
      "if (lane & 1) continue;\n    describe(k, q, load<i32>(q, 8), lane, w);",
    tests: [agrees("pack_gemm_q8")],
    why: "every column has its own constants",
  },
  {
    id: "int8.dynamic-padding",
    file: "assembly/q8_dynamic.ts",
    from: "v128.splat<i32>(((k + 3) & ~3) << 7)",
    to: "v128.splat<i32>(k << 7)",
    tests: [agrees("pack_gemm_q8")],
    why: "sums of signed bytes have those of the padding in them",
  },
];
