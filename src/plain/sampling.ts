/** Elements at places between elements: grids, regions, and boxes that overlap. Sums in f64, rounded once. */
import { describeShape } from "../base/describe.ts";
import { elementCount } from "../tensor/tensor.ts";
import { plainOf } from "../tensor/plain_tensor.ts";
import { roundHalfEven } from "./functions.ts";
import {
  checkDims,
  checkRank,
  choice,
  flag,
  float,
  FLOATS,
  floats,
  INDICES,
  int,
  optionalScalar,
  whole,
} from "./given.ts";
import { largestFirst } from "./largest_first.ts";
import { checkOutput, outputOf, stridesOf, upTo } from "./layout.ts";
import type { PlainOperator } from "./operator.ts";
import { tapsOf, windowsOf } from "./windows.ts";

/** A place mirrored at both ends of an axis until it lies between them. */
function reflected(at: number, least: number, most: number): number {
  const length = most - least;
  if (length <= 0) return least;
  const over = Math.abs(at - least) % (2 * length);
  return least + (over > length ? 2 * length - over : over);
}

type Padding = "zeros" | "border" | "reflection";

/** An axis that is sampled. */
interface SampledAxis {
  readonly size: number;
  /** Where it begins and ends, in elements. */
  readonly least: number;
  readonly most: number;
}

/** Index of an element, or of the one that stands for it outside; -1 for 0. */
function elementAt(
  i: number,
  { size, least, most }: SampledAxis,
  padding: Padding,
): number {
  if (i >= 0 && i < size) return i;
  if (padding === "zeros") return -1;
  if (padding === "border") return Math.max(0, Math.min(size - 1, i));
  return Math.trunc(reflected(i, least, most));
}

/** Coefficient of Keys' cubic. */
const CUBIC = -0.75;

function cubicWeight(distance: number): number {
  const x = Math.abs(distance);
  return x <= 1
    ? ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1
    : ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC;
}

/** PyTorch's place for coordinates that are no numbers: far outside. */
const NOWHERE = -100;

/**
 * Elements and weights that make up what lies at a place of an axis, as PyTorch and ONNX Runtime have it: ONNX's
 * reference also moves a cubic's place to the border.
 */
function sampled(
  coordinate: number,
  axis: SampledAxis,
  mode: "nearest" | "linear" | "cubic",
  padding: Padding,
): { at: number; weight: number }[] {
  let place = Number.isFinite(coordinate) ? coordinate : NOWHERE;
  if (mode === "nearest") place = roundHalfEven(place);
  if (place < axis.least || place > axis.most) {
    // A cubic's neighbours are those of the border, each by itself: moved to it, a place would have other weights.
    if (padding === "border" && mode !== "cubic") {
      place = Math.max(0, Math.min(axis.size - 1, place));
    } else if (padding === "reflection") {
      place = reflected(place, axis.least, axis.most);
    }
  }
  if (mode === "nearest") {
    return [{ at: elementAt(Math.trunc(place), axis, padding), weight: 1 }];
  }
  const first = Math.floor(place);
  const reach = mode === "linear" ? [0, 1] : [-1, 0, 1, 2];
  return reach.map((k) => ({
    at: elementAt(first + k, axis, padding),
    weight: mode === "linear"
      ? 1 - Math.abs(place - first - k)
      : cubicWeight(place - first - k),
  }));
}

/** Names of modes before version 20 of the operator set. */
const OLD_MODES = {
  bilinear: "linear",
  bicubic: "cubic",
  linear: "linear",
  nearest: "nearest",
  cubic: "cubic",
} as const;

