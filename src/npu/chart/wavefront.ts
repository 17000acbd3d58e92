/**
 * The array at work as an animated SVG: which PEs multiply a mapped word in each cycle, and for which
 * fold, read from the registers of the register level. Wavefronts cross from the top left to the
 * bottom right; below, all cycles with the PEs at work in each.
 */
import type { ArrayShape, Gemm } from "../dataflow.ts";
import { STATE } from "../register/layout.ts";
import type {
  Operands,
  RegisterArray,
  RegisterJob,
  RegisterOptions,
} from "../register/register_array.ts";
import { COLORS, legend, line, round, svg, text } from "./svg.ts";

/** Bits of a tag: the word holds work; its fold's number is even (assembly/npu/state.ts). */
const MAPPED = 8;
const PARITY = 16;
const FRAMES_MAX = 2_000;

/** Per cycle, rows x cols: 0 idle, 1 or 2 at work for an even or odd fold. Throws a RangeError beyond 2,000 cycles: nobody watches that. */
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
    if ((bytes[tags + at] & bytes[held + at] & MAPPED) === 0) return 0;
    return (bytes[tags + at] & PARITY) === 0 ? 2 : 1;
  });
}

const CELL = 26;
const LEFT = 10;
const TOP = 56;
const WIDTH_MIN = 460;
const STRIP_HEIGHT = 60;
const SECONDS_PER_CYCLE = 0.2;
/** By what a frame says of a PE. */
const FILLS = ["currentColor", COLORS.compute, COLORS.memory] as const;
const OPACITIES = [0.1, 1, 1] as const;

export function wavefrontSvg(
  frames: readonly Uint8Array[],
  { rows, cols }: ArrayShape,
): string {
  const animate = animation(frames.length * SECONDS_PER_CYCLE);
  const cells: string[] = [];
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) {
      const states = frames.map((frame) => frame[r * cols + c]);
      cells.push(
        `<rect x="${LEFT + c * CELL}" y="${TOP + r * CELL}" width="${
          CELL - 2
        }" ` +
          `height="${CELL - 2}" fill="${FILLS[0]}" fill-opacity="${
            OPACITIES[0]
          }">` +
          animate("fill", states.map((state) => FILLS[state])) +
          animate("fill-opacity", states.map((state) => OPACITIES[state])) +
          "</rect>",
      );
    }
  }
  const active = frames.map((frame) =>
    frame.reduce((sum, state) => sum + (state === 0 ? 0 : 1), 0)
  );
  const counter = active.map((count, cycle) =>
    text(
      LEFT,
      TOP - 14,
      `cycle ${cycle}: ${count} of ${rows * cols} PEs at work`,
      'visibility="hidden"',
    ).replace(
      "</text>",
      `${
        animate(
          "visibility",
          frames.map((_, i) => i === cycle ? "visible" : "hidden"),
        )
      }</text>`,
    )
  );
  const width = Math.max(WIDTH_MIN, 2 * LEFT + cols * CELL);
  const stripTop = TOP + rows * CELL + 28;
  const keys = legend(LEFT, 16, [
    { words: "even folds", color: FILLS[1], opacity: 1 },
    { words: "odd folds", color: FILLS[2], opacity: 1 },
    { words: "idle", color: FILLS[0], opacity: OPACITIES[0] },
  ]);
  return svg(
    width,
    stripTop + STRIP_HEIGHT + 12,
    keys + cells.join("") + counter.join("") +
      strip(active, { top: stripTop, width, pes: rows * cols, animate }),
  );
}

type Animate = (name: string, values: readonly (string | number)[]) => string;

function animation(seconds: number): Animate {
  return (name, values) =>
    `<animate attributeName="${name}" dur="${round(seconds)}s" ` +
    `repeatCount="indefinite" calcMode="discrete" values="${
      values.join(";")
    }"/>`;
}

/** A bar per cycle, as high as the share of PEs at work, and where the animation is. */
function strip(
  active: readonly number[],
  { top, width, pes, animate }: {
    top: number;
    width: number;
    pes: number;
    animate: Animate;
  },
): string {
  const step = (width - 2 * LEFT) / active.length;
  const bars = active.map((count, cycle) => {
    const height = count / pes * STRIP_HEIGHT;
    return `<rect x="${round(LEFT + cycle * step)}" y="${
      round(top + STRIP_HEIGHT - height)
    }" width="${round(step * 0.9)}" height="${
      round(height)
    }" fill="${COLORS.compute}" fill-opacity="0.5"><title>cycle ${cycle}: ${count} of ${pes}</title></rect>`;
  });
  const marks = active.map((_, cycle) => round(LEFT + cycle * step));
  return text(
    LEFT,
    top - 6,
    `PEs at work in each of the ${active.length} cycles`,
  ) +
    bars.join("") +
    line(
      LEFT,
      top + STRIP_HEIGHT,
      width - LEFT,
      top + STRIP_HEIGHT,
      'opacity="0.4"',
    ) +
    `<rect x="${LEFT}" y="${top}" width="${round(Math.max(1, step))}" ` +
    `height="${STRIP_HEIGHT}" fill="currentColor" fill-opacity="0.2">${
      animate("x", marks)
    }</rect>`;
}
