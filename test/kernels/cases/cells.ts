import {
  type CaseDraw,
  caseFamily,
  drawFloats,
  drawLength,
  drawRows,
  drawSize,
  drawWeights,
  rowOf,
} from "../kernel_case.ts";
import { type Equivalent, floatsOf } from "../equivalent.ts";
import {
  packGru,
  packLstm,
  packTreeInternal,
  packTreeLeaf,
} from "../../../src/kernels/pack/pack_cells.ts";
import {
  type CellState,
  gruStep,
  lstmStep,
  treeInternal,
  treeLeaf,
} from "../reference/cells.ts";

/** Error of a gate's sum of k products plus the activations' few ulp. */
function cellTolerance(k: number): number {
  return 2 ** -23 * (k + 24);
}

function drawCellWeights(
  draw: CaseDraw,
  gates: number,
  inputSize: number,
  hidden: number,
) {
  const k = inputSize + hidden;
  return {
    w: drawWeights(draw, gates * hidden * inputSize, k),
    r: drawWeights(draw, gates * hidden * hidden, k),
    b: drawFloats(draw, 2 * gates * hidden),
  };
}

/** Rows of h and c from one state per row. */
function stateResults(rows: number, state: (row: number) => CellState) {
  const states = Array.from({ length: rows }, (_, i) => state(i));
  return {
    hOut: states.flatMap(({ h }) => Array.from(h)),
    cOut: states.flatMap(({ c }) => Array.from(c)),
  };
}

/** Sizes of a cell case. */
export interface CellCaseSize {
  hidden: number;
  inputSize: number;
}

const drawCell = ({ prng }: CaseDraw): CellCaseSize => ({
  hidden: drawSize(prng),
  inputSize: prng.int(8) === 0 ? drawLength(prng) : drawSize(prng),
});

/** One step of an ONNX recurrent operator; states and results go by h, c, hOut and cOut. */
function stepEquivalent(
  opType: "LSTM" | "GRU",
  rows: number,
  { hidden, inputSize }: CellCaseSize,
  { w, r, b }: { w: Float32Array; r: Float32Array; b: Float32Array },
  inputs: Readonly<Record<string, Float32Array | Int32Array>>,
): Equivalent {
  const gates = w.length / hidden / inputSize;
  const states = Object.keys(inputs).filter((name) => name !== "x");
  return {
    nodes: [{
      opType,
      inputs: ["x", "w", "r", "b", "", ...states],
      outputs: ["", ...states.map((name) => `${name}Out`)],
      attributes: {
        hidden_size: hidden,
        ...(opType === "GRU" && { linear_before_reset: 1 }),
      },
    }],
    constants: [
      { name: "w", shape: [1, gates * hidden, inputSize], data: w },
      { name: "r", shape: [1, gates * hidden, hidden], data: r },
      { name: "b", shape: [1, 2 * gates * hidden], data: b },
    ],
    inputs: Object.entries(inputs).map(([name, data]) => ({
      name,
      shape: [1, rows, data.length / rows],
      data,
    })),
    outputs: states.map((name) => ({
      name: `${name}Out`,
      shape: [1, rows, hidden],
      of: floatsOf(`${name}Out`),
    })),
    tolerance: 1e-4,
  };
}

/** LSTM step. */
export const lstmCase = caseFamily(drawCell, (draw, { hidden, inputSize }) => {
  const { rows } = draw;
  const weights = drawCellWeights(draw, 4, inputSize, hidden);
  const x = drawRows(draw, inputSize);
  const [h, c] = [drawRows(draw, hidden), drawRows(draw, hidden)];
  return {
    label: `m=${rows} hidden=${hidden} input=${inputSize}`,
    rows,
    inputs: { x, h, c },
    blocks: { w: packLstm({ hidden, inputSize, ...weights }) },
    results: {
      hOut: { width: hidden, type: "f32" },
      cOut: { width: hidden, type: "f32" },
    },
    call: (kernels, at, m) =>
      kernels.lstm_step_f32(
        m,
        hidden,
        inputSize,
        at.x,
        at.h,
        at.c,
        at.w,
        at.hOut,
        at.cOut,
      ),
    expected: () =>
      stateResults(
        rows,
        (i) => lstmStep(weights, rowOf(x, i), rowOf(h, i), rowOf(c, i)),
      ),
    tolerance: cellTolerance(inputSize + hidden),
    work: { count: 8 * rows * hidden * (inputSize + hidden), unit: "GFLOP/s" },
    equivalent: () =>
      stepEquivalent("LSTM", rows, { hidden, inputSize }, weights, {
        x: x.data,
        h: h.data,
        c: c.data,
      }),
  };
});