/** Elements of images at the coordinates of a grid: from -1 to 1, the last axis first. */
const GridSample: PlainOperator = {
  since: [16, 20, 22],
  types: FLOATS,
  run: (inputs, attributes) => {
    const x = floats(inputs, 0, "X");
    checkRank(0, "X", x, 3);
    const grid = floats(inputs, 1, "grid");
    const [batch, channels, ...spatial] = x.dims;
    const rank = spatial.length;
    const outDims = grid.dims.slice(1, -1);
    checkDims(1, "grid", grid, [batch, ...outDims, rank]);
    checkRank(1, "grid", grid, rank + 2, rank + 2);
    const mode = OLD_MODES[
      choice(attributes, "mode", [
        "linear",
        "nearest",
        "cubic",
        "bilinear",
        "bicubic",
      ])
    ];
    const padding = choice(attributes, "padding_mode", [
      "zeros",
      "border",
      "reflection",
    ]);
    const isAligned = flag(attributes, "align_corners");
    const axes = spatial.map((size): SampledAxis =>
      isAligned
        ? { size, least: 0, most: size - 1 }
        : { size, least: -0.5, most: size - 0.5 }
    );
    const strides = stridesOf(spatial);
    const pixels = elementCount(spatial);
    const outPixels = elementCount(outDims);
    const result = outputOf("float32", [batch, channels, ...outDims]);
    for (let n = 0; n < batch; n++) {
      for (let p = 0; p < outPixels; p++) {
        // Elements around the place, as positions in an image with weights.
        let around = [{ at: 0, weight: 1 }];
        axes.forEach((axis, a) => {
          const given = grid.data[(n * outPixels + p) * rank + rank - 1 - a];
          const coordinate = Math.fround(
            isAligned
              ? (given + 1) / 2 * (axis.size - 1)
              : ((given + 1) * axis.size - 1) / 2,
          );
          const near = sampled(coordinate, axis, mode, padding);
          around = around.flatMap(({ at, weight }) =>
            near.map((other) => ({
              at: at < 0 || other.at < 0 ? -1 : at + other.at * strides[a],
              weight: weight * other.weight,
            }))
          );
        });
        for (let c = 0; c < channels; c++) {
          const image = (n * channels + c) * pixels;
          let sum = 0;
          for (const { at, weight } of around) {
            if (at >= 0) sum += weight * x.data[image + at];
          }
          result.data[(n * channels + c) * outPixels + p] = sum;
        }
      }
    }
    return [result];
  },
};

/** Coordinates of a grid, from -1 to 1, transformed by a matrix for each image. */
const AffineGrid: PlainOperator = {
  since: [20],
  types: FLOATS,
  run: (inputs, attributes) => {
    const theta = floats(inputs, 0, "theta");
    const size = whole(inputs, 1, "size");
    if (size.length < 3) {
      throw new RangeError(
        `input 1 (size) is ${describeShape(size)}, expected 3 numbers or more`,
      );
    }
    const [batch, , ...spatial] = size;
    const rank = spatial.length;
    checkDims(0, "theta", theta, [batch, rank, rank + 1]);
    const isAligned = flag(attributes, "align_corners");
    const coordinate = (i: number, size: number) =>
      isAligned
        ? (size > 1 ? 2 * i / (size - 1) - 1 : -1)
        : (2 * i + 1) / size - 1;
    const result = outputOf("float32", [batch, ...spatial, rank]);
    const strides = stridesOf(spatial);
    const pixels = elementCount(spatial);
    for (let at = 0; at < batch * pixels; at++) {
      const pixel = at % pixels;
      // The last axis comes first.
      const place = spatial.map((size, axis) =>
        coordinate(Math.floor(pixel / strides[axis]) % size, size)
      ).reverse();
      for (let row = 0; row < rank; row++) {
        const from = (Math.floor(at / pixels) * rank + row) * (rank + 1);
        let sum = 0;
        place.forEach((value, i) => sum += theta.data[from + i] * value);
        result.data[at * rank + row] = sum + theta.data[from + rank];
      }
    }
    return [result];
  },
};

