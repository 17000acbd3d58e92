/** Rules of convolutions, pooling and resizing: [N, C, spatial...]. */
import { numbersOf } from "../../tensor/plain_tensor.ts";
import { resizedBy } from "../../tensor/resize_axis.ts";
import {
  addDims,
  ceilDivDims,
  type Dim,
  floorDivDims,
  minDims,
  multiplyDims,
  subtractDims,
} from "./dim.ts";
import type { NodeView, ShapeRule } from "./node_view.ts";
import { describeDims, type InferredValue } from "./value.ts";

/** A list of a number for each spatial axis. */
export function perAxis(
  view: NodeView,
  name: string,
  count: number,
  otherwise: number,
  least: number,
): readonly number[] {
  const given = view.ints(name) ?? Array<number>(count).fill(otherwise);
  if (given.length !== count || !given.every((one) => one >= least)) {
    view.at(name).fail(
      `it is [${given.join(", ")}], expected ${count} numbers from ${least}`,
    );
  }
  return given;
}

const AUTO_PADS = ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"];

function autoPad(view: NodeView): string {
  const found = view.text("auto_pad", "NOTSET");
  if (!AUTO_PADS.includes(found)) {
    view.at("auto_pad").fail(
      `it is ${JSON.stringify(found)}, expected ${AUTO_PADS.join(", ")}`,
    );
  }
  return found;
}

/**
 * Number of the last window that counts, though it may be cut off: not one that starts behind the image and its first
 * padding, of which, as in ONNX Runtime, one is left out at most.
 */
function lastOfCeil(inside: Dim, rest: number, stride: number): Dim {
  const last = ceilDivDims(addDims(inside, rest), stride);
  return rest > 0
    ? addDims(last, -1)
    : minDims(last, floorDivDims(addDims(inside, -1), stride));
}

/** Sizes of what comes out of windows over `spatial`. */
function slid(
  view: NodeView,
  spatial: readonly Dim[],
  kernel: readonly number[],
  isCeil = false,
): Dim[] {
  const rank = spatial.length;
  const strides = perAxis(view, "strides", rank, 1, 1);
  const dilations = perAxis(view, "dilations", rank, 1, 1);
  const pads = perAxis(view, "pads", 2 * rank, 0, 0);
  const mode = autoPad(view);
  if (kernel.length !== rank || !kernel.every((one) => one >= 1)) {
    view.place.fail(
      `a kernel of [${kernel.join(", ")}] over ${describeDims(spatial)}`,
    );
  }
  return spatial.map((size, axis) => {
    const stride = strides[axis];
    if (mode.startsWith("SAME")) return ceilDivDims(size, stride);
    const [before, after] = mode === "VALID"
      ? [0, 0]
      : [pads[axis], pads[axis + rank]];
    const reach = (kernel[axis] - 1) * dilations[axis] + 1;
    const room = addDims(size, before + after - reach);
    const out = isCeil && mode === "NOTSET"
      ? lastOfCeil(addDims(size, before), after - reach, stride)
      : floorDivDims(room, stride);
    if (typeof out === "number" && out < 0) {
      view.place.fail(
        `a kernel of [${kernel.join(", ")}] is larger than ${
          describeDims(spatial)
        } and its padding`,
      );
    }
    return addDims(out, 1);
  });
}

/** Sizes of a kernel, from the attribute or else the weight. */
function kernelOf(
  view: NodeView,
  weight: readonly Dim[] | null,
): readonly number[] | undefined {
  const given = view.ints("kernel_shape");
  const found = weight?.slice(2);
  if (!found?.every((size) => typeof size === "number")) return given;
  if (given && given.join() !== found.join()) {
    view.at("kernel_shape").fail(
      `it is [${given.join(", ")}], the weight's is ${describeDims(found)}`,
    );
  }
  return found;
}

function checkRank(view: NodeView, dims: readonly Dim[]): void {
  if (dims.length < 3) {
    view.place.fail(`${describeDims(dims)} has no spatial axes`);
  }
}

