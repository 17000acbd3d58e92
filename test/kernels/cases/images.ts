/** What cases over images share. */
import {
  type ImageShape,
  imageShape,
  transposedShape,
} from "../../../src/tensor/image_shape.ts";
import { type CaseDraw, drawRows } from "../kernel_case.ts";
import {
  type Equivalent,
  floatsOf,
  type OnnxNode,
  transposed as swapped,
} from "../equivalent.ts";

/** A shape whose window fits, small enough for many images. */
export function drawShape(
  { prng }: CaseDraw,
  kind: "conv" | "depthwise" | "transposed" | "pool",
): ImageShape {
  const one = () => 1 + prng.int(2);
  // Convolutions take rows of a kernel whole up to some lengths.
  const columns = kind === "conv" && prng.int(4) === 0 ? 40 : 4;
  const kernel = [1 + prng.int(4), 1 + prng.int(columns)] as const;
  const dilation = [one(), one()] as const;
  const pads = [0, 0, 0, 0].map((_, i) =>
    prng.int(1 + (kernel[i % 2] >> 1))
  ) as [
    number,
    number,
    number,
    number,
  ];
  // At least one output pixel, whatever the pads.
  const size = (axis: 0 | 1) =>
    (kernel[axis] - 1) * dilation[axis] + 1 +
    // Depthwise kernels slide over several pixels of a line at once.
    prng.int(kind === "depthwise" && axis === 1 ? 24 : 5);
  const groups = kind === "pool" || kind === "depthwise" ? 1 : one();
  const channels = groups *
    (1 + prng.int({ conv: 12, transposed: 9, pool: 45, depthwise: 40 }[kind]));
  const window = {
    height: size(0),
    width: size(1),
    channels,
    kernel,
    dilation,
    pads,
    stride: [one(), one()] as const,
    groups: kind === "depthwise" ? channels : groups,
    ...(kind === "conv" || kind === "transposed"
      ? { outChannels: groups * (1 + prng.int(18)) }
      : {}),
  };
  if (kind !== "transposed") return imageShape(window);
  const [down, right] = window.stride;
  return transposedShape({
    ...window,
    outputPadding: [prng.int(down), prng.int(right)],
  });
}

/** Drawn images of a shape. */
export function images(
  draw: CaseDraw,
  { height, width, channels }: ImageShape,
) {
  return drawRows(draw, height * width * channels);
}

/** A case in words: "m=1 56x56x64-64 3x3/1 pads 1,1,1,1". */
export function label(rows: number, shape: ImageShape): string {
  const { height, width, channels, outChannels, kernel, stride } = shape;
  const [down, right] = stride;
  return [
    `m=${rows} ${height}x${width}x${channels}-${outChannels}`,
    `${kernel.join("x")}/${down === right ? down : stride.join("x")}`,
    shape.pads.some((pad) => pad > 0) ? `pads ${shape.pads}` : "",
    shape.dilation.some((by) => by > 1) ? `dilation ${shape.dilation}` : "",
    shape.groups > 1 ? `groups ${shape.groups}` : "",
  ].filter((part) => part !== "").join(" ");
}

/** A window as ONNX attributes. */
export function windowAttributes(shape: ImageShape): OnnxNode["attributes"] {
  const { kernel, stride, dilation, pads } = shape;
  return {
    kernel_shape: kernel,
    strides: stride,
    dilations: dilation,
    pads,
  };
}

/** One operator over NCHW images; our images are NHWC. */
export function imageEquivalent(
  rows: number,
  shape: ImageShape,
  data: Float32Array,
  node: Omit<OnnxNode, "inputs" | "outputs">,
  constants: Equivalent["constants"] = [],
): Equivalent {
  const { height, width, channels, outHeight, outWidth, outChannels } = shape;
  return {
    nodes: [{
      ...node,
      inputs: ["x", ...constants.map(({ name }) => name)],
      outputs: ["y"],
    }],
    constants,
    inputs: [{
      name: "x",
      shape: [rows, channels, height, width],
      data: swapped(data, height * width, channels),
    }],
    outputs: [{
      name: "y",
      shape: [rows, outChannels, outHeight, outWidth],
      of: (own) =>
        swapped(floatsOf("out")(own), outHeight * outWidth, outChannels),
    }],
    tolerance: 1e-4,
  };
}
