/**
 * Layers to GEMMs and vector work. Batch is a dimension everywhere: it multiplies the rows of the
 * left operand (or the copies, where the right operand differs per request as in attention).
 *
 * Passes per element of the vector unit. Assumption: one operation on one element per lane and
 * cycle; a transcendental (exp, tanh, sigmoid) takes 4, table lookup with interpolation; a division
 * or square root 4. The papers are silent on the vector unit.
 */
import {
  checkGeometry,
  distinctIfmapWords,
  outputShape,
} from "./conv_geometry.ts";
import { positiveInteger } from "./checks.ts";
import type { GemmWork, LayerSpec, VectorWork } from "./layer_spec.ts";

export const PASSES = {
  bias: 1,
  add: 1,
  mul: 1,
  relu: 1,
  compare: 1,
  transcendental: 4,
  divide: 4,
} as const;

/** Maximum, subtract, exp, sum, divide. */
export const SOFTMAX_PASSES = 2 * PASSES.compare + PASSES.transcendental +
  PASSES.add +
  PASSES.divide;
/** Mean, difference, variance (square, sum), normalise (root and division per row), scale, shift. */
export const NORM_PASSES = 2 * PASSES.add + 2 * PASSES.mul + PASSES.add +
  PASSES.mul + PASSES.add;

export const GELU_PASSES = PASSES.transcendental + 4 * PASSES.mul;
export const SWISH_PASSES = PASSES.transcendental + PASSES.mul;

export type ActivationName =
  | "none"
  | "relu"
  | "sigmoid"
  | "tanh"
  | "gelu"
  | "swish";
const ACTIVATION_PASSES: Readonly<Record<ActivationName, number>> = {
  none: 0,
  relu: PASSES.relu,
  sigmoid: PASSES.transcendental,
  tanh: PASSES.transcendental,
  gelu: GELU_PASSES,
  swish: SWISH_PASSES,
};

/** All sides; vertical and horizontal; or top, left, bottom, right. */
export type Padding =
  | number
  | readonly [vertical: number, horizontal: number]
  | readonly [top: number, left: number, bottom: number, right: number];

export interface ConvOptions {
  channelsIn: number;
  channelsOut: number;
  /** Height and width of the input, without padding. */
  height: number;
  width: number;
  filter: number | readonly [number, number];
  stride?: number | readonly [number, number];
  /** Added on each side: one number for all, or as listed. */
  padding?: Padding;
  dilation?: number | readonly [number, number];
  /** `channelsIn` for depthwise. */
  groups?: number;
  activation?: ActivationName;
  /** Adds a second map elementwise before the activation. */
  residual?: boolean;
}

function pair(
  value: number | readonly [number, number],
): readonly [number, number] {
  return typeof value === "number" ? [value, value] : value;
}

/** Lines and columns that padding adds. */
function padded(padding: Padding): readonly [number, number] {
  if (typeof padding === "number") return [2 * padding, 2 * padding];
  const [top, left, bottom = top, right = left] = padding;
  return [top + bottom, left + right];
}