/** GRU step. */
export const gruCase = caseFamily(drawCell, (draw, { hidden, inputSize }) => {
  const { rows } = draw;
  const weights = drawCellWeights(draw, 3, inputSize, hidden);
  const [x, h] = [drawRows(draw, inputSize), drawRows(draw, hidden)];
  return {
    label: `m=${rows} hidden=${hidden} input=${inputSize}`,
    rows,
    inputs: { x, h },
    blocks: { w: packGru({ hidden, inputSize, ...weights }) },
    results: { hOut: { width: hidden, type: "f32" } },
    call: (kernels, at, m) =>
      kernels.gru_step_f32(m, hidden, inputSize, at.x, at.h, at.w, at.hOut),
    expected: () => ({
      hOut: Array.from({ length: rows }, (_, i) => i)
        .flatMap((i) => Array.from(gruStep(weights, rowOf(x, i), rowOf(h, i)))),
    }),
    tolerance: cellTolerance(inputSize + hidden),
    work: { count: 6 * rows * hidden * (inputSize + hidden), unit: "GFLOP/s" },
    equivalent: () =>
      stepEquivalent("GRU", rows, { hidden, inputSize }, weights, {
        x: x.data,
        h: h.data,
      }),
  };
});

/** TreeLSTM leaf. */
export const treeLeafCase = caseFamily(drawCell, (
  draw,
  { hidden, inputSize },
) => {
  const { rows } = draw;
  const w = drawWeights(draw, 3 * hidden * inputSize, inputSize);
  const b = drawFloats(draw, 3 * hidden);
  const x = drawRows(draw, inputSize);
  return {
    label: `m=${rows} hidden=${hidden} input=${inputSize}`,
    rows,
    inputs: { x },
    blocks: { w: packTreeLeaf({ hidden, inputSize, w, b }) },
    results: {
      hOut: { width: hidden, type: "f32" },
      cOut: { width: hidden, type: "f32" },
    },
    call: (kernels, at, m) =>
      kernels.tree_leaf_f32(m, hidden, inputSize, at.x, at.w, at.hOut, at.cOut),
    expected: () => stateResults(rows, (i) => treeLeaf(w, b, rowOf(x, i))),
    tolerance: cellTolerance(inputSize),
    work: { count: 6 * rows * hidden * inputSize, unit: "GFLOP/s" },
  };
});

/** TreeLSTM internal node, binary half of the time, else of arity 1 to 8. */
export const treeInternalCase = caseFamily<
  { hidden: number; arity: number }
>(({ prng }) => {
  const arity = prng.int(2) === 0 ? 2 : 1 + prng.int(8);
  if (prng.int(10) === 0) return { arity: 8, hidden: 81 + prng.int(16) };
  return { arity, hidden: Math.min(drawSize(prng), arity > 2 ? 17 : 70) };
}, (draw, { hidden, arity }) => {
  const { rows } = draw;
  const r = drawWeights(
    draw,
    (3 + arity) * hidden * arity * hidden,
    arity * hidden,
  );
  const b = drawFloats(draw, (3 + arity) * hidden);
  const children = Array.from({ length: arity }, (_, l) => ({
    h: drawRows(draw, hidden),
    c: drawRows(draw, hidden),
    names: { h: `h${l}`, c: `c${l}` },
  }));
  return {
    label: `m=${rows} hidden=${hidden} arity=${arity}`,
    rows,
    inputs: Object.fromEntries(
      children.flatMap(({ h, c, names }) => [[names.h, h], [names.c, c]]),
    ),
    blocks: { w: packTreeInternal({ hidden, arity, r, b }) },
    lists: {
      h: children.map(({ names }) => names.h),
      c: children.map(({ names }) => names.c),
    },
    results: {
      hOut: { width: hidden, type: "f32" },
      cOut: { width: hidden, type: "f32" },
    },
    call: (kernels, at, m) =>
      kernels.tree_internal_f32(
        m,
        hidden,
        arity,
        at.h,
        at.c,
        at.w,
        at.hOut,
        at.cOut,
      ),
    expected: () =>
      stateResults(rows, (i) =>
        treeInternal(
          { r, b },
          children.map(({ h }) => rowOf(h, i)),
          children.map(({ c }) => rowOf(c, i)),
        )),
    tolerance: cellTolerance(arity * hidden),
    work: {
      count: 2 * (3 + arity) * rows * hidden * arity * hidden,
      unit: "GFLOP/s",
    },
  };
});
