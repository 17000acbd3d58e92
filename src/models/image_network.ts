/**
 * Networks of layers over images: each layer is a cell that runs once a request, in a fixed order, and reads
 * what earlier ones made. A convolution is a cell together with its BatchNormalization or bias, the sum with a
 * shortcut and its ReLU (LazyBatching's node is a layer).
 */
import {
  defineCell,
  f32,
  image,
  type Operators,
  type PortSpec,
} from "../graph/cell_builder.ts";
import type { Cell } from "../graph/cell.ts";
import type { NodeOutput, Source } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import type { ImageSize, Value } from "../graph/operator.ts";
import type { PoolAttributes } from "../graph/operators/images.ts";
import type { Pair } from "../tensor/image_shape.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { WeightSource } from "../tensor/weights.ts";
import { checkImageInput, readImage } from "./checks.ts";
import { batchNormWeights, convWeight, type ImageInput } from "./conv_cell.ts";

/** A row that a layer makes. */
export interface LayerRow {
  /** Place of the layer among the network's; -1 for the image that a request brings. */
  readonly layer: number;
  readonly elements: number;
}

/** A row that is an image. */
export interface FeatureMap extends LayerRow, ImageSize {}

/** A convolution with what is computed together with it. */
export interface ConvolutionLayer {
  /** Channels that come out. */
  readonly out: number;
  /** Height and width of the window. */
  readonly kernel: Pair;
  /** Default 1. */
  readonly stride?: number;
  /** At the top, left, bottom, right; default: half the window on every side, which keeps the size at stride 1. */
  readonly pads?: number | readonly [number, number, number, number];
  /** "depthwise": each channel by itself; default: all together. */
  readonly channels?: "depthwise";
  /** Name of the weights, without `.weight`. */
  readonly conv: string;
  /** Name of the BatchNormalization; default: none. */
  readonly norm?: string;
  /** Whether there is a bias, `conv` + `.bias`; default: without BatchNormalization. */
  readonly bias?: boolean;
  /** Of the BatchNormalization; default 1e-5. */
  readonly epsilon?: number;
  /** Its middle, as high and wide as what is convolved, is stacked in front of that. */
  readonly stacked?: FeatureMap;
  /** Added before the ReLU. */
  readonly shortcut?: FeatureMap;
  /** Without ReLU. */
  readonly linear?: boolean;
  /** Added behind the ReLU. */
  readonly skip?: FeatureMap;
}

/** A transposed convolution: `stride` times as high and wide. */
export interface UpConvolutionLayer extends
  Pick<
    ConvolutionLayer,
    "out" | "conv" | "norm" | "bias" | "linear"
  > {
  /** Height and width of the window. */
  readonly kernel: number;
  readonly stride: number;
}

export class ImageNetwork {
  readonly cells: Cell[] = [];
  /** For every cell the rows it reads, by input. */
  readonly #reads: Readonly<Record<string, LayerRow>>[] = [];
  readonly #image: ImageSize;
  /** The image that a request brings. */
  readonly input: FeatureMap;

  constructor(
    readonly name: string,
    image: ImageSize,
    readonly weights: WeightSource,
  ) {
    const { height, width, channels } = image;
    this.#image = { height, width, channels };
    this.input = { ...this.#image, layer: -1, elements: elementsOf(image) };
  }

  /** Adds a layer that makes an image. */
  layer<Input extends string>(
    name: string,
    reads: Readonly<Record<Input, LayerRow>>,
    body: (op: Operators, inputs: Record<Input, Value>) => Value,
  ): FeatureMap {
    const [{ image }] = this.#add(name, reads, body).outputs;
    const layer = this.cells.length - 1;
    return { ...image!, layer, elements: elementsOf(image!) };
  }

  /** Adds a convolution. */
  convolution(
    name: string,
    x: FeatureMap,
    options: ConvolutionLayer,
  ): FeatureMap {
    const { out, kernel, conv, norm, stacked, shortcut, skip } = options;
    const [high, wide] = typeof kernel === "number" ? [kernel, kernel] : kernel;
    const group = options.channels === "depthwise" ? x.channels : 1;
    const channels = (x.channels + (stacked?.channels ?? 0)) / group;
    const weight = convWeight(
      this.weights,
      `${conv}.weight`,
      [out, channels, high, wide],
    );
    const [down, right] = [(high - 1) / 2, (wide - 1) / 2];
    const attributes = {
      strides: options.stride ?? 1,
      pads: options.pads ?? [down, right, down, right] as const,
      group,
      ...this.#bias(options, channels * high * wide),
    };
    const weights = norm && batchNormWeights(this.weights, norm, out);
    const reads = {
      ...(stacked && { stacked }),
      x,
      ...(shortcut && { shortcut }),
      ...(skip && { skip }),
    };
    return this.layer<"x" | "stacked" | "shortcut" | "skip">(
      name,
      reads as Record<"x" | "stacked" | "shortcut" | "skip", FeatureMap>,
      (op, { x, stacked, shortcut, skip }) => {
        const { height, width } = x.image!;
        const from = stacked
          ? op.Concat(op.CenterCropPad(stacked, height, width), x)
          : x;
        let y = op.Conv(from, weight, attributes);
        if (weights) y = op.BatchNormalization(y, weights, options.epsilon);
        if (shortcut) y = op.Add(y, shortcut);
        if (!options.linear) y = op.Relu(y);
        return skip ? op.Add(y, skip) : y;
      },
    );
  }

  /** Adds a transposed convolution. */
  upConvolution(
    name: string,
    x: FeatureMap,
    options: UpConvolutionLayer,
  ): FeatureMap {
    const { out, kernel, stride, conv, norm, linear } = options;
    // Of its window an output pixel sees each stride-th line and column.
    const fanIn = x.channels * (kernel / stride) ** 2;
    const weight = this.weights(
      `${conv}.weight`,
      [x.channels, out, kernel, kernel],
      fanIn / (linear ? 3 : 6),
    );
    const pads = Math.floor((kernel - 1) / 2);
    const attributes = {
      strides: stride,
      pads,
      outputPadding: stride - kernel + 2 * pads,
      ...this.#bias(options, fanIn),
    };
    const weights = norm && batchNormWeights(this.weights, norm, out);
    return this.layer(name, { x }, (op, { x }) => {
      let y = op.ConvTranspose(x, weight, attributes);
      if (weights) y = op.BatchNormalization(y, weights);
      return linear ? y : op.Relu(y);
    });
  }

  #bias(
    { bias, norm, conv, out }: Pick<
      ConvolutionLayer,
      "bias" | "norm" | "conv" | "out"
    >,
    fanIn: number,
  ): { bias?: Tensor } {
    if (!(bias ?? norm === undefined)) return {};
    return { bias: this.weights(`${conv}.bias`, [out], fanIn) };
  }

