/** Kernels whose rate over rows is measured, and their sizes by the bytes of weights. */
import { Prng } from "../../../src/base/prng.ts";
import { attentionCase } from "../../../test/kernels/cases/attention.ts";
import {
  gruCase,
  lstmCase,
  treeInternalCase,
} from "../../../test/kernels/cases/cells.ts";
import { gemmCase, projectionCase } from "../../../test/kernels/cases/gemm.ts";
import { gemmQ8Case } from "../../../test/kernels/cases/q8.ts";
import { lstmQ8Case } from "../../../test/kernels/cases/q8_cells.ts";
import { dynamicQ8Case } from "../../../test/kernels/cases/quantize.ts";
import type {
  CaseDraw,
  KernelCase,
} from "../../../test/kernels/kernel_case.ts";
import type { Peaks } from "../probes.ts";
import type { Task } from "../task.ts";
import { SharedCase } from "./first_rows.ts";

/** A kernel, or what takes several. */
export interface CurveKind {
  name: string;
  /** What the registers alone can do of its arithmetic, G operations/s. */
  probe(peaks: Peaks): number;
  /** A case with about so many bytes of weights; undefined where that makes no sense. */
  make(draw: CaseDraw, bytes: number): KernelCase | undefined;
  /** true: every row brings what it reads (a cache), so that all of them share the bytes. */
  perRow?: boolean;
}

/** Sizes are whole panels. */
const STEP = 8;

/** The multiple of 8 next to the square root. */
function side(elements: number): number {
  return Math.max(STEP, STEP * Math.round(Math.sqrt(elements) / STEP));
}

/** As wide as the models' decoders. */
const PROJECTION_K = 512;
const HEADS = 8;
const HEAD_SIZE = 64;
/** Keys and values of one position. */
const POSITION_BYTES = 2 * 4 * HEADS * HEAD_SIZE;
/** Shorter caches are not long. */
const POSITIONS_MIN = 32;

const floatsProbe = ({ mulAdd }: Peaks) => mulAdd;
/** One product a byte, of 7 bits and where the engine's dot product is exact for them of 8 bits. */
const bytesProbe = ({ relaxedDot8 = 0, dot16 }: Peaks) =>
  Math.max(relaxedDot8, dot16);

/** All of them. */
export const CURVE_KINDS: readonly CurveKind[] = [
  {
    name: "gemm_f32",
    probe: floatsProbe,
    make(draw, bytes) {
      const k1 = side(bytes / 4 / 2);
      return gemmCase.of(draw, { n: 2 * k1, k1 });
    },
  },
  {
    name: "lstm_step_f32",
    probe: floatsProbe,
    make(draw, bytes) {
      const hidden = side(bytes / 4 / 8);
      return lstmCase.of(draw, { hidden, inputSize: hidden });
    },
  },
  {
    name: "gru_step_f32",
    probe: floatsProbe,
    make(draw, bytes) {
      const hidden = side(bytes / 4 / 6);
      return gruCase.of(draw, { hidden, inputSize: hidden });
    },
  },
  {
    name: "tree_internal_f32",
    probe: floatsProbe,
    make(draw, bytes) {
      const hidden = side(bytes / 4 / 10);
      return treeInternalCase.of(draw, { hidden, arity: 2 });
    },
  },
  {
    name: "projection_argmax_f32",
    probe: floatsProbe,
    make: (draw, bytes) =>
      projectionCase.of(draw, {
        n: Math.round(bytes / 4 / PROJECTION_K),
        k: PROJECTION_K,
        keep: false,
      }),
  },
  {
    name: "attention_f32",
    probe: floatsProbe,
    perRow: true,
    make(draw, bytes) {
      const positions = STEP *
        Math.floor(bytes / draw.rows / POSITION_BYTES / STEP);
      return positions < POSITIONS_MIN ? undefined : attentionCase.of(draw, {
        ...{ heads: HEADS, kvHeads: HEADS, headSize: HEAD_SIZE },
        ...{ capacity: positions, full: true },
      });
    },
  },
  {
    name: "quantize_rows_f32 + gemm_q8_f32",
    probe: bytesProbe,
    make(draw, bytes) {
      const k = side(bytes / 2);
      return dynamicQ8Case.of(draw, { n: 2 * k, k });
    },
  },
  {
    name: "gemm_q8_i32",
    probe: bytesProbe,
    make(draw, bytes) {
      const k = side(bytes / 2);
      return gemmQ8Case("gemm_q8_i32").of(draw, {
        ...{ n: 2 * k, k },
        ...{ seven: false, rowZero: 128 },
      });
    },
  },
  ...[true, false].map((seven): CurveKind => ({
    name: "lstm_step_q8",
    probe: bytesProbe,
    make(draw, bytes) {
      const hidden = side(bytes / 8);
      return lstmQ8Case.of(draw, { hidden, inputSize: hidden, seven });
    },
  })),
];

/** One point of a curve before it is measured. */
export interface CurveTask {
  rows: number;
  task: Task;
  /** Bytes that a call reads, however many rows it has: weights, or caches of all rows. */
  weightBytes: number;
}

/** Points against about so many bytes of weights, the very same ones wherever rows share them. */
export function* curveTasks(
  { name, make, perRow = false }: CurveKind,
  { bytes, rows, seed }: {
    bytes: number;
    rows: readonly number[];
    seed: number;
  },
): Generator<CurveTask> {
  const draw = (of: number) =>
    make({
      prng: new Prng(seed).fork(`${name}/${bytes}`),
      rows: of,
      exact: false,
    }, bytes);
  const whole = perRow ? undefined : draw(Math.max(...rows));
  const shared = whole && new SharedCase(name, whole);
  for (const m of rows) {
    const own = whole ?? draw(m);
    if (own === undefined) continue;
    const weightBytes = perRow ? cacheBytes(own) : blockBytes(own);
    const task = (shared ?? new SharedCase(name, own)).task(m, weightBytes);
    yield { rows: m, task, weightBytes };
  }
}

function blockBytes({ blocks = {} }: KernelCase): number {
  return Object.values(blocks).reduce(
    (sum, { byteLength }) => sum + byteLength,
    0,
  );
}

function cacheBytes({ inputs: { keys, values } }: KernelCase): number {
  return keys.data.byteLength + values.data.byteLength;
}
