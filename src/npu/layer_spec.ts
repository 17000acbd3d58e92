/**
 * A layer as the array and the vector unit see it: GEMMs, elementwise work, and what must be moved.
 * Networks, topology files and cells are all translated into this.
 */
import type { Gemm } from "./dataflow.ts";

/** `copies` independent GEMMs of the same shape, each with operands of its own (groups, heads). */
export interface GemmWork {
  gemm: Gemm;
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
  batch: number;
  height: number;
  width: number;
  /** Channels of one copy (one group). */
  channels: number;
  /** Extent of the window, dilation included. */
  filterH: number;
  filterW: number;
  strideH: number;
  strideW: number;
  outputH: number;
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
  name: string;
  elements: number;
  passes: number;
}

export interface LayerSpec {
  name: string;
  gemms: readonly GemmWork[];
  vector: readonly VectorWork[];
  /** Words read from and written to memory besides the GEMMs' operands (residuals, pooling, tables). */
  extraReadWords: number;
  extraWriteWords: number;
}

/** Multiply-accumulates of a layer. */
export function macsOf(layer: LayerSpec): number {
  return layer.gemms.reduce(
    (sum, { gemm, copies }) => sum + copies * gemm.m * gemm.n * gemm.k,
    0,
  );
}