  maxPool(name: string, x: FeatureMap, attributes: PoolAttributes): FeatureMap {
    return this.layer(name, { x }, (op, { x }) => op.MaxPool(x, attributes));
  }

  /** Adds a stack of maps of one size, along their channels. */
  concat(name: string, maps: readonly FeatureMap[]): FeatureMap {
    const reads = Object.fromEntries(maps.map((map, i) => [`x${i}`, map]));
    return this.layer(
      name,
      reads,
      (op, inputs) => op.Concat(...Object.values(inputs)),
    );
  }

  /** Adds a fully connected layer over all of a row, in ONNX's order if it is an image; `tensors`: their names. */
  dense(
    name: string,
    x: LayerRow,
    { units, tensors, linear }: {
      units: number;
      tensors: string;
      linear?: boolean;
    },
  ): LayerRow {
    const { elements } = x;
    const weight = this.weights(
      `${tensors}.weight`,
      [units, elements],
      elements,
    );
    const bias = this.weights(`${tensors}.bias`, [units], elements);
    this.#add(name, { x }, (op, { x }) => {
      const y = op.Gemm(x.image ? op.Flatten(x) : x, weight, bias);
      return linear ? y : op.Relu(y);
    });
    return { layer: this.cells.length - 1, elements: units };
  }

  /** Adds the mean of every channel, as an image of one pixel. */
  means(name: string, x: FeatureMap): FeatureMap {
    return this.layer(name, { x }, (op, { x }) => op.GlobalAveragePool(x));
  }

  /** The network so far, of which a row is the result. */
  model(logits: LayerRow): Model<ImageInput, { logits: "f32" }> {
    const { name, cells } = this;
    const reads = this.#reads;
    const size = this.#image;
    return {
      name,
      cells,
      shape: "chain",
      image: size,
      outputs: { logits: "f32" },
      check(given): asserts given is ImageInput {
        checkImageInput(name, given, size);
      },
      brings: ({ image }) => [readImage(image, size)],
      unfold({ image }, graph) {
        const rows = graph.rows(readImage(image, size));
        const elements = elementsOf(size);
        const made: NodeOutput[] = [];
        cells.forEach((cell, i) => {
          const sources: Record<string, Source> = {};
          for (const [input, { layer }] of Object.entries(reads[i])) {
            sources[input] = layer < 0
              ? graph.row(rows, 0, elements)
              : made[layer];
          }
          made.push(graph.output(graph.node(cell, sources), "y"));
        });
        graph.result("logits", made[logits.layer]);
      },
    };
  }

  #add<Input extends string>(
    name: string,
    reads: Readonly<Record<Input, LayerRow>>,
    body: (op: Operators, inputs: Record<Input, Value>) => Value,
  ): Cell {
    const ports = Object.entries<LayerRow | FeatureMap>(reads).map((
      [input, row],
    ) => [
      input,
      "channels" in row
        ? image(row.height, row.width, row.channels)
        : f32(row.elements),
    ]);
    const cell = defineCell<Input, "y">({
      name,
      priority: this.cells.length,
      inputs: Object.fromEntries(ports) as Record<Input, PortSpec>,
      body: (op, inputs) => ({ y: body(op, inputs) }),
    });
    this.cells.push(cell);
    this.#reads.push(reads);
    return cell;
  }
}

function elementsOf({ height, width, channels }: ImageSize): number {
  return height * width * channels;
}