/** @param w input with the weight [M, C / group, kernel...] */
function convolved(view: NodeView, w: number): InferredValue["dims"] {
  const { first: { dims }, place } = view;
  const weight = view.input(w).dims;
  const kernel = kernelOf(view, weight);
  const rank = dims?.length ?? weight?.length;
  if (rank === undefined) return null;
  const out = weight?.[0] ?? view.unknown(1);
  if (dims === null || kernel === undefined) {
    return [dims?.[0] ?? view.unknown(0), out, ...view.unknowns(rank).slice(2)];
  }
  checkRank(view, dims);
  const group = view.int("group", 1);
  if (weight) {
    if (weight.length !== dims.length) {
      place.fail(
        `a weight of ${describeDims(weight)} over ${describeDims(dims)}`,
      );
    }
    const [channels, each] = [dims[1], weight[1]];
    if (
      typeof channels === "number" && typeof each === "number" &&
        channels !== each * group ||
      typeof out === "number" && out % group !== 0
    ) {
      place.fail(
        `a weight of ${describeDims(weight)} in ${group} groups over ${
          describeDims(dims)
        }`,
      );
    }
  }
  return [dims[0], out, ...slid(view, dims.slice(2), kernel)];
}

/** Weight [C, M / group, kernel...]. */
const convTranspose: ShapeRule = (view) => {
  const { first: { type, dims }, place } = view;
  const weight = view.input(1).dims;
  const kernel = kernelOf(view, weight);
  const out = weight?.[1] === undefined
    ? view.unknown(1)
    : multiplyDims(weight[1], view.int("group", 1));
  if (dims === null || kernel === undefined) {
    const rank = dims?.length ?? weight?.length;
    return [{
      type,
      dims: rank === undefined
        ? null
        : [dims?.[0] ?? view.unknown(0), out, ...view.unknowns(rank).slice(2)],
    }];
  }
  checkRank(view, dims);
  const spatial = dims.slice(2);
  const rank = spatial.length;
  if (weight && typeof weight[0] === "number" && typeof dims[1] === "number") {
    if (weight[0] !== dims[1] || weight.length !== dims.length) {
      place.fail(
        `a weight of ${describeDims(weight)} over ${describeDims(dims)}`,
      );
    }
  }
  const strides = perAxis(view, "strides", rank, 1, 1);
  const dilations = perAxis(view, "dilations", rank, 1, 1);
  const extra = perAxis(view, "output_padding", rank, 0, 0);
  const asked = view.ints("output_shape")?.slice(-rank);
  const mode = autoPad(view);
  const pads = perAxis(view, "pads", 2 * rank, 0, 0);
  if (kernel.length !== rank) place.fail(`a kernel of ${kernel.length} axes`);
  return [{
    type,
    dims: [
      dims[0],
      out,
      ...spatial.map((size, axis) => {
        const given = asked?.[axis];
        if (given !== undefined) return given;
        if (mode.startsWith("SAME")) return multiplyDims(size, strides[axis]);
        const reach = (kernel[axis] - 1) * dilations[axis] + 1;
        const padded = mode === "VALID" ? 0 : pads[axis] + pads[axis + rank];
        const all = addDims(
          multiplyDims(subtractDims(size, 1), strides[axis]),
          reach + extra[axis] - padded,
        );
        if (typeof all === "number" && all < 1) {
          place.fail(`nothing is left of ${describeDims(dims)}`);
        }
        return all;
      }),
    ],
  }];
};

/** @param hasIndices whether a second output says which element each is */
function pool(hasIndices: boolean): ShapeRule {
  return (view) => {
    const { first: { type, dims } } = view;
    const kernel = view.ints("kernel_shape") ??
      view.place.fail("it has no kernel_shape");
    if (dims === null) {
      const open = view.unknowns(kernel.length + 2);
      return [{ type, dims: open }, { type: "int64", dims: open }];
    }
    checkRank(view, dims);
    const result = [
      ...dims.slice(0, 2),
      ...slid(view, dims.slice(2), kernel, view.flag("ceil_mode")),
    ];
    return hasIndices
      ? [{ type, dims: result }, { type: "int64", dims: result }]
      : [{ type, dims: result }];
  };
}

const globalPool: ShapeRule = (view) => {
  const { first: { type, dims } } = view;
  if (dims === null) return [{ type, dims }];
  checkRank(view, dims);
  return [{ type, dims: dims.map((size, axis) => axis < 2 ? size : 1) }];
};

