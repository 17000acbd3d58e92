import {
  packedGruFloats,
  packedLstmFloats,
  packedTreeInternalFloats,
  packedTreeLeafFloats,
} from "../pack/pack_cells.ts";
import {
  type FromSizes,
  m,
  packed,
  rowsIn,
  rowsOut,
  type Signatures,
  size,
  type Sizes,
} from "./signature.ts";

const hidden: FromSizes = (sizes) => sizes.hidden!;
const kx: FromSizes = (sizes) => sizes.kx!;
const cell = (sizes: Sizes) => ({
  hidden: sizes.hidden!,
  inputSize: sizes.kx!,
});
const children = (name: string, width = hidden) =>
  ({
    kind: "tables",
    name,
    count: ({ arity }: Sizes) => arity!,
    width,
  }) as const;
/** A range of hidden units: what one thread of several computes. */
const range = [size("first", 0, { multipleOf: 8 }), size("units")];
const units: FromSizes = (sizes) => sizes.units!;
const w = {
  lstm: packed("w", (sizes) => packedLstmFloats(cell(sizes)), "packLstm()"),
  gru: packed("w", (sizes) => packedGruFloats(cell(sizes)), "packGru()"),
  treeLeaf: packed(
    "w",
    (sizes) => packedTreeLeafFloats(cell(sizes)),
    "packTreeLeaf()",
  ),
  treeInternal: packed(
    "w",
    ({ hidden, arity }) =>
      packedTreeInternalFloats({ hidden: hidden!, arity: arity! }),
    "packTreeInternal()",
  ),
};
const arity = size("arity", 1, { most: 8 });

/** What the ranges of units have in common: a complaint, or undefined. */
export function unitsFit({ hidden, first, units }: Sizes): string | undefined {
  return first! + units! <= hidden!
    ? undefined
    : `units ${first} to ${
      first! + units! - 1
    } are not among ${hidden}: take at most ${hidden! - first!}`;
}

/** Their names. */
export type CellKernel =
  | "lstm_step_f32"
  | "lstm_units_f32"
  | "gru_step_f32"
  | "gru_units_f32"
  | "tree_leaf_f32"
  | "tree_leaf_units_f32"
  | "tree_internal_f32"
  | "tree_internal_units_f32";

/** Recurrent cells; a step never writes over its inputs. */
export const CELLS: Signatures<CellKernel> = {
  lstm_step_f32: [
    m,
    size("hidden"),
    size("kx", 0),
    rowsIn("xRows", kx),
    rowsIn("hRows", hidden),
    rowsIn("cRows", hidden),
    w.lstm,
    rowsOut("hOutRows", hidden),
    rowsOut("cOutRows", hidden),
  ],
  lstm_units_f32: [
    m,
    size("hidden"),
    ...range,
    size("kx", 0),
    rowsIn("xRows", kx),
    rowsIn("hRows", hidden),
    rowsIn("cRows", units),
    w.lstm,
    rowsOut("hOutRows", units),
    rowsOut("cOutRows", units),
  ],
  gru_step_f32: [
    m,
    size("hidden"),
    size("kx", 0),
    rowsIn("xRows", kx),
    rowsIn("hRows", hidden),
    w.gru,
    rowsOut("hOutRows", hidden),
  ],
  gru_units_f32: [
    m,
    size("hidden"),
    ...range,
    size("kx", 0),
    rowsIn("xRows", kx),
    rowsIn("hRows", hidden),
    rowsIn("hUnitRows", units),
    w.gru,
    rowsOut("hOutRows", units),
  ],
  tree_leaf_f32: [
    m,
    size("hidden"),
    size("kx"),
    rowsIn("xRows", kx),
    w.treeLeaf,
    rowsOut("hOutRows", hidden),
    rowsOut("cOutRows", hidden),
  ],
  tree_leaf_units_f32: [
    m,
    size("hidden"),
    ...range,
    size("kx"),
    rowsIn("xRows", kx),
    w.treeLeaf,
    rowsOut("hOutRows", units),
    rowsOut("cOutRows", units),
  ],
  tree_internal_f32: [
    m,
    size("hidden"),
    arity,
    children("hRowsTables"),
    children("cRowsTables"),
    w.treeInternal,
    rowsOut("hOutRows", hidden),
    rowsOut("cOutRows", hidden),
  ],
  tree_internal_units_f32: [
    m,
    size("hidden"),
    ...range,
    arity,
    children("hRowsTables"),
    children("cRowsTables", units),
    w.treeInternal,
    rowsOut("hOutRows", units),
    rowsOut("cOutRows", units),
  ],
};
