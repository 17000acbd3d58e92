/**
 * The dual-signal transformation LSTM network for noise suppression in real time (Westhausen and Meyer, Interspeech
 * 2020), as its authors run it (breizhn/DTLN, real_time_processing_onnx.py): a window of 512 samples at 16 kHz moves by
 * 128; its magnitudes become a mask of the spectrum, the masked window another window, and overlapping windows add up
 * to the denoised signal, 384 samples late. No window function.
 *
 * Deviation: there, a masked spectrum is mask * |X| e^(i angle(X)), in f64 with transforms in f64; here it is mask * X,
 * which is the same number without an angle, in f32.
 */
import type { Cell, Port } from "../graph/cell.ts";
import { defineCell, f32 } from "../graph/cell_builder.ts";
import { regroupState } from "../graph/regroup_state.ts";
import { type RowShape, sameLayout } from "../graph/row_layout.ts";
import type { StreamModel } from "../graph/stream_model.ts";
import { isFftLength } from "../base/fft_lengths.ts";
import { type CellSource, cellSource, describePorts } from "./cell_source.ts";
import { cellStream } from "./cell_stream.ts";
import { overlapAdd } from "./frames.ts";

/** The published files, or others of the same form: window and hop follow from the second one. */
export interface DtlnParts {
  /** Magnitudes [window / 2 + 1] and a state to a mask and the state. */
  readonly model1: CellSource;
  /** The masked window and a state to a window and the state. */
  readonly model2: CellSource;
}

/** The window moves by a quarter of itself. */
const OVERLAP = 4;

/**
 * A denoiser for streams of speech at 16 kHz.
 *
 * Frames: `samples` [128], from -1 to 1. Results: `samples` [128], 384 samples late. States: `window` [512], the last
 * one; `rest` [384], the sums that are under way; `state1` and `state2`, those of the files, whose numbers are in the
 * order of `regroupState`: the published ones' as [layers][h or c][units] instead of [layers][units][h or c].
 *
 * Cell: `dtln_frame`, everything in one.
 * @param parts the two files, of which inputs and outputs are taken by their place, as the authors do
 * @throws RangeError or TypeError when they are not of this form
 *
 * @example
 * ```ts
 * import { cellular, ServingEngine } from "@shoal/core";
 * import { dtln, loadOnnx } from "@shoal/core/onnx";
 *
 * async function denoise(frames: AsyncIterable<Float32Array>) {
 *   const model = dtln({
 *     model1: await loadOnnx("model_1.onnx"),
 *     model2: await loadOnnx("model_2.onnx"),
 *   });
 *   await using engine = await ServingEngine.create({ models: [model], policy: cellular() });
 *   await using stream = engine.open(model);
 *   for await (const samples of frames) {
 *     const { outputs } = await stream.push({ samples });
 *     console.log(outputs.samples.data);
 *   }
 * }
 * ```
 */
export function dtln(
  { model1, model2 }: DtlnParts,
): StreamModel<"samples", { samples: "f32" }> {
  cellSource("model1", model1);
  cellSource("model2", model2);
  const [first, second] = [wholeOf(model1), wholeOf(model2)];
  const window = second.inputs[0]?.width ?? 0;
  if (!isFftLength(window)) {
    throw new RangeError(
      `dtln: model2 takes windows of a power of two of samples first, got ${
        describePorts(second.inputs)
      }`,
    );
  }
  const bins = window / 2 + 1;
  const state1 = checkPart("model1", first, bins);
  const state2 = checkPart("model2", second, window);
  const hop = window / OVERLAP;
  const cell = defineCell({
    name: "dtln_frame",
    inputs: {
      ...{ samples: f32(hop), window: f32(window), rest: f32(window - hop) },
      ...{ state1, state2 },
    },
    body: (op, given) => {
      // The whole window is the state: it is put together where the next frame finds it.
      const frame = op.Concat(
        op.Slice(given.window, hop, window),
        given.samples,
      );
      const spectrum = op.RFFT(frame);
      const [mask, next1] = Object.values(op.Cell(first, {
        [first.inputs[0].name]: op.Magnitude(spectrum),
        [first.inputs[1].name]: given.state1,
      }));
      const masked = op.Mul(spectrum, op.Reshape(mask, [bins]));
      const [block, next2] = Object.values(op.Cell(second, {
        [second.inputs[0].name]: op.IRFFT(masked),
        [second.inputs[1].name]: given.state2,
      }));
      const added = overlapAdd(op, given.rest, op.Reshape(block, [window]));
      return { ...added, window: frame, state1: next1, state2: next2 };
    },
  });
  return cellStream("dtln", cell, {
    window: "window",
    rest: "rest",
    state1: "state1",
    state2: "state2",
  });
}

/** A part whose state, if it has one, lies as the part makes it. */
function wholeOf(part: CellSource): Cell {
  const cell = part.whole();
  const [state, next] = [cell.inputs[1], cell.outputs[1]];
  return state && next && sameLayout(state, next)
    ? regroupState(cell, 1, 1)
    : cell;
}

/** The state of a part that takes and gives rows of so many elements, and a state. */
function checkPart(
  part: string,
  { inputs, outputs }: Cell,
  width: number,
): RowShape {
  const [input, state] = inputs;
  const [output, next] = outputs;
  const isRow = (port: Port | undefined) =>
    port?.dtype === "f32" && port.width === width;
  const isPart = inputs.length === 2 && outputs.length === 2 && isRow(input) &&
    isRow(output) && state.dtype === "f32" && sameLayout(state, next);
  if (!isPart) {
    throw new RangeError(
      `dtln: ${part} takes and gives ${width} numbers and a state, got ${
        describePorts(inputs)
      } and ${describePorts(outputs)}`,
    );
  }
  const { name: _, ...row } = state;
  return row;
}
