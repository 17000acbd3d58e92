// Steps of recurrent cells of int8: weights quantised per gate and unit, x and h per row, each by
// its own scale, so that a row never depends on its batch. A gate's sum is that of two products of
// gemm_q8_f32, act none, x's first; what becomes of it is the f32 cells'.
import { checkPacked, checkProducts, checkRows, checkSpan, checkUnits } from "./checks";
import { opened, remembered } from "./gates";
import { late, n, p0, writes } from "./job";
import { op } from "./op";
import { checkQ8Panel, checkQ8Rows } from "./q8";
import { q8 } from "./q8_epilogue";
import { keepsParts, PART_BYTES, readsQ8, streams, writesQ8 } from "./q8_job";
import {
  blockRows, FEW_PANELS, groupPanels, packBlock, q8PanelBytes, readsBlock, sweepQ8, takesPanels, tileRows, tilesQ8
} from "./q8_sweep";
import { PACKED_ROWS } from "./q8_tiles";
import { STREAM_BYTES } from "./sweep";
import { activateRows } from "./unary";

/** Bytes of the scratch memory that the int8 cells need. */
export function cell_q8_scratch_bytes(): i32 {
  return PACKED_ROWS * <i32>PART_BYTES;
}

/**
 * lstm_step_f32 of int8 (ONNX LSTM, default activations, no peepholes): xRows and hRows are
 * quantised rows of kx and `hidden` bytes, cRows f32. Weights: the panels of lstm_step_f32 in
 * their order, each first as a panel of gemm_q8_f32 over x with the input biases, then as one over
 * h with the recurrent biases. seven = 1: all bytes of x and h are below 128. scratch:
 * cell_q8_scratch_bytes() bytes, 16-byte aligned. hOut and cOut rows must not overlap any input row.
 */
export function lstm_step_q8(
  m: i32, hidden: i32, kx: i32, seven: i32, xRows: usize, hRows: usize, cRows: usize, w: usize,
  hOutRows: usize, cOutRows: usize, scratch: usize
): void {
  lstm_units_q8(m, hidden, 0, hidden, kx, seven, xRows, hRows, cRows, w, hOutRows, cOutRows, scratch);
}

/**
 * lstm_step_q8 for units first .. first + units - 1 of `hidden` alone; first is a multiple of 8.
 * Rows of cRows, hOutRows and cOutRows start at unit `first`; xRows, hRows and w are those of the
 * whole step.
 */
export function lstm_units_q8(
  m: i32, hidden: i32, first: i32, units: i32, kx: i32, seven: i32, xRows: usize, hRows: usize,
  cRows: usize, w: usize, hOutRows: usize, cOutRows: usize, scratch: usize
): void {
  const both = q8PanelBytes(kx) + q8PanelBytes(hidden);
  if (!ASC_NO_ASSERT) {
    const bytes = <usize>units << 2;
    check(m, hidden, first, units, kx, seven, xRows, hRows, scratch);
    checkRows(cRows, m, bytes);
    checkRows(hOutRows, m, bytes);
    checkRows(cOutRows, m, bytes);
    const panels = ((hidden + 7) >> 3) << 2;
    checkPacked(w, panels, both);
    if (seven) checkPanels(w, panels, kx, hidden);
  }
  const gateBytes = <usize>((hidden + 7) >> 3) * both;
  const panels = (units + 7) >> 3;
  w += <usize>(first >> 3) * both;
  streams(gateBytes * 4 > STREAM_BYTES);
  const block = blockRows(kx + hidden, seven);
  for (let begin = 0; begin < m; begin += block) {
    const rows = min(block, m - begin);
    const at = <usize>begin << 2;
    const ofX = packBoth(rows, at, kx, hidden, seven, xRows, hRows);
    writes(units, op.NONE, cOutRows, 0, 0);
    gate(rows, at, panels, kx, hidden, seven, xRows, hRows, w, scratch, ofX);
    writes(units, op.NONE, hOutRows, 0, 0);
    gate(rows, at, panels, kx, hidden, seven, xRows, hRows, w + gateBytes, scratch, ofX);
    opened(rows, units, cOutRows + at, hOutRows + at);
    gate(rows, at, panels, kx, hidden, seven, xRows, hRows, w + 2 * gateBytes, scratch, ofX);
    remembered(rows, units, hOutRows + at, cRows + at, cOutRows + at);
    gate(rows, at, panels, kx, hidden, seven, xRows, hRows, w + 3 * gateBytes, scratch, ofX);
    opened(rows, units, hOutRows + at, cOutRows + at);
  }
}