/** A convolution over `batch` images; output size rounded down, as in ONNX and PyTorch. */
export function conv(name: string, options: ConvOptions, batch = 1): LayerSpec {
  positiveInteger(batch, "batch");
  const [fh, fw] = pair(options.filter);
  const [sh, sw] = pair(options.stride ?? 1);
  const [ph, pw] = padded(options.padding ?? 0);
  const [dh, dw] = pair(options.dilation ?? 1);
  const groups = positiveInteger(options.groups ?? 1, `${name}: groups`);
  const { channelsIn, channelsOut } = options;
  if (channelsIn % groups !== 0 || channelsOut % groups !== 0) {
    throw new RangeError(
      `${name}: channels ${channelsIn} in and ${channelsOut} out must be multiples of ${groups} groups`,
    );
  }
  // A dilated filter touches a larger window; its holes cost neither work nor weights.
  const geometry = checkGeometry({
    ifmapH: options.height + ph,
    ifmapW: options.width + pw,
    filterH: (fh - 1) * dh + 1,
    filterW: (fw - 1) * dw + 1,
    channelsIn: channelsIn / groups,
    channelsOut: channelsOut / groups,
    strideH: sh,
    strideW: sw,
  });
  const { h, w } = outputShape(geometry, "floor");
  const outputs = batch * h * w * channelsOut;
  const work: GemmWork = {
    gemm: {
      m: batch * h * w,
      n: channelsOut / groups,
      k: fh * fw * channelsIn / groups,
    },
    copies: groups,
    window: {
      batch,
      height: options.height,
      width: options.width,
      channels: channelsIn / groups,
      filterH: geometry.filterH,
      filterW: geometry.filterW,
      strideH: sh,
      strideW: sw,
      outputH: h,
      outputW: w,
    },
  };
  return {
    name,
    gemms: [work],
    vector: convVector(outputs, options),
    extraReadWords: options.residual ? outputs : 0,
    extraWriteWords: 0,
  };
}

/** What the vector unit does to the results of a convolution. */
export function convVector(
  outputs: number,
  { residual, activation = "none" }: Pick<
    ConvOptions,
    "residual" | "activation"
  >,
): VectorWork[] {
  const vector: VectorWork[] = [{
    name: "bias",
    elements: outputs,
    passes: PASSES.bias,
  }];
  if (residual) {
    vector.push({ name: "add", elements: outputs, passes: PASSES.add });
  }
  pushActivation(vector, activation, outputs);
  return vector;
}

function pushActivation(
  vector: VectorWork[],
  name: ActivationName,
  elements: number,
): void {
  const passes = ACTIVATION_PASSES[name];
  if (passes > 0) vector.push({ name, elements, passes });
}

export interface MatmulOptions {
  /** Rows per request (tokens); 1 for a plain fully connected layer. */
  rows?: number;
  inputs: number;
  outputs: number;
  activation?: ActivationName;
}

/** rows*batch x inputs times inputs x outputs weights, with bias. */
export function matmul(
  name: string,
  options: MatmulOptions,
  batch = 1,
): LayerSpec {
  const m = batch * (options.rows ?? 1);
  const elements = m * options.outputs;
  const vector: VectorWork[] = [{
    name: "bias",
    elements,
    passes: PASSES.bias,
  }];
  pushActivation(vector, options.activation ?? "none", elements);
  return {
    name,
    gemms: [{ gemm: { m, n: options.outputs, k: options.inputs }, copies: 1 }],
    vector,
    extraReadWords: 0,
    extraWriteWords: 0,
  };
}

export interface AttentionOptions {
  heads: number;
  /** Heads of keys and values, each moved once for all heads of queries that share it; default `heads`. */
  kvHeads?: number;
  /** Width of one head. */
  headWidth: number;
  queries: number;
  keys: number;
}

/** Scores, softmax and weighted sum; the projections around it are `matmul`s. */
export function attention(
  name: string,
  options: AttentionOptions,
  batch = 1,
): LayerSpec {
  const { heads, kvHeads = heads, headWidth, queries, keys } = options;
  const copies = kvHeads * batch;
  const m = queries * heads / kvHeads;
  const scores = heads * batch * queries * keys;
  return {
    name,
    gemms: [
      {
        gemm: { m, n: keys, k: headWidth },
        copies,
        filterIsActivation: true,
      },
      {
        gemm: { m, n: headWidth, k: keys },
        copies,
        filterIsActivation: true,
      },
    ],
    vector: [
      { name: "scale", elements: scores, passes: PASSES.mul },
      { name: "softmax", elements: scores, passes: SOFTMAX_PASSES },
    ],
    extraReadWords: 0,
    extraWriteWords: 0,
  };
}

export interface RecurrentOptions {
  inputs: number;
  hidden: number;
}

