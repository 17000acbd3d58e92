/**
 * Cells computed in two calls, units before and after a cut, from and into rows that lie apart: what
 * the `_units` kernels are for.
 */
import type {
  Addresses,
  CaseDraw,
  CaseFamily,
  KernelCase,
  RowOperand,
} from "../kernel_case.ts";
import type { KernelExports } from "../../../src/kernels/module/exports.ts";
import { gruCase, lstmCase, treeInternalCase, treeLeafCase } from "./cells.ts";
import { gruQ8Case, lstmQ8Case } from "./q8_cells.ts";

/** Units of one of the two calls, and the addresses of its side's operands. */
interface Side {
  first: number;
  units: number;
  /** Address of an operand that was cut. */
  cut(name: string): number;
}

interface Cutting {
  /** Inputs that have a side each, besides the whole. */
  inputs?: readonly string[];
  /** Lists of inputs that have a side each. */
  lists?: readonly string[];
  call(
    kernels: KernelExports,
    at: Addresses,
    sizes: { m: number; hidden: number; whole: KernelCase },
    side: Side,
  ): void;
}

const SIDES = ["Low", "High"] as const;

function cutCase<Size>(
  family: CaseFamily<Size>,
  { inputs = [], lists = [], call }: Cutting,
): CaseFamily<Size> {
  const cut = (draw: CaseDraw, whole: KernelCase): KernelCase => {
    // ONNX has no such operator.
    const { equivalent: _, ...rest } = whole;
    const hidden = whole.results.hOut.width;
    const first = 8 * draw.prng.int(Math.ceil(hidden / 8));
    const ranges = { Low: [0, first], High: [first, hidden] } as const;
    const listed = lists.flatMap((name) => whole.lists![name]);
    const sides = SIDES.map((side) => ({
      side,
      names: (list: readonly string[]) => list.map((name) => name + side),
    }));
    return {
      ...rest,
      label: `${whole.label} cut at ${first}`,
      inputs: {
        ...whole.inputs,
        ...Object.fromEntries(
          [...inputs, ...listed].flatMap((name) =>
            SIDES.map((side) => [
              name + side,
              columns(whole.inputs[name], ranges[side]),
            ])
          ),
        ),
      },
      lists: {
        ...whole.lists,
        ...Object.fromEntries(
          lists.flatMap((name) =>
            sides.map(({ side, names }) => [
              name + side,
              names(whole.lists![name]),
            ])
          ),
        ),
      },
      results: Object.fromEntries(
        Object.keys(whole.results).flatMap((name) =>
          SIDES.map((side) => [name + side, {
            width: ranges[side][1] - ranges[side][0],
            type: "f32",
          }])
        ),
      ),
      call(kernels, at, m) {
        for (const side of SIDES) {
          const [from, to] = ranges[side];
          if (to === from) continue;
          call(kernels, at, { m, hidden, whole }, {
            first: from,
            units: to - from,
            cut: (name) => at[name + side],
          });
        }
      },
      expected: () =>
        Object.fromEntries(
          Object.entries(whole.expected()).flatMap(([name, values]) =>
            SIDES.map((side) => [
              name + side,
              Array.from(values).filter((_, i) =>
                i % hidden >= ranges[side][0] && i % hidden < ranges[side][1]
              ),
            ])
          ),
        ),
    };
  };
  return Object.assign((draw: CaseDraw) => cut(draw, family(draw)), {
    of: (draw: CaseDraw, size: Size) => cut(draw, family.of(draw, size)),
  });
}

/** Columns from..to-1 of every row. */
function columns(
  { width, data }: RowOperand,
  [from, to]: readonly [number, number],
): RowOperand {
  return {
    width: to - from,
    data: data.filter((_, i) => i % width >= from && i % width < to),
  };
}

/** LSTM step in two calls. */
export const lstmUnitsCase = cutCase(lstmCase, {
  inputs: ["c"],
  call: (kernels, at, { m, hidden, whole }, { first, units, cut }) =>
    kernels.lstm_units_f32(
      m,
      hidden,
      first,
      units,
      whole.inputs.x.width,
      at.x,
      at.h,
      cut("c"),
      at.w,
      cut("hOut"),
      cut("cOut"),
    ),
});

/** GRU step in two calls. */
export const gruUnitsCase = cutCase(gruCase, {
  inputs: ["h"],
  call: (kernels, at, { m, hidden, whole }, { first, units, cut }) =>
    kernels.gru_units_f32(
      m,
      hidden,
      first,
      units,
      whole.inputs.x.width,
      at.x,
      at.h,
      cut("h"),
      at.w,
      cut("hOut"),
    ),
});

/** TreeLSTM leaf in two calls. */
export const treeLeafUnitsCase = cutCase(treeLeafCase, {
  call: (kernels, at, { m, hidden, whole }, { first, units, cut }) =>
    kernels.tree_leaf_units_f32(
      m,
      hidden,
      first,
      units,
      whole.inputs.x.width,
      at.x,
      at.w,
      cut("hOut"),
      cut("cOut"),
    ),
});

/** TreeLSTM internal node in two calls. */
export const treeInternalUnitsCase = cutCase(treeInternalCase, {
  lists: ["c"],
  call: (kernels, at, { m, hidden, whole }, { first, units, cut }) =>
    kernels.tree_internal_units_f32(
      m,
      hidden,
      first,
      units,
      whole.lists!.h.length,
      at.h,
      cut("c"),
      at.w,
      cut("hOut"),
      cut("cOut"),
    ),
});

/** What an int8 cell's label says of its sizes: a row's bytes are padded. */
const q8Size = ({ label }: KernelCase) => ({
  inputSize: Number(/input=(\d+)/.exec(label)![1]),
  seven: label.includes("7 bits") ? 1 : 0,
});

/** int8 LSTM step in two calls. */
export const lstmQ8UnitsCase = cutCase(lstmQ8Case, {
  inputs: ["c"],
  call: (kernels, at, { m, hidden, whole }, { first, units, cut }) =>
    kernels.lstm_units_q8(
      m,
      hidden,
      first,
      units,
      q8Size(whole).inputSize,
      q8Size(whole).seven,
      at.x,
      at.h,
      cut("c"),
      at.w,
      cut("hOut"),
      cut("cOut"),
      at.scratch,
    ),
});

/** int8 GRU step in two calls. */
export const gruQ8UnitsCase = cutCase(gruQ8Case, {
  inputs: ["state"],
  call: (kernels, at, { m, hidden, whole }, { first, units, cut }) =>
    kernels.gru_units_q8(
      m,
      hidden,
      first,
      units,
      q8Size(whole).inputSize,
      q8Size(whole).seven,
      at.x,
      at.h,
      cut("state"),
      at.w,
      cut("hOut"),
      at.scratch,
    ),
});