/**
 * gru_step_f32 of int8 (ONNX GRU with linear_before_reset = 1): xRows and hRows are quantised rows
 * of kx and `hidden` bytes, stateRows h in f32, which the update gate blends. Weights: per gate
 * ceil(hidden / 8) panels of 8 units, r over x and h (a panel of each), Rn over h, Wn over x, z
 * over x and h; panels as in gemm_q8_f32, with the input biases or the recurrent ones. seven and
 * scratch as in lstm_step_q8. hOut rows must not overlap any input row.
 */
export function gru_step_q8(
  m: i32, hidden: i32, kx: i32, seven: i32, xRows: usize, hRows: usize, stateRows: usize, w: usize,
  hOutRows: usize, scratch: usize
): void {
  gru_units_q8(m, hidden, 0, hidden, kx, seven, xRows, hRows, stateRows, w, hOutRows, scratch);
}

/**
 * gru_step_q8 for units first .. first + units - 1 of `hidden` alone; first is a multiple of 8.
 * Rows of stateRows and hOutRows start at unit `first`; xRows, hRows and w are those of the whole
 * step.
 */
export function gru_units_q8(
  m: i32, hidden: i32, first: i32, units: i32, kx: i32, seven: i32, xRows: usize, hRows: usize,
  stateRows: usize, w: usize, hOutRows: usize, scratch: usize
): void {
  const all = <usize>((hidden + 7) >> 3);
  const skipped = <usize>(first >> 3);
  const panels = (units + 7) >> 3;
  const overX = q8PanelBytes(kx);
  const overH = q8PanelBytes(hidden);
  const both = overX + overH;
  if (!ASC_NO_ASSERT) {
    check(m, hidden, first, units, kx, seven, xRows, hRows, scratch);
    checkRows(stateRows, m, <usize>units << 2);
    checkRows(hOutRows, m, <usize>units << 2);
    checkPacked(w, 1, 3 * all * both);
    if (seven) {
      checkPanels(w, <i32>all, kx, hidden);
      checkPanels(w + all * both, <i32>all, hidden, 0);
      checkPanels(w + all * (both + overH), <i32>all, kx, 0);
      checkPanels(w + 2 * all * both, <i32>all, kx, hidden);
    }
  }
  writes(units, op.SIGMOID, hOutRows, 0, 0);
  ofBoth(m, panels, kx, hidden, seven, xRows, hRows, w + skipped * both, scratch);
  w += all * both;
  writes(units, op.SCALE, hOutRows, 0, 0);
  ofOne(m, panels, hidden, seven, hRows, w + skipped * overH);
  w += all * overH;
  writes(units, op.TANH | op.RESIDUAL, hOutRows, hOutRows, 0);
  ofOne(m, panels, kx, seven, xRows, w + skipped * overX);
  w += all * overX;
  writes(units, op.BLEND, hOutRows, stateRows, 0);
  ofBoth(m, panels, kx, hidden, seven, xRows, hRows, w + skipped * both, scratch);
}