/** Regions of images, cut into bins, each the average or the largest of places in it. */
const RoiAlign: PlainOperator = {
  since: [10, 16, 22],
  types: FLOATS,
  run: (inputs, attributes, { opset }) => {
    const x = floats(inputs, 0, "X");
    checkRank(0, "X", x, 4, 4);
    const regions = floats(inputs, 1, "rois");
    const images = whole(inputs, 2, "batch_indices");
    checkDims(1, "rois", regions, [images.length, 4]);
    const [batch, channels, height, width] = x.dims;
    const isMax = choice(attributes, "mode", ["avg", "max"]) === "max";
    const outHeight = int(attributes, "output_height", 1);
    const outWidth = int(attributes, "output_width", 1);
    const ratio = int(attributes, "sampling_ratio", 0);
    const scale = float(attributes, "spatial_scale", 1);
    const isHalf = opset >= 16 &&
      choice(attributes, "coordinate_transformation_mode", [
          "half_pixel",
          "output_half_pixel",
        ]) === "half_pixel";
    const result = outputOf("float32", [
      images.length,
      channels,
      outHeight,
      outWidth,
    ]);
    images.forEach((image, region) => {
      if (!(image >= 0 && image < batch)) {
        throw new RangeError(`input 2 (batch_indices) has ${image}`);
      }
      const [left, top, right, bottom] = regions.data.subarray(
        region * 4,
        region * 4 + 4,
      ).map((at) => at * scale - (isHalf ? 0.5 : 0));
      const [long, wide] = [bottom - top, right - left].map((size) =>
        isHalf ? size : Math.max(size, 1)
      );
      const [binHeight, binWidth] = [long / outHeight, wide / outWidth];
      const rows = ratio > 0 ? ratio : Math.max(0, Math.ceil(binHeight));
      const columns = ratio > 0 ? ratio : Math.max(0, Math.ceil(binWidth));
      checkOutput([outHeight, outWidth, rows, columns]);
      for (let bin = 0; bin < outHeight * outWidth; bin++) {
        const binTop = top + Math.floor(bin / outWidth) * binHeight;
        const binLeft = left + bin % outWidth * binWidth;
        const places = upTo(rows * columns).map((i) =>
          corners(
            binTop + (Math.floor(i / columns) + 0.5) * binHeight / rows,
            binLeft + (i % columns + 0.5) * binWidth / columns,
            height,
            width,
          )
        );
        for (let c = 0; c < channels; c++) {
          const from = (image * channels + c) * height * width;
          const parts = places.map((four) =>
            four.map(({ at, weight }) => weight * x.data[from + at])
          );
          const to = (region * channels + c) * outHeight * outWidth + bin;
          result.data[to] = isMax
            ? places.length > 0
              ? parts.flat().reduce((a, b) => Math.max(a, b))
              : 0
            : parts.flat().reduce((a, b) => a + b, 0) /
              Math.max(1, places.length);
        }
      }
    });
    return [result];
  },
};

/** The four elements around a place of an image, with bilinear weights; all 0 far outside. */
function corners(
  y: number,
  x: number,
  height: number,
  width: number,
): { at: number; weight: number }[] {
  if (y < -1 || y > height || x < -1 || x > width) {
    return new Array(4).fill({ at: 0, weight: 0 });
  }
  const along = (place: number, size: number) => {
    const low = Math.min(size - 1, Math.floor(Math.max(place, 0)));
    const high = Math.min(size - 1, low + 1);
    const over = low === size - 1 ? 0 : Math.max(place, 0) - low;
    return [{ i: low, weight: 1 - over }, { i: high, weight: over }];
  };
  const columns = along(x, width);
  return along(y, height).flatMap((row) =>
    columns.map((column) => ({
      at: row.i * width + column.i,
      weight: row.weight * column.weight,
    }))
  );
}

