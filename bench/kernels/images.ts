/** Convolution workloads: our NHWC against the peer's NCHW, each in its own layout. */
import type { Prng } from "../../src/base/prng.ts";
import { imageShape, shapeWords } from "../../src/kernels/image_shape.ts";
import { packConv, packDepthwise } from "../../src/kernels/pack_conv.ts";
import { draw } from "./matrices.ts";
import type { Workload } from "./workload.ts";

/** A square convolution. */
export interface Layer {
  size: number;
  channels: number;
  outChannels: number;
  kernel: number;
  stride: number;
  /** One kernel per channel. */
  depthwise?: boolean;
}

/** The distinct convolutions of ResNet-50 (He et al. 2016, table 1; stride in the 3x3). */
export const RESNET50: readonly Layer[] = [
  [224, 3, 64, 7, 2],
  [56, 64, 64, 1, 1],
  [56, 64, 64, 3, 1],
  [56, 64, 256, 1, 1],
  [56, 256, 64, 1, 1],
  [56, 256, 128, 1, 1],
  [56, 128, 128, 3, 2],
  [28, 128, 512, 1, 1],
  [56, 256, 512, 1, 2],
  [28, 512, 128, 1, 1],
  [28, 128, 128, 3, 1],
  [28, 512, 256, 1, 1],
  [28, 256, 256, 3, 2],
  [14, 256, 1024, 1, 1],
  [28, 512, 1024, 1, 2],
  [14, 1024, 256, 1, 1],
  [14, 256, 256, 3, 1],
  [14, 1024, 512, 1, 1],
  [14, 512, 512, 3, 2],
  [7, 512, 2048, 1, 1],
  [14, 1024, 2048, 1, 2],
  [7, 2048, 512, 1, 1],
  [7, 512, 512, 3, 1],
].map(([size, channels, outChannels, kernel, stride]) => ({
  size: size!,
  channels: channels!,
  outChannels: outChannels!,
  kernel: kernel!,
  stride: stride!,
}));

/** Depthwise 3x3 layers of MobileNet v1 (Howard et al. 2017, table 1). */
export const DEPTHWISE: readonly Layer[] = [
  [112, 32, 1],
  [112, 64, 2],
  [56, 128, 1],
  [28, 256, 1],
  [14, 512, 1],
  [7, 1024, 1],
].map(([size, channels, stride]) => ({
  size: size!,
  channels: channels!,
  outChannels: channels!,
  kernel: 3,
  stride: stride!,
  depthwise: true,
}));

/** [channels][pixels] to [pixels][channels], or back with the sizes exchanged. */
function transpose(data: Float32Array, rows: number): Float32Array {
  const columns = data.length / rows;
  return data.map((_, i) => data[i % rows * columns + Math.floor(i / rows)]!);
}

/** One image through one layer. */
export function convolution(prng: Prng, layer: Layer): Workload {
  const { size, channels, outChannels, kernel, stride } = layer;
  const pad = kernel >> 1;
  const groups = layer.depthwise ? channels : 1;
  const shape = imageShape({
    height: size,
    width: size,
    channels,
    outChannels,
    kernel,
    stride,
    pads: [pad, pad, pad, pad],
    groups,
  });
  const own = channels / groups;
  const image = draw(prng, channels * size * size);
  const k = own * kernel * kernel;
  const weight = draw(prng, outChannels * k, 1 / Math.sqrt(k));
  const bias = draw(prng, outChannels);
  const pixels = shape.outHeight * shape.outWidth;
  const input = [1, channels, size, size];
  const output = [1, outChannels, shape.outHeight, shape.outWidth];
  return {
    area: layer.depthwise ? "depthwise 3x3" : "ResNet-50 convolutions",
    shape:
      `${size}x${size}x${channels}-${outChannels} ${kernel}x${kernel}/${stride}`,
    operations: 2 * pixels * outChannels * k,
    unit: "GFLOP/s",
    bytes: 4 * (image.length + weight.length + pixels * outChannels),
    own(build) {
      const { kernels } = build;
      const at = build.put(shapeWords(shape));
      const x = build.rows(1, image.length, transpose(image, channels));
      const y = build.rows(1, pixels * outChannels);
      const pack = layer.depthwise ? packDepthwise : packConv;
      const w = build.put(pack(shape, { weight, bias }));
      const scratch = build.alloc(kernels.conv_scratch_bytes(at));
      return {
        run: layer.depthwise
          ? () => kernels.depthwise_f32(1, at, x.table, w, y.table, 0)
          : () => kernels.conv_f32(1, at, x.table, w, 0, y.table, 0, scratch),
        result: () => transpose(y.view.slice(), pixels),
      };
    },
    peer: {
      nodes: [{
        opType: "Conv",
        inputs: ["x", "w", "b"],
        outputs: ["y"],
        attributes: {
          group: groups,
          kernel_shape: [kernel, kernel],
          pads: [pad, pad, pad, pad],
          strides: [stride, stride],
        },
      }],
      constants: [
        { name: "w", shape: [outChannels, own, kernel, kernel], data: weight },
        { name: "b", shape: [outChannels], data: bias },
      ],
      inputs: [{ name: "x", shape: input }],
      outputs: [{ name: "y", shape: output }],
    },
    feeds: { x: { shape: input, data: image } },
    output: "y",
    tolerance: 1e-3,
  };
}
