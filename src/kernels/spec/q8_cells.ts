/** Steps of recurrent cells of int8; the kernels that end in `units_q8` compute a range of hidden units. */
import { Q8_K_MAX } from "../pack/pack_q8.ts";
import { packedGruQ8Words, packedLstmQ8Words } from "../pack/pack_q8_cells.ts";
import { rangeOfUnits, start, type Units } from "./cells.ts";
import {
  byRows,
  byUnits,
  type FamilySpecs,
  Q8_OPS_PER_NS,
  TILE_ROWS,
} from "./kernel_spec.ts";
import {
  array,
  flag,
  packed,
  type Parameter,
  rowsIn,
  rowsOut,
  size,
  type Sizes,
} from "./signature.ts";

const operands: readonly Parameter[] = [
  size("kx", 1, { most: Q8_K_MAX }),
  flag("seven"),
  rowsIn("xRows", "kx", { type: "q8" }),
  rowsIn("hRows", "hidden", { type: "q8" }),
];
const scratch = array(
  "scratch",
  (_, kernels) => kernels.cell_q8_scratch_bytes() / 4,
  { access: "scratch", alignment: 16, from: "cell_q8_scratch_bytes()" },
);
const weights = (
  words: (size: { hidden: number; inputSize: number }) => number,
  from: string,
) =>
  packed(({ hidden, kx }) => words({ hidden, inputSize: kx }), from, {
    type: "i32",
  });

const lstm = (units: Units) => [
  ...start(units),
  ...operands,
  rowsIn("cRows", units),
  weights(packedLstmQ8Words, "packLstmQ8()"),
  rowsOut("hOutRows", units),
  rowsOut("cOutRows", units),
  scratch,
];
const gru = (units: Units) => [
  ...start(units),
  ...operands,
  rowsIn("stateRows", units),
  weights(packedGruQ8Words, "packGruQ8()"),
  rowsOut("hOutRows", units),
  scratch,
];
const gates = (count: number) => ({ m, hidden, kx }: Sizes) =>
  2 * count * m * hidden * (hidden + kx) / Q8_OPS_PER_NS;

/** By export. */
export const Q8_CELLS = {
  lstm_step_q8: {
    parameters: lstm("hidden"),
    cuts: [byUnits("lstm_units_q8"), byRows(TILE_ROWS)],
    nanoseconds: gates(4),
  },
  lstm_units_q8: { ...rangeOfUnits, parameters: lstm("units") },
  gru_step_q8: {
    parameters: gru("hidden"),
    cuts: [byUnits("gru_units_q8"), byRows(TILE_ROWS)],
    nanoseconds: gates(3),
  },
  gru_units_q8: { ...rangeOfUnits, parameters: gru("units") },
} satisfies FamilySpecs;
