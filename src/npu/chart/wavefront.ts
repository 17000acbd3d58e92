/**
 * The array at work as an animated SVG: which PEs multiply a mapped word in each cycle, read from
 * the registers of the register level. Wavefronts cross from the top left to the bottom right.
 */
import type { ArrayShape, Gemm } from "../dataflow.ts";
import { STATE } from "../register/exports.ts";
import type {
  Operands,
  RegisterArray,
  RegisterJob,
  RegisterOptions,
} from "../register/register_array.ts";
import { COLORS, svg, text } from "./svg.ts";

/** Bit of a tag: the word holds work (assembly/npu/state.ts). */
const MAPPED = 8;
const FRAMES_MAX = 2_000;

/** Per cycle, rows x cols flags. Throws a RangeError beyond 2,000 cycles: nobody watches that. */
export function wavefrontFrames(
  array: RegisterArray,
  { gemm, operands, shape, options }: {
    gemm: Gemm;
    operands: Operands;
    shape: ArrayShape;
    options: RegisterOptions;
  },
): Uint8Array[] {
  const job = array.begin(gemm, operands, shape, options);
  const frames: Uint8Array[] = [];
  for (let done = false; !done;) {
    done = job.advance(1);
    if (frames.length === job.cycles) break;
    frames.push(activePes(job, shape));
    if (frames.length > FRAMES_MAX) {
      throw new RangeError(
        `more than ${FRAMES_MAX} cycles to draw; take a smaller GEMM or a larger array`,
      );
    }
  }
  return frames;
}

function activePes(job: RegisterJob, { rows, cols }: ArrayShape): Uint8Array {
  const view = new DataView(job.memory.buffer);
  const bytes = new Uint8Array(job.memory.buffer);
  const field = (offset: number) => view.getUint32(job.state + offset, true);
  const stride = field(STATE.tagStride);
  const tags = field(STATE.tags);
  const held = field(STATE.heldTags);
  return Uint8Array.from({ length: rows * cols }, (_, i) => {
    const at = Math.floor(i / cols) * stride + i % cols;
    return (bytes[tags + at] & bytes[held + at] & MAPPED) === 0 ? 0 : 1;
  });
}

const CELL = 22;
const TOP = 30;
const SECONDS_PER_CYCLE = 0.15;

export function wavefrontSvg(
  frames: readonly Uint8Array[],
  { rows, cols }: ArrayShape,
): string {
  const seconds = frames.length * SECONDS_PER_CYCLE;
  const animate = (name: string, values: readonly (string | number)[]) =>
    `<animate attributeName="${name}" dur="${seconds}s" repeatCount="indefinite" calcMode="discrete" ` +
    `values="${values.join(";")}"/>`;
  const cells: string[] = [];
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) {
      const opacity = frames.map((frame) =>
        frame[r * cols + c] === 1 ? 1 : 0.12
      );
      cells.push(
        `<rect x="${10 + c * CELL}" y="${TOP + r * CELL}" width="${
          CELL - 2
        }" height="${CELL - 2}" ` +
          `fill="${COLORS.compute}" fill-opacity="0.12">${
            animate("fill-opacity", opacity)
          }</rect>`,
      );
    }
  }
  const counter = frames.map((frame, cycle) => {
    const active = frame.reduce((sum, flag) => sum + flag, 0);
    const shown = frames.map((_, i) => i === cycle ? "visible" : "hidden");
    return text(
      10,
      18,
      `cycle ${cycle}: ${active} of ${rows * cols} PEs`,
      'visibility="hidden"',
    )
      .replace("</text>", `${animate("visibility", shown)}</text>`);
  });
  return svg(
    Math.max(220, 20 + cols * CELL),
    TOP + rows * CELL + 10,
    cells.join("") + counter.join(""),
  );
}
