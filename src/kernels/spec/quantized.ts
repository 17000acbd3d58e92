/** int8: rows of bytes with a header, and products with packed int8 matrices. */
import { ACTIVATIONS } from "../module/activations.ts";
import { packedQ8Words } from "../pack/pack_q8.ts";
import {
  along,
  byRows,
  ELEMENTS_PER_NS,
  type FamilySpecs,
  FLOPS_PER_NS,
  GROUP_COLUMNS,
  TILE_ROWS,
} from "./kernel_spec.ts";
import {
  choice,
  flag,
  float,
  m,
  packed,
  type Parameter,
  rowsIn,
  rowsOut,
  size,
  type Sizes,
} from "./signature.ts";

const zero = size("zero", 0, { most: 255 });
const rows = [
  rowsIn("aRows", "k"),
  rowsOut("qRows", "k", { type: "q8" }),
];
const quantize = {
  cuts: [byRows()],
  nanoseconds: ({ m, k }: Sizes) => m * k / ELEMENTS_PER_NS,
};

const act = choice("act", ACTIVATIONS);
const product: readonly Parameter[] = [
  m,
  size("n"),
  size("k"),
  flag("seven"),
  rowsIn("qRows", "k", { type: "q8" }),
  packed(({ n, k }) => packedQ8Words({ n, k }), "packQ8()", {
    along: "n",
    type: "i32",
  }),
];
const gemm = {
  cuts: [along("n", GROUP_COLUMNS), byRows(TILE_ROWS)],
  nanoseconds: ({ m, n, k }: Sizes) => 2 * m * n * k / FLOPS_PER_NS,
};

export const QUANTIZED = {
  quantize_rows_f32: {
    ...quantize,
    parameters: [
      m,
      size("k"),
      choice("levels", { "7 bits": 127, "8 bits": 255 }),
      ...rows,
    ],
  },
  quantize_static_rows_f32: {
    ...quantize,
    parameters: [m, size("k"), float("scale", true), zero, ...rows],
  },
  gemm_q8_f32: {
    ...gemm,
    parameters: [...product, rowsOut("cRows", "n"), act],
  },
  gemm_q8_i32: {
    ...gemm,
    parameters: [...product, rowsOut("cRows", "n", { type: "i32" })],
  },
  gemm_q8_u8: {
    ...gemm,
    parameters: [
      ...product,
      rowsOut("cRows", "n", { type: "q8" }),
      act,
      float("scale", true),
      zero,
    ],
    // A row of bytes ends with its sum, which takes the whole row.
    cuts: [byRows(TILE_ROWS)],
  },
} satisfies FamilySpecs;
