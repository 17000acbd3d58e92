/**
 * Recurrent networks of live streams: one step of an LSTM or a GRU for every frame, and what it leaves for the next.
 * What voice detectors, denoisers and keyword spotters are made of; the formulas are those of ONNX.
 */
import { defineCell, f32 } from "../graph/cell_builder.ts";
import type {
  FrameRequest,
  StateSpec,
  StreamModel,
} from "../graph/stream_model.ts";
import { defineStream } from "../graph/stream_model.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import { checkOptionalSize, checkOptions, checkSize } from "./checks.ts";
import { pickState, type RnnKind, rnnStep } from "./rnn_cell.ts";

/** Sizes are positive integers. */
export interface RnnStreamOptions {
  /** Units; default 128. */
  hidden?: number;
  /** Numbers of a frame; default 40. */
  features?: number;
  /** Logits of a frame, from a product with the state; default 0: the result is the state. */
  classes?: number;
  /** Where its tensors come from, `namedWeights` for instance; default: random ones of seed 1. */
  weights?: WeightSource;
}

/** Options that a configuration may name. */
export const RNN_STREAM_OPTIONS = [
  "hidden",
  "features",
  "classes",
] as const satisfies readonly (keyof RnnStreamOptions)[];

/** What a frame results in: its state, and logits if the model has classes. */
export type RnnStreamOutputs = {
  readonly h: "f32";
  readonly logits?: "f32";
};

/**
 * An LSTM over the frames of a stream.
 *
 * Frames: `x` [features]. Results: `h` [hidden], and `logits` [classes] if there are any.
 *
 * Cell: `lstm_frame`. Tensors: `lstm.W` [4 hidden, features], `lstm.R` [4 hidden, hidden], `lstm.Wb` and `lstm.Rb`
 * [4 hidden], gates i, o, f, c as in ONNX; `head.W` [classes, hidden], `head.b` [classes].
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example Two frames; the second finds what the first has left
 * ```ts
 * import { cellular, lstmStream, ServingEngine } from "@shoal/core";
 *
 * const model = lstmStream({ hidden: 64, features: 3, classes: 2 });
 * await using engine = await ServingEngine.create({ models: [model], policy: cellular() });
 * await using stream = engine.open(model);
 * for (const x of [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]) {
 *   const { outputs } = await stream.push({ x });
 *   console.log(outputs.logits?.data);
 * }
 * ```
 */
export function lstmStream(
  options: RnnStreamOptions = {},
): StreamModel<"x", RnnStreamOutputs, FrameRequest<"x">> {
  return rnnStream("lstm", options);
}

/**
 * A GRU over the frames of a stream.
 *
 * Frames: `x` [features]. Results: `h` [hidden], and `logits` [classes] if there are any.
 *
 * Cell: `gru_frame`. Tensors: `gru.W` [3 hidden, features], `gru.R` [3 hidden, hidden], `gru.Wb` and `gru.Rb`
 * [3 hidden], gates z, r, h as in ONNX with linear_before_reset 1; `head.W` [classes, hidden], `head.b` [classes].
 * @throws TypeError or RangeError naming option or tensor when one is not what the model needs
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { gruStream } from "@shoal/core";
 *
 * const model = gruStream({ hidden: 64, features: 3 });
 * assert.deepEqual(Object.keys(model.stream.states), ["h"]);
 * ```
 */
export function gruStream(
  options: RnnStreamOptions = {},
): StreamModel<"x", RnnStreamOutputs, FrameRequest<"x">> {
  return rnnStream("gru", options);
}

function rnnStream(
  kind: RnnKind,
  options: RnnStreamOptions,
): StreamModel<"x", RnnStreamOutputs, FrameRequest<"x">> {
  const name = `${kind}-stream`;
  checkOptions(name, options, RNN_STREAM_OPTIONS);
  const hidden = checkSize(name, "hidden", options.hidden ?? 128);
  const features = checkSize(name, "features", options.features ?? 40);
  const classes = checkOptionalSize(name, "classes", options.classes);
  const weights = checkedWeights(name, options.weights ?? seededWeights(1));
  const rnn = rnnStep(kind, kind, features, hidden, weights);
  const cell = defineCell<string, string>({
    name: `${kind}_frame`,
    inputs: { x: f32(features), ...pickState(rnn, rnn.ports) },
    body: (op, { x, h, c }) => {
      const next = pickState(rnn, rnn.apply(op, x, { h, c }));
      if (classes === 0) return next;
      const logits = op.Gemm(
        next.h,
        weights("head.W", [classes, hidden], hidden),
        weights("head.b", [classes], hidden),
      );
      return { ...next, logits };
    },
  });
  const states: Record<string, StateSpec> = {};
  for (const state of rnn.state) {
    states[state] = { ...f32(hidden), from: state };
  }
  return defineStream({
    name,
    cells: [cell],
    inputs: { x: f32(features) },
    states,
    outputs: {
      h: "f32",
      ...(classes > 0 && { logits: "f32" as const }),
    } as RnnStreamOutputs,
    frame(graph, given) {
      const inputs = Object.fromEntries(
        cell.inputs.map(({ name, width }) => [
          name,
          graph.row(given[name], 0, width),
        ]),
      );
      const node = graph.node(cell, inputs);
      for (const { name } of cell.outputs) {
        graph.result(name, graph.output(node, name));
      }
    },
  });
}
