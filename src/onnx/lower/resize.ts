/** Images and signals of other sizes: the nearest pixels, or between two lines and two columns. */
import type { CoordinateMode, NearestMode } from "../../tensor/resize_axis.ts";
import { attributeOf } from "../ir.ts";
import { imageSizeOf } from "./operand.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";

/** How the kernels place what comes out in what goes in; undefined where they do not. */
interface Placement {
  readonly mode: "nearest" | "linear";
  readonly coordinates: CoordinateMode;
  readonly nearestMode: NearestMode;
}

const COORDINATES: ReadonlySet<string> = new Set<CoordinateMode>([
  ...["half_pixel", "pytorch_half_pixel"] as const,
  ...["asymmetric", "align_corners"] as const,
]);

const ROUNDED: ReadonlySet<string> = new Set<NearestMode>([
  ...["round_prefer_floor", "round_prefer_ceil"] as const,
  ...["floor", "ceil"] as const,
]);

function placement(view: LoweredNode): Placement | undefined {
  const mode = view.text("mode", "nearest");
  if (mode !== "nearest" && mode !== "linear") return undefined;
  // Before version 11, and of Upsample, an element lies at its place by the scale.
  if (view.node.op === "Upsample" || view.version < 11) {
    return { mode, coordinates: "asymmetric", nearestMode: "floor" };
  }
  const coordinates = view.text("coordinate_transformation_mode", "half_pixel");
  const nearestMode = view.text("nearest_mode", "round_prefer_floor");
  const isOther = view.int("antialias", 0) !== 0 ||
    view.int("exclude_outside", 0) !== 0;
  if (isOther || !COORDINATES.has(coordinates) || !ROUNDED.has(nearestMode)) {
    return undefined;
  }
  return {
    mode,
    coordinates: coordinates as CoordinateMode,
    nearestMode: nearestMode as NearestMode,
  };
}

/** By axis, what sizes are multiplied with as the file has it; undefined where that is not known before. */
function scalesOf(view: LoweredNode): readonly number[] | undefined {
  const from = view.operand().dims;
  const isUpsample = view.node.op === "Upsample";
  if (isUpsample && view.version < 9) {
    return attributeOf(view.node, "scales", "floats");
  }
  if (isUpsample || view.version < 11) return view.numbers(1);
  const listed = view.has(2) ? view.numbers(2) : [];
  if (!listed) return undefined;
  const isBySize = view.has(3) &&
    view.around.known(view.node.inputs[3]).dims[0] !== 0;
  // Both are refused where the operator runs.
  if (isBySize && listed.length > 0) return undefined;
  if (listed.length === 0) {
    // Of sizes, each by itself; a ratio that is common to them is not theirs.
    return view.text("keep_aspect_ratio_policy", "stretch") === "stretch"
      ? view.dims().map((size, axis) => size / from[axis])
      : undefined;
  }
  const axes = view.ints("axes")?.map((axis) => view.axis(axis)) ??
    from.map((_, axis) => axis);
  return from.map((_, axis) => listed[axes.indexOf(axis)] ?? 1);
}

const resize: NodeLowering = (view) => {
  const x = view.operand();
  const size = imageSizeOf(view.dims());
  const how = placement(view);
  const scales = how && scalesOf(view);
  if (!scales || !size || x.rank < 3 || x.imageSize === undefined) {
    return undefined;
  }
  const [images, channels, ...sides] = scales;
  if (images !== 1 || channels !== 1) return undefined;
  // Version 10 takes the next pixel along an axis that becomes smaller, the one before along others.
  const isMixed = view.version < 11 && how.mode === "nearest" &&
    sides.some((scale) => scale < 1);
  if (isMixed) return undefined;
  const [lines, columns] = [1, ...sides].slice(-2);
  return view.op.Resize(x.image, size.height, size.width, {
    ...how,
    scales: [lines, columns],
  });
};

export const RESIZES: Readonly<Record<string, NodeLowering>> = {
  Resize: resize,
  Upsample: resize,
};