/** A box by its edges. */
interface Box {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

function overlap(a: Box, b: Box): number {
  const size = ({ top, left, bottom, right }: Box) =>
    Math.max(0, bottom - top) * Math.max(0, right - left);
  const common = size({
    top: Math.max(a.top, b.top),
    left: Math.max(a.left, b.left),
    bottom: Math.min(a.bottom, b.bottom),
    right: Math.min(a.right, b.right),
  });
  const union = size(a) + size(b) - common;
  return union > 0 ? common / union : 0;
}

/** Boxes by their scores, the highest first, without those that overlap one before. */
const NonMaxSuppression: PlainOperator = {
  since: [10, 11],
  types: FLOATS,
  run: (inputs, attributes) => {
    const boxes = floats(inputs, 0, "boxes");
    const scores = floats(inputs, 1, "scores");
    checkRank(0, "boxes", boxes, 3, 3);
    checkRank(1, "scores", scores, 3, 3);
    const [batch, classes, count] = scores.dims;
    checkDims(0, "boxes", boxes, [batch, count, 4]);
    const most = optionalScalar(
      inputs,
      2,
      "max_output_boxes_per_class",
      INDICES,
    ) ?? 0;
    const limit = optionalScalar(inputs, 3, "iou_threshold", FLOATS) ?? 0;
    // As ONNX Runtime has it, a score has to be above the threshold.
    const least = optionalScalar(inputs, 4, "score_threshold", FLOATS);
    const isCentred = flag(attributes, "center_point_box");
    const boxAt = (image: number, i: number): Box => {
      const [a, b, c, d] = boxes.data.subarray(
        (image * count + i) * 4,
        (image * count + i + 1) * 4,
      );
      return isCentred
        ? {
          top: b - d / 2,
          left: a - c / 2,
          bottom: b + d / 2,
          right: a + c / 2,
        }
        : {
          top: Math.min(a, c),
          left: Math.min(b, d),
          bottom: Math.max(a, c),
          right: Math.max(b, d),
        };
    };
    const selected: number[] = [];
    for (let lane = 0; lane < batch * classes; lane++) {
      const image = Math.floor(lane / classes);
      const scored = scores.data.subarray(lane * count, (lane + 1) * count);
      // A score that is no number is below all others, and above no threshold.
      const order = [
        ...largestFirst(scored),
        ...upTo(count).filter((i) => Number.isNaN(scored[i])),
      ].filter((i) => least === undefined || scored[i] > least);
      const kept: Box[] = [];
      for (const i of order) {
        if (kept.length >= most) break;
        const box = boxAt(image, i);
        if (kept.some((other) => overlap(box, other) > limit)) continue;
        kept.push(box);
        selected.push(image, lane % classes, i);
      }
    }
    return [plainOf("int64", [selected.length / 3, 3], selected)];
  },
};

/** Columns of blocks, as a convolution reads them, back into an image; where blocks overlap, they add up. */
const Col2Im: PlainOperator = {
  since: [18],
  types: FLOATS,
  run: (inputs, attributes) => {
    const columns = floats(inputs, 0, "input");
    checkRank(0, "input", columns, 3, 3);
    const spatial = whole(inputs, 1, "image_shape");
    const kernel = whole(inputs, 2, "block_shape");
    const windows = windowsOf(attributes, spatial, kernel);
    const taps = tapsOf(windows);
    const [batch, width] = columns.dims;
    const channels = width / taps.length;
    const blocks = elementCount(windows.out);
    if (!Number.isInteger(channels)) {
      throw new RangeError(
        `${width} rows in blocks of ${describeShape(kernel)}`,
      );
    }
    checkDims(0, "input", columns, [batch, width, blocks]);
    const pixels = elementCount(spatial);
    const result = outputOf("float32", [batch, channels, ...spatial]);
    const sums = new Float64Array(result.data.length);
    for (let map = 0; map < batch * channels; map++) {
      taps.forEach((tap, k) => {
        const from = (map * taps.length + k) * blocks;
        for (let i = 0; i < blocks; i++) {
          if (tap[i] >= 0) {
            sums[map * pixels + tap[i]] += columns.data[from + i];
          }
        }
      });
    }
    result.data.set(sums);
    return [result];
  },
};

export const SAMPLINGS: Readonly<Record<string, PlainOperator>> = {
  GridSample,
  AffineGrid,
  RoiAlign,
  NonMaxSuppression,
  Col2Im,
};
