/**
 * ResNet-50 as layers. `v1` strides in the first 1x1 of a stage (He et al., CVPR 2016), `v1.5` in
 * the 3x3 (the variant MLPerf uses). Batch normalisation is folded into the weights.
 */
import type { LayerSpec } from "../layer_spec.ts";
import { conv, matmul, pool } from "../layers.ts";

export type ResNetVariant = "v1" | "v1.5";

const STAGES = [
  { blocks: 3, width: 64, stride: 1 },
  { blocks: 4, width: 128, stride: 2 },
  { blocks: 6, width: 256, stride: 2 },
  { blocks: 3, width: 512, stride: 2 },
] as const;

/** 53 convolutions, two poolings and the classifier, in order, for `batch` images of 224 x 224. */
export function resnet50(
  batch = 1,
  variant: ResNetVariant = "v1.5",
): LayerSpec[] {
  const layers: LayerSpec[] = [
    conv("conv1", {
      channelsIn: 3,
      channelsOut: 64,
      height: 224,
      width: 224,
      filter: 7,
      stride: 2,
      padding: 3,
      activation: "relu",
    }, batch),
    pool("pool1", {
      channels: 64,
      height: 112,
      width: 112,
      filter: 3,
      stride: 2,
      padding: 1,
    }, batch),
  ];
  let side = 56;
  let channels = 64;
  STAGES.forEach(({ blocks, width, stride }, s) => {
    for (let b = 0; b < blocks; b++) {
      const step = b === 0 ? stride : 1;
      const [first, second] = variant === "v1" ? [step, 1] : [1, step];
      const name = `s${s + 2}.${b}`;
      const out = side / step;
      const at = (size: number) => ({ height: size, width: size });
      layers.push(conv(`${name}.c1`, {
        ...at(side),
        channelsIn: channels,
        channelsOut: width,
        filter: 1,
        stride: first,
        activation: "relu",
      }, batch));
      layers.push(conv(`${name}.c2`, {
        ...at(variant === "v1" ? out : side),
        channelsIn: width,
        channelsOut: width,
        filter: 3,
        stride: second,
        padding: 1,
        activation: "relu",
      }, batch));
      if (b === 0) {
        layers.push(conv(`${name}.down`, {
          ...at(side),
          channelsIn: channels,
          channelsOut: 4 * width,
          filter: 1,
          stride: step,
        }, batch));
      }
      layers.push(conv(`${name}.c3`, {
        ...at(out),
        channelsIn: width,
        channelsOut: 4 * width,
        filter: 1,
        activation: "relu",
        residual: true,
      }, batch));
      side = out;
      channels = 4 * width;
    }
  });
  layers.push(
    pool(
      "pool5",
      { channels, height: 7, width: 7, filter: 7, stride: 7 },
      batch,
    ),
  );
  layers.push(matmul("fc", { inputs: channels, outputs: 1000 }, batch));
  return layers;
}
