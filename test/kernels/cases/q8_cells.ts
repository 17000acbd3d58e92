/** Steps of int8 cells; x and h arrive quantised, each row by its own scale. */
import {
  packGruQ8,
  packLstmQ8,
  type QuantizedGates,
} from "../../../src/kernels/pack/pack_q8_cells.ts";
import {
  type CaseDraw,
  caseFamily,
  drawFloats,
  drawRows,
  drawSize,
  type KernelCase,
  rowOf,
} from "../kernel_case.ts";
import { gruStep, lstmStep, type NaiveWeights } from "../reference/cells.ts";
import { type QuantizedRow, quantizedWords } from "../reference/q8.ts";
import type { CellCaseSize } from "./cells.ts";
import { drawActivations, drawBytes, drawZeros } from "./q8.ts";

/** Sizes of an int8 cell; `seven`: activations of 7 bits. */
export interface CellQ8CaseSize extends CellCaseSize {
  seven: boolean;
}

const drawCell = ({ prng }: CaseDraw): CellQ8CaseSize => ({
  hidden: drawSize(prng),
  inputSize: drawSize(prng),
  seven: prng.int(2) === 1,
});

/** Scratch memory, as cell_q8_scratch_bytes() says. */
const SCRATCH_BYTES = 6 * 256;

/** Quantised rows and what they stand for. */
function drawQuantized(
  { prng, rows }: CaseDraw,
  k: number,
  seven: boolean,
) {
  const bits = seven ? 128 : 256;
  const quantized = Array.from({ length: rows }, (): QuantizedRow => ({
    scale: Math.fround((0.5 + prng.float()) / bits),
    zero: prng.int(bits),
    q: drawActivations(prng, k, bits),
  }));
  const width = 4 + Math.ceil(k / 4);
  const data = new Int32Array(rows * width);
  quantized.forEach((row, i) => data.set(quantizedWords(row), i * width));
  return {
    operand: { width, data },
    values: (i: number) => {
      const { scale, zero, q } = quantized[i];
      return q.map((value) => (value - zero) * scale);
    },
  };
}

/** A matrix of gates, scaled so that a sum stays of order 1, and what it stands for. */
function drawGates(draw: CaseDraw, rows: number, k: number, all: number) {
  const { prng } = draw;
  const gates: Required<QuantizedGates> = {
    values: drawBytes(draw, { n: rows, k }),
    scale: Float32Array.from(
      { length: rows },
      () => (0.5 + prng.float()) / 64 / Math.sqrt(all),
    ),
    zero: drawZeros(prng, rows),
  };
  const { values, scale, zero } = gates;
  return {
    gates,
    weights: Float64Array.from(values, (value, i) => {
      const row = Math.floor(i / k);
      return (value - zero[row]) * scale[row];
    }),
  };
}

function drawCellQ8(
  draw: CaseDraw,
  gates: number,
  { hidden, inputSize, seven }: CellQ8CaseSize,
) {
  const k = inputSize + hidden;
  const w = drawGates(draw, gates * hidden, inputSize, k);
  const r = drawGates(draw, gates * hidden, hidden, k);
  const b = drawFloats(draw, 2 * gates * hidden);
  const naive: NaiveWeights = { w: w.weights, r: r.weights, b };
  return {
    naive,
    packed: { hidden, inputSize, w: w.gates, r: r.gates, b },
    x: drawQuantized(draw, inputSize, seven),
    h: drawQuantized(draw, hidden, seven),
    state: drawRows(draw, hidden),
  };
}

/** What is the same for both cells. */
const common = (
  { rows }: CaseDraw,
  { hidden, inputSize, seven }: CellQ8CaseSize,
  gates: number,
): Pick<
  KernelCase,
  "label" | "rows" | "scratch" | "tolerance" | "work"
> => ({
  label: `m=${rows} hidden=${hidden} input=${inputSize} ${seven ? 7 : 8} bits`,
  rows,
  scratch: { scratch: SCRATCH_BYTES },
  // Sums are exact; scaling them and adding two rounds a few times, at magnitudes of up to 2^4.
  tolerance: 2 ** -17,
  work: {
    count: 2 * gates * rows * hidden * (inputSize + hidden),
    unit: "GOP/s",
  },
});

/** LSTM step. */
export const lstmQ8Case = caseFamily<CellQ8CaseSize>(drawCell, (draw, size) => {
  const { rows } = draw;
  const { hidden, inputSize, seven } = size;
  const { naive, packed, x, h, state } = drawCellQ8(draw, 4, size);
  return {
    ...common(draw, size, 4),
    inputs: { x: x.operand, h: h.operand, c: state },
    blocks: { w: packLstmQ8(packed) },
    results: {
      hOut: { width: hidden, type: "f32" },
      cOut: { width: hidden, type: "f32" },
    },
    call: (kernels, at, m) =>
      kernels.lstm_step_q8(
        m,
        hidden,
        inputSize,
        seven ? 1 : 0,
        at.x,
        at.h,
        at.c,
        at.w,
        at.hOut,
        at.cOut,
        at.scratch,
      ),
    expected() {
      const states = Array.from(
        { length: rows },
        (_, i) => lstmStep(naive, x.values(i), h.values(i), rowOf(state, i)),
      );
      return {
        hOut: states.flatMap(({ h }) => Array.from(h)),
        cOut: states.flatMap(({ c }) => Array.from(c)),
      };
    },
  };
});

/** GRU step; the state that is blended is not what was quantised, so that a mix-up shows. */
export const gruQ8Case = caseFamily<CellQ8CaseSize>(drawCell, (draw, size) => {
  const { rows } = draw;
  const { hidden, inputSize, seven } = size;
  const { naive, packed, x, h, state } = drawCellQ8(draw, 3, size);
  return {
    ...common(draw, size, 3),
    inputs: { x: x.operand, h: h.operand, state },
    blocks: { w: packGruQ8(packed) },
    results: { hOut: { width: hidden, type: "f32" } },
    call: (kernels, at, m) =>
      kernels.gru_step_q8(
        m,
        hidden,
        inputSize,
        seven ? 1 : 0,
        at.x,
        at.h,
        at.state,
        at.w,
        at.hOut,
        at.scratch,
      ),
    expected: () => ({
      hOut: Array.from({ length: rows }, (_, i) => i).flatMap((i) =>
        Array.from(
          gruStep(naive, x.values(i), h.values(i), rowOf(state, i)),
        )
      ),
    }),
  };
});