/** One step of an LSTM: [x, h] (inputs + hidden) times 4 * hidden weights, then the gates. */
export function lstmStep(
  name: string,
  options: RecurrentOptions,
  batch = 1,
): LayerSpec {
  const { inputs, hidden } = options;
  const cells = batch * hidden;
  return {
    name,
    gemms: [{
      gemm: { m: batch, n: 4 * hidden, k: inputs + hidden },
      copies: 1,
    }],
    vector: [
      { name: "bias", elements: 4 * cells, passes: PASSES.bias },
      { name: "gates", elements: 5 * cells, passes: PASSES.transcendental },
      { name: "state", elements: cells, passes: 3 * PASSES.mul + PASSES.add },
    ],
    extraReadWords: cells,
    extraWriteWords: cells,
  };
}

/** One step of a GRU (linear before reset): x and h separately, since the reset gate scales one. */
export function gruStep(
  name: string,
  options: RecurrentOptions,
  batch = 1,
): LayerSpec {
  const { inputs, hidden } = options;
  const cells = batch * hidden;
  return {
    name,
    gemms: [
      { gemm: { m: batch, n: 3 * hidden, k: inputs }, copies: 1 },
      { gemm: { m: batch, n: 3 * hidden, k: hidden }, copies: 1 },
    ],
    vector: [
      { name: "bias", elements: 6 * cells, passes: PASSES.bias },
      { name: "gates", elements: 3 * cells, passes: PASSES.transcendental },
      {
        name: "state",
        elements: cells,
        passes: 3 * PASSES.mul + 5 * PASSES.add,
      },
    ],
    extraReadWords: 0,
    extraWriteWords: 0,
  };
}

/** Rows of a table picked by id: memory traffic only. */
export function embedding(
  name: string,
  { width, rows = 1 }: { width: number; rows?: number },
  batch = 1,
): LayerSpec {
  const words = batch * rows * width;
  return {
    name,
    gemms: [],
    vector: [],
    extraReadWords: words,
    extraWriteWords: words,
  };
}

/** Work of the vector unit alone: reads `reads` words, writes `writes`. */
export function elementwise(
  name: string,
  { elements, passes, reads, writes }: {
    elements: number;
    passes: number;
    reads: number;
    writes: number;
  },
): LayerSpec {
  return {
    name,
    gemms: [],
    vector: [{ name, elements, passes }],
    extraReadWords: reads,
    extraWriteWords: writes,
  };
}

export interface PoolOptions {
  channels: number;
  height: number;
  width: number;
  filter: number | readonly [number, number];
  stride: number | readonly [number, number];
  padding?: Padding;
  dilation?: number | readonly [number, number];
}

/** Maximum or average pooling: one pass per window element. */
export function pool(name: string, options: PoolOptions, batch = 1): LayerSpec {
  const { channels } = options;
  const [fh, fw] = pair(options.filter);
  const [sh, sw] = pair(options.stride);
  const [ph, pw] = padded(options.padding ?? 0);
  const [dh, dw] = pair(options.dilation ?? 1);
  const geometry = checkGeometry({
    ifmapH: options.height + ph,
    ifmapW: options.width + pw,
    filterH: (fh - 1) * dh + 1,
    filterW: (fw - 1) * dw + 1,
    channelsIn: channels,
    channelsOut: channels,
    strideH: sh,
    strideW: sw,
  });
  const { h, w } = outputShape(geometry, "floor");
  const outputs = batch * h * w * channels;
  return elementwise(name, {
    elements: outputs,
    passes: fh * fw,
    reads: Math.min(
      batch * options.height * options.width * channels,
      batch * distinctIfmapWords(geometry, "floor"),
    ),
    writes: outputs,
  });
}

/** Layer normalisation over rows of `width`. */
export function layerNorm(
  name: string,
  { rows = 1, width }: { rows?: number; width: number },
  batch = 1,
): LayerSpec {
  const words = batch * rows * width;
  return elementwise(name, {
    elements: words,
    passes: NORM_PASSES,
    reads: words,
    writes: words,
  });
}
