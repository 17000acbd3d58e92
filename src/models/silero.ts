/**
 * Silero's voice activity detector (snakers4/silero-vad, version 5), as its authors run it (utils_vad.py, OnnxWrapper):
 * 512 new samples at 16 kHz and the 64 before them are a window, of which a state goes on to the next.
 */
import { log2 } from "../base/elementary/logarithm.ts";
import { defineCell, f32 } from "../graph/cell_builder.ts";
import { sameLayout } from "../graph/row_layout.ts";
import type { StreamModel } from "../graph/stream_model.ts";
import { type CellSource, cellSource, describePorts } from "./cell_source.ts";
import { cellStream } from "./cell_stream.ts";
import { frameShift } from "./frames.ts";

/**
 * A detector of speech in streams.
 *
 * Frames: `samples` [512] (of 8 kHz [256]), from -1 to 1. Results: `speech` [1], the probability that there is some.
 * States: `context` [64] ([32]), the last samples; `state`, the file's.
 *
 * Cell: `silero_frame`, everything in one.
 * @param file takes a window and a state, gives a probability and a state; its sampling rate is not
 * looked at, or a constant
 * @throws RangeError when it is not of this form; TypeError when it is none
 *
 * @example
 * ```ts
 * import { loadOnnx, plainTensor, silero } from "@shoal/core/onnx";
 *
 * async function detector() {
 *   const rate = plainTensor("int64", [], BigInt64Array.of(16000n));
 *   const file = await loadOnnx("silero_vad.onnx", {
 *     constants: new Map([["sr", rate]]),
 *     shapes: { input: [1, 576], state: [2, 1, 128] },
 *   });
 *   return silero(file);
 * }
 * ```
 */
export function silero(
  file: CellSource,
): StreamModel<"samples", { speech: "f32" }> {
  cellSource("file", file);
  const whole = file.whole();
  const { inputs, outputs } = whole;
  const [input, state] = inputs;
  const [output, next] = outputs;
  const isDetector = inputs.length === 2 && outputs.length === 2 &&
    input.dtype === "f32" && input.width > 1 && output.dtype === "f32" &&
    output.width === 1 && sameLayout(state, next);
  if (!isDetector) {
    throw new RangeError(
      `silero: the file takes samples and a state and gives a number and a state (a sampling rate is a constant of loadOnnx), got ${
        describePorts(inputs)
      } and ${describePorts(outputs)}`,
    );
  }
  // The new samples are a power of two, and most of the window.
  const hop = 2 ** Math.floor(log2(input.width - 1));
  const context = f32(input.width - hop);
  const { name: _, ...stateRow } = state;
  const cell = defineCell({
    name: "silero_frame",
    inputs: { samples: f32(hop), context, state: stateRow },
    body: (op, given) => {
      const { frame, before } = frameShift(op, given.context, given.samples);
      const made = op.Cell(whole, {
        [input.name]: frame,
        [state.name]: given.state,
      });
      return {
        speech: op.Reshape(made[output.name], [1]),
        context: before,
        state: made[next.name],
      };
    },
  });
  return cellStream("silero", cell, { context: "context", state: "state" });
}
