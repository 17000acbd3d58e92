/**
 * Steps of recurrent cells; a step never writes over its inputs. The kernels that end in `units`
 * compute a range of hidden units, of which operands of width `units` have their own.
 */
import {
  packedGruFloats,
  packedLstmFloats,
  packedTreeInternalFloats,
  packedTreeLeafFloats,
} from "../pack/pack_cells.ts";
import {
  byRows,
  byUnits,
  type FamilySpecs,
  FLOPS_PER_NS,
  TILE_ROWS,
  type WholeKernel,
} from "./kernel_spec.ts";
import {
  type FromSizes,
  m,
  packed,
  type Parameter,
  rowsIn,
  rowsOut,
  size,
  type Sizes,
  type TablesParameter,
} from "./signature.ts";

/** What a kernel computes: all hidden units, or a range of them. */
export type Units = "hidden" | "units";

/** A step's batch and units. */
export const start = (units: Units): readonly Parameter[] => [
  m,
  size("hidden"),
  ...(units === "units"
    ? [size("first", 0, { multipleOf: 8 }), size("units")]
    : []),
];
const x = rowsIn("xRows", "kx");
const h = rowsIn("hRows", "hidden");
/** Packed weights of a cell that reads x. */
const weights = (
  floats: (size: { hidden: number; inputSize: number }) => number,
  from: string,
) => packed(({ hidden, kx }) => floats({ hidden, inputSize: kx }), from);
const treeInternalFloats: FromSizes = ({ hidden, arity }) =>
  packedTreeInternalFloats({ hidden, arity });
const children = (name: string, width: Units): TablesParameter => ({
  kind: "tables",
  name,
  count: "arity",
  width,
});
const results = (units: Units) => [
  rowsOut("hOutRows", units),
  rowsOut("cOutRows", units),
];

const lstm = (units: Units) => [
  ...start(units),
  size("kx", 0),
  x,
  h,
  rowsIn("cRows", units),
  weights(packedLstmFloats, "packLstm()"),
  ...results(units),
];
const gru = (units: Units) => [
  ...start(units),
  size("kx", 0),
  x,
  h,
  ...(units === "units" ? [rowsIn("hUnitRows", units)] : []),
  weights(packedGruFloats, "packGru()"),
  rowsOut("hOutRows", units),
];
const treeLeaf = (units: Units) => [
  ...start(units),
  size("kx"),
  x,
  weights(packedTreeLeafFloats, "packTreeLeaf()"),
  ...results(units),
];
const treeInternal = (units: Units) => [
  ...start(units),
  size("arity", 1, { most: 8 }),
  children("hRowsTables", "hidden"),
  children("cRowsTables", units),
  packed(treeInternalFloats, "packTreeInternal()"),
  ...results(units),
];

/** What is said of every kernel that computes a range of units. */
export const rangeOfUnits: Pick<WholeKernel, "cuts" | "relation" | "practice"> =
  {
    cuts: "whole",
    practice: { first: 0, units: 40 },
    relation: ({ hidden, first, units }) =>
      first + units <= hidden
        ? undefined
        : `units ${first} to ${
          first + units - 1
        } are not among ${hidden}: take at most ${hidden - first}`,
  };
const gates = (count: number) => ({ m, hidden, kx }: Sizes) =>
  2 * count * m * hidden * (hidden + kx) / FLOPS_PER_NS;

export const CELLS = {
  lstm_step_f32: {
    parameters: lstm("hidden"),
    cuts: [byUnits("lstm_units_f32"), byRows(TILE_ROWS)],
    nanoseconds: gates(4),
  },
  lstm_units_f32: { ...rangeOfUnits, parameters: lstm("units") },
  gru_step_f32: {
    parameters: gru("hidden"),
    cuts: [
      byUnits("gru_units_f32", { hUnitRows: "hRows" }),
      byRows(TILE_ROWS),
    ],
    nanoseconds: gates(3),
  },
  gru_units_f32: { ...rangeOfUnits, parameters: gru("units") },
  tree_leaf_f32: {
    parameters: treeLeaf("hidden"),
    cuts: [byUnits("tree_leaf_units_f32"), byRows(TILE_ROWS)],
    nanoseconds: ({ m, hidden, kx }) => 6 * m * hidden * kx / FLOPS_PER_NS,
  },
  tree_leaf_units_f32: { ...rangeOfUnits, parameters: treeLeaf("units") },
  tree_internal_f32: {
    parameters: treeInternal("hidden"),
    cuts: [byUnits("tree_internal_units_f32"), byRows()],
    nanoseconds: ({ m, hidden, arity }) =>
      2 * (3 + arity) * m * hidden * hidden * arity / FLOPS_PER_NS,
  },
  tree_internal_units_f32: {
    ...rangeOfUnits,
    parameters: treeInternal("units"),
  },
} satisfies FamilySpecs;