/** A gate of x and h. */
function ofBoth(
  m: i32, panels: i32, kx: i32, hidden: i32, seven: i32, xRows: usize, hRows: usize, w: usize, scratch: usize
): void {
  streams(<usize>panels * (q8PanelBytes(kx) + q8PanelBytes(hidden)) > STREAM_BYTES);
  const block = blockRows(kx + hidden, seven);
  for (let begin = 0; begin < m; begin += block) {
    const rows = min(block, m - begin);
    const at = <usize>begin << 2;
    const ofX = packBoth(rows, at, kx, hidden, seven, xRows, hRows);
    gate(rows, at, panels, kx, hidden, seven, xRows, hRows, w, scratch, ofX);
  }
  if (late) activateRows(late, m, p0, 0, n);
}

/** Packs a block's rows of x and h, as tiles want them; returns the bytes that x's take. */
function packBoth(
  rows: i32, at: usize, kx: i32, hidden: i32, seven: i32, xRows: usize, hRows: usize
): usize {
  readsQ8(kx, xRows, 0, 0);
  const ofX = packBlock(rows, at, seven, 0);
  readsQ8(hidden, hRows, 0, 0);
  packBlock(rows, at, seven, ofX);
  return ofX;
}

/**
 * Sums of a gate and a block: x's wait in scratch memory for h's. A tile's rows pass a group of panels, x
 * and h in turn as weights lie, before the next tile's do; a single row several panels at a time
 * where its tiles take so many.
 */
function gate(
  all: i32, start: usize, panels: i32, kx: i32, hidden: i32, seven: i32, xRows: usize, hRows: usize, w: usize,
  scratch: usize, ofX: usize
): void {
  const overX = q8PanelBytes(kx);
  const stride = overX + q8PanelBytes(hidden);
  const group = groupPanels(stride, seven);
  const tall = tileRows();
  for (let p = 0; p < panels; p += group) {
    const stop = min(panels, p + group);
    for (let i = 0; i < all; i += tall) {
      const rows = min(tall, all - i);
      const at = start + (<usize>i << 2);
      const most = rows == 1 && takesPanels() ? FEW_PANELS : 1;
      for (let q = p; q < stop; q += most) {
        const count = min(most, stop - q);
        keepsParts(scratch, at, q << 3);
        const panel = w + <usize>q * stride;
        readsQ8(kx, xRows, stride, 0);
        readsBlock(all, start, 0);
        writesQ8(panels << 3, q8.PART, 0);
        tilesQ8(rows, at, count, panel, q << 3, seven);
        readsQ8(hidden, hRows, stride, 0);
        readsBlock(all, start, ofX);
        writesQ8(panels << 3, q8.BOTH, 0);
        tilesQ8(rows, at, count, panel + overX, q << 3, seven);
      }
    }
  }
}

/** A gate of x or h alone. */
function ofOne(m: i32, panels: i32, k: i32, seven: i32, rows: usize, w: usize): void {
  writesQ8(panels << 3, q8.GATE, 0);
  sweepQ8(m, k, seven, rows, 0, w);
  if (late) activateRows(late, m, p0, 0, n);
}

function check(
  m: i32, hidden: i32, first: i32, units: i32, kx: i32, seven: i32, xRows: usize, hRows: usize, scratch: usize
): void {
  if (!ASC_NO_ASSERT) {
    checkUnits(hidden, first, units);
    checkProducts(kx);
    checkQ8Rows(m, kx, seven, xRows);
    checkQ8Rows(m, hidden, seven, hRows);
    assert((scratch & 15) == 0, "scratch memory is not 16-byte aligned");
    checkSpan(scratch, cell_q8_scratch_bytes());
  }
}

/** Panels over k1, each with one over k2 behind it if there is any. */
function checkPanels(w: usize, panels: i32, k1: i32, k2: i32): void {
  if (!ASC_NO_ASSERT) {
    for (let p = 0; p < panels; ++p) {
      checkQ8Panel(w, k1);
      w += q8PanelBytes(k1);
      if (k2) {
        checkQ8Panel(w, k2);
        w += q8PanelBytes(k2);
      }
    }
  }
}