/** Factors of two are exact in f32; what is not is known where the size is. */
function scaled(size: Dim, scale: number): Dim | undefined {
  if (typeof size === "number") return resizedBy(size, scale);
  for (let denominator = 1; denominator <= 1024; denominator *= 2) {
    const numerator = scale * denominator;
    if (Number.isSafeInteger(numerator)) {
      return floorDivDims(multiplyDims(size, numerator), denominator);
    }
  }
  return undefined;
}

/** Of the part of an axis that a region of interest, where it is known, leaves. */
function cropped(
  size: Dim,
  scale: number,
  from: number | undefined,
  to: number | undefined,
): number | undefined {
  const isKnown = typeof size === "number" && from !== undefined &&
    to !== undefined;
  return isKnown ? resizedBy(size, scale, from, to) : undefined;
}

const resize: ShapeRule = (view) => {
  const { first: { type, dims }, node, place, version } = view;
  if (dims === null) return [{ type, dims }];
  const isUpsample = node.op === "Upsample";
  const scalesAt = isUpsample || version < 11 ? 1 : 2;
  const axes = version < 18
    ? undefined
    : view.ints("axes")?.map((axis) => view.axis(axis, dims.length));
  const along = axes ?? dims.map((_, axis) => axis);
  const constant = view.optional(scalesAt)?.constant;
  const scales = isUpsample && version < 9
    ? view.attribute("scales", "floats")
    : constant && numbersOf(constant);
  const sizesGiven = isUpsample || version < 11 ? undefined : view.optional(3);
  const isBySize = sizesGiven !== undefined && sizesGiven.dims?.[0] !== 0;
  const sizes = isBySize ? sizesGiven.elements : undefined;
  const given = isBySize ? sizes : scales;
  const result = [...dims];
  if (given === undefined) {
    along.forEach((axis) => result[axis] = view.unknown(axis));
    return [{ type, dims: result }];
  }
  if (given.length !== along.length) {
    place.fail(
      `${given.length} ${
        isBySize ? "sizes" : "scales"
      } for ${along.length} axes`,
    );
  }
  const policy = view.text("keep_aspect_ratio_policy", "stretch");
  if (isBySize && policy !== "stretch") {
    const pairs = along.map((axis, i) => [dims[axis], given[i]] as const);
    const known = pairs.flatMap(([from, to]) =>
      typeof from === "number" && typeof to === "number" ? [to / from] : []
    );
    const scale = policy === "not_larger"
      ? Math.min(...known)
      : Math.max(...known);
    along.forEach((axis) => {
      const size = dims[axis];
      result[axis] = known.length === along.length && typeof size === "number"
        // Halves go up.
        ? Math.floor(size * scale + 0.5)
        : view.unknown(axis);
    });
    return [{ type, dims: result }];
  }
  const isCrop = version >= 11 && !isUpsample &&
    view.text("coordinate_transformation_mode", "half_pixel") ===
      "tf_crop_and_resize";
  const region = isCrop ? view.optional(1)?.constant : undefined;
  const roi = region && numbersOf(region);
  along.forEach((axis, i) => {
    const [size, one] = [dims[axis], given[i]];
    result[axis] = (isBySize
      ? one
      : isCrop
      ? cropped(size, one as number, roi?.[i], roi?.[i + along.length])
      : scaled(size, one as number)) ?? view.unknown(axis);
  });
  const bad = result.find((size) => typeof size === "number" && !(size >= 0));
  if (bad !== undefined) place.fail(`a size of ${bad} is none`);
  return [{ type, dims: result }];
};

/** By name. */
export const IMAGES: Readonly<Record<string, ShapeRule>> = {
  Conv: (view) => {
    view.sameType(view.first, view.input(1), view.optional(2));
    return [{ type: view.type, dims: convolved(view, 1) }];
  },
  ConvInteger: (view) => [{ type: "int32", dims: convolved(view, 1) }],
  QLinearConv: (view) => [{
    type: view.input(7).type,
    dims: convolved(view, 3),
  }],
  ConvTranspose: convTranspose,
  MaxPool: pool(true),
  AveragePool: pool(false),
  LpPool: pool(false),
  GlobalAveragePool: globalPool,
  GlobalMaxPool: globalPool,
  GlobalLpPool: globalPool,
  Resize: resize,
  Upsample: resize,
};
