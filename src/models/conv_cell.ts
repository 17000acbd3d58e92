/** What convolutional models share. */
import type { BatchNormWeights } from "../graph/operators/images.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { WeightSource } from "../tensor/weights.ts";

/** What a request to a model of images brings. */
export interface ImageInput {
  /** The model's height x width x channels finite numbers, [height][width][channels]. */
  readonly image: ArrayLike<number>;
}

/**
 * Weights [out][in][kernel height][kernel width] in front of a ReLU. Seeded ones are uniform in
 * ±sqrt(6 / fan-in), which keeps the activations' scale from layer to layer (He et al., Delving Deep into
 * Rectifiers, ICCV 2015, Eq. 10, as a uniform distribution).
 */
export function convWeight(
  weights: WeightSource,
  name: string,
  shape: readonly [number, number, number, number],
): Tensor {
  const [, channels, height, width] = shape;
  return weights(name, shape, channels * height * width / 6);
}

/** Parameters by torchvision's names; seeded scales and variances lie in [0.5, 1.5). */
export function batchNormWeights(
  weights: WeightSource,
  prefix: string,
  channels: number,
): BatchNormWeights {
  const shape = [channels];
  const spread = 4;
  return {
    scale: weights(`${prefix}.weight`, shape, spread, 1),
    shift: weights(`${prefix}.bias`, shape, spread),
    mean: weights(`${prefix}.running_mean`, shape, spread),
    variance: weights(`${prefix}.running_var`, shape, spread, 1),
  };
}
