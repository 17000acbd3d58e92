/**
 * A layer as the array and the vector unit see it: GEMMs, elementwise work, and what must be moved.
 * Networks, topology files and cells are all translated into this.
 */
import { describe } from "../base/describe.ts";
import { nonNegativeInteger, positiveInteger } from "./checks.ts";
import { checkGemm, type Gemm } from "./dataflow.ts";

/** `copies` independent GEMMs of the same shape, each with operands of its own (groups, heads). */
export interface GemmWork {
  /** The shape of one copy. */
  gemm: Gemm;
  /** At least 1. */
  copies: number;
  /**
   * Present if the ifmap operand is the im2col of a feature map: then memory moves the map, not the
   * repeated words.
   */
  window?: MapWindow;
  /** True if the second operand is an activation too (attention), not a weight. */
  filterIsActivation?: boolean;
}

/** The feature maps an im2col operand is read from: `batch` images, padding not stored. */
export interface MapWindow {
  /** Images. */
  batch: number;
  /** Pixels of an image from top to bottom. */
  height: number;
  /** Pixels of an image from left to right. */
  width: number;
  /** Channels of one copy (one group). */
  channels: number;
  /** Height of the window, dilation included. */
  filterH: number;
  /** Width of the window, dilation included. */
  filterW: number;
  /** Pixels from one window to the next below. */
  strideH: number;
  /** Pixels from one window to the next on the right. */
  strideW: number;
  /** Windows from top to bottom. */
  outputH: number;
  /** Windows from left to right. */
  outputW: number;
}

/** Words of the maps that the first `rows` output rows (counted through the images) need. */
export function mapWords(
  map: MapWindow,
  rows: number,
  channels: number,
): number {
  const images = Math.floor(rows / map.outputH);
  const rest = rows - images * map.outputH;
  const line = channels *
    touched(map.outputW, {
      size: map.width,
      filter: map.filterW,
      stride: map.strideW,
    });
  const vertical = {
    size: map.height,
    filter: map.filterH,
    stride: map.strideH,
  };
  const partial = rest === 0 ? 0 : touched(rest, vertical);
  return line * (images * touched(map.outputH, vertical) + partial);
}

/** Positions along one side that `outputs` neighbouring windows touch. */
function touched(
  outputs: number,
  { size, filter, stride }: { size: number; filter: number; stride: number },
): number {
  const reach = stride > filter
    ? outputs * filter
    : (outputs - 1) * stride + filter;
  return Math.min(size, reach);
}

/** Work of the vector unit: `passes` operations on each of `elements` elements. */
export interface VectorWork {
  /** What it is, such as the operator's name. */
  name: string;
  /** Elements; the unit handles `NpuConfig.vectorLanes` of them per cycle. */
  elements: number;
  /** Operations on each. */
  passes: number;
}

/**
 * A layer, or any other piece of work on a batch: GEMMs one after the other, vector work behind the last of them, and
 * what else must be moved.
 */
export interface LayerSpec {
  /** What profiles and messages call it. */
  name: string;
  /** May be none. */
  gemms: readonly GemmWork[];
  /** May be none. */
  vector: readonly VectorWork[];
  /** Words read from memory besides the GEMMs' operands (residuals, pooling, tables). */
  extraReadWords: number;
  /** Words written to memory besides the GEMMs' results. */
  extraWriteWords: number;
}

/** Throws a RangeError naming the size of a layer that is none, or does not go with its others. */
export function checkLayer(layer: LayerSpec): void {
  const { name, gemms, vector, extraReadWords, extraWriteWords } = layer;
  for (const [field, list] of Object.entries({ gemms, vector })) {
    if (Array.isArray(list)) continue;
    throw new TypeError(
      `${name}: ${field} must be an array, got ${describe(list)}`,
    );
  }
  nonNegativeInteger(extraReadWords, `${name}: extraReadWords`);
  nonNegativeInteger(extraWriteWords, `${name}: extraWriteWords`);
  for (const { elements, passes } of vector) {
    nonNegativeInteger(elements, `${name}: elements of the vector unit`);
    nonNegativeInteger(passes, `${name}: passes of the vector unit`);
  }
  for (const { gemm, copies, window } of gemms) {
    positiveInteger(copies, `${name}: copies`);
    checkGemm(gemm);
    if (!Number.isSafeInteger(copies * gemm.m * gemm.n * gemm.k)) {
      throw new RangeError(
        `${name}: ${copies} copies of ${gemm.m}x${gemm.n}x${gemm.k} have more than 2^53 multiplications; split them`,
      );
    }
    if (window !== undefined) checkWindow(name, gemm, window);
  }
}

function checkWindow(name: string, gemm: Gemm, window: MapWindow): void {
  for (const [field, value] of Object.entries(window)) {
    positiveInteger(value, `${name}: window's ${field}`);
  }
  const { batch, outputH, outputW, channels } = window;
  if (batch * outputH * outputW !== gemm.m) {
    throw new RangeError(
      `${name}: ${batch} maps of ${outputH}x${outputW} windows are not the ${gemm.m} rows (m) of its GEMM`,
    );
  }
  if (gemm.k % channels !== 0) {
    throw new RangeError(
      `${name}: k = ${gemm.k} of its GEMM is not so many numbers of each of the window's ${channels} channels`,
    );
  }
}
