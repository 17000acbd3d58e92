/** The cells of DeepSpeech-2; see deepspeech2.ts. */
import type { Cell } from "../graph/cell.ts";
import {
  defineCell,
  f32,
  image,
  type Operators,
} from "../graph/cell_builder.ts";
import type { ImageSize, Value } from "../graph/operator.ts";
import { type Tensor, tensor } from "../tensor/tensor.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { batchNormWeights, convWeight } from "./conv_cell.ts";
import { rnnStep } from "./rnn_cell.ts";

export interface DeepSpeech2Sizes {
  readonly features: number;
  readonly channels: number;
  readonly bins: readonly [number, number];
  readonly span: number;
  readonly layers: number;
  readonly hidden: number;
  readonly classes: number;
}

export interface DeepSpeech2Cells {
  /** One instant of its output; a port for each instant that it sees. */
  readonly conv1: Cell;
  readonly conv2: Cell;
  /** From the lowest layer to the highest. */
  readonly recurrent: readonly {
    readonly forward: Cell;
    readonly backward: Cell;
  }[];
  readonly classifier: Cell;
}

/** Eq. 2. */
const CLIPPED_AT = 20;

/** PyTorch's, in batch normalisation. */
const EPSILON = 1e-5;

export function deepSpeech2Cells(
  sizes: DeepSpeech2Sizes,
  weights: WeightSource,
): DeepSpeech2Cells {
  const { channels, span, layers, hidden } = sizes;
  let priority = 0;

  /** One instant's bins are an image of one line; instants lie one after the other in its channels. */
  const convolution = (layer: 1 | 2, from: ImageSize): Cell => {
    const bins = sizes.bins[layer - 1];
    const prefix = `conv.${layer}`;
    const weight = timeInChannels(
      convWeight(weights, `${prefix}.weight`, [
        ...[channels, from.channels, bins, span] as const,
      ]),
    );
    const bias = weights(
      `${prefix}.bias`,
      [channels],
      from.channels * bins * span,
    );
    const norm = batchNormWeights(weights, `${prefix}.norm`, channels);
    const port = image(from.height, from.width, from.channels);
    return defineCell({
      name: `conv_${layer}`,
      phase: "encoder",
      priority: priority++,
      inputs: Object.fromEntries(
        Array.from({ length: span }, (_, i) => [`instant_${i}`, port]),
      ),
      body(op, instants) {
        const seen = op.Concat(...Object.values(instants));
        const sums = op.Conv(seen, weight, { bias, strides: [1, 2] });
        const y = op.Clip(
          op.Relu(op.BatchNormalization(sums, norm, EPSILON)),
          { max: CLIPPED_AT },
        );
        return { y: layer === 1 ? y : op.Flatten(y) };
      },
    });
  };

  const conv1 = convolution(1, {
    ...{ height: 1, width: sizes.features, channels: 1 },
  });
  const conv2 = convolution(2, conv1.outputs[0].image!);
  const heard = conv2.outputs[0].width;

  /** The sum of both directions, normalised. */
  const summed = (prefix: string) => {
    const apply = normalization(weights, `${prefix}.norm`, hidden);
    return (op: Operators, { forward, backward }: Record<string, Value>) =>
      apply(op, op.Add(forward, backward));
  };
  const both = { forward: f32(hidden), backward: f32(hidden) };

  const recurrent = Array.from({ length: layers }, (_, i) => {
    const layer = i + 1;
    const isLowest = layer === 1;
    const read = isLowest ? undefined : summed(`gru.${layer}`);
    const inputs: Record<string, ReturnType<typeof f32>> = isLowest
      ? { x: f32(heard) }
      : both;
    const direction = (name: "forward" | "backward"): Cell => {
      const step = rnnStep(
        "gru",
        `gru.${layer}.${name}`,
        isLowest ? heard : hidden,
        hidden,
        weights,
      );
      return defineCell<string, "h">({
        name: `gru_${layer}_${name}`,
        phase: "encoder",
        recurrent: true,
        priority: priority++,
        inputs: { ...inputs, h: step.ports.h },
        body(op, ports) {
          const x = read ? read(op, ports) : ports["x"];
          const state = { h: ports["h"], c: ports["h"] };
          return { h: step.apply(op, x, state).h };
        },
      });
    };
    return { forward: direction("forward"), backward: direction("backward") };
  });

  const read = summed("classifier");
  const w = weights("classifier.W", [sizes.classes, hidden], hidden);
  return {
    conv1,
    conv2,
    recurrent,
    classifier: defineCell({
      name: "classifier",
      phase: "encoder",
      priority: priority++,
      inputs: both,
      body: (op, ports) => ({ logits: op.Gemm(read(op, ports), w) }),
    }),
  };
}

/** [out][in][bins][span] as [out][span in][1][bins]. */
function timeInChannels({ shape, data }: Tensor): Tensor {
  const [out, channels, bins, span] = shape as [number, number, number, number];
  const turned = new Float32Array(data.length);
  for (let from = 0; from < data.length; from++) {
    const i = from % span;
    const bin = Math.floor(from / span) % bins;
    const row = Math.floor(from / (span * bins));
    const [o, c] = [Math.floor(row / channels), row % channels];
    turned[((o * span + i) * channels + c) * bins + bin] = data[from];
  }
  return tensor([out, span * channels, 1, bins], turned);
}

/** Batch normalisation of a plain row, in inference form: one product and one sum. */
function normalization(
  weights: WeightSource,
  prefix: string,
  width: number,
): (op: Operators, x: Value) => Value {
  const { scale, shift, mean, variance } = batchNormWeights(
    weights,
    prefix,
    width,
  );
  const factors = scale.data.map((x, i) =>
    x / Math.sqrt(variance.data[i] + EPSILON)
  );
  const offsets = shift.data.map((x, i) => x - mean.data[i] * factors[i]);
  return (op, x) =>
    op.Add(
      op.Mul(x, op.Constant(tensor([width], factors))),
      op.Constant(tensor([width], offsets)),
    );
}
