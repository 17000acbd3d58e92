import { describe, isList } from "../../base/describe.ts";
import {
  elementCount,
  isShape,
  type Tensor,
  tensor,
} from "../../tensor/tensor.ts";
import type { CellBody } from "../cell_body.ts";
import type { ImageSize, Value } from "../operator.ts";
import { axesOf, lastAxis, shapeOf } from "../row_layout.ts";

/** What only says where rows lie, or moves them; rows of f32 or i32. */
export interface RowOperators {
  /**
   * The rows one after the other, along the last axis; the others are the same. Images, all of one height and width,
   * along their channels.
   */
  Concat(...parts: Value[]): Value;
  /** Elements [start, end) of the last axis. */
  Slice(x: Value, start: number, end: number): Value;
  /**
   * The same elements in the same order, of other axes or an image of [height][width][channels]; costs nothing. An
   * image may be given axes, too.
   */
  Reshape(x: Value, to: readonly number[] | ImageSize): Value;
  /** Axis i of the result is axis `perm[i]` of x. */
  Transpose(x: Value, perm: readonly number[]): Value;
  /** A row that is the same for every request, given as numbers or as a tensor. */
  Constant(value: Tensor | readonly number[]): Value;
}

export const rowOperators = (body: CellBody): RowOperators => ({
  Concat(...parts) {
    body.words("Concat", ...parts);
    body.expect(parts.length > 0, "Concat takes at least one row");
    const stacks = parts.some(({ image }) => image);
    const before = (x: Value) => axesOf(x).slice(0, -1);
    body.expect(
      stacks || parts.every((part) => isShape(before(part), before(parts[0]))),
      `Concat of rows of ${parts.map(shapeOf).join(", ")} along the last axis`,
    );
    const last = parts.reduce((sum, part) => sum + lastAxis(part), 0);
    return body.emit({
      op: "Concat",
      inputs: parts,
      outputs: [
        stacks
          ? body.image(stacked(body, parts))
          : body.alongside(parts[0], parts[0].dtype, last),
      ],
    });
  },

  Slice(x, start, end) {
    body.words("Slice", x);
    body.expect(
      Number.isInteger(start) && Number.isInteger(end) &&
        start >= 0 && end > start && end <= lastAxis(x),
      `Slice [${start}, ${end}) of a row of ${lastAxis(x)}`,
    );
    return body.emit({
      op: "Slice",
      start,
      inputs: [x],
      outputs: [body.alongside(x, x.dtype, end - start)],
    });
  },

  Reshape(x, to) {
    body.own("the input of Reshape", x);
    const shape = isList(to) ? [...to] : undefined;
    const image = shape ? undefined : to as ImageSize;
    const sizes = shape ?? [image!.height, image!.width, image!.channels];
    body.expect(
      sizes.every((size) => Number.isInteger(size) && size >= 1) &&
        elementCount(sizes) === x.width,
      `Reshape of ${shapeOf(x)} elements to ${sizes.map(String).join(" x ")}`,
    );
    const { dtype, width } = x;
    const made = shape
      ? body.shaped(dtype, shape)
      : body.declare(dtype, width, { image: image! });
    body.expect(
      dtype !== "q8" || lastAxis(made) === lastAxis(x),
      `Reshape of quantised rows of ${lastAxis(x)} to ${shapeOf(made)}`,
    );
    return body.emit({ op: "Reshape", inputs: [x], outputs: [made] });
  },

  Transpose(x, perm) {
    body.words("Transpose", x);
    const axes = axesOf(x);
    const isPermutation = perm.length === axes.length &&
      axes.every((_, axis) => perm.includes(axis));
    body.expect(
      isPermutation && x.image === undefined,
      `Transpose of ${shapeOf(x)} by ${describe(perm)}`,
    );
    const shape = perm.map((axis) => axes[axis]);
    const moved = perm.filter((axis) => axes[axis] !== 1);
    const moves = moved.some((axis, i) => i > 0 && axis < moved[i - 1]);
    const outputs = [body.shaped(x.dtype, shape)];
    return body.emit(
      moves
        ? { op: "Transpose", perm: [...perm], inputs: [x], outputs }
        : { op: "Reshape", inputs: [x], outputs },
    );
  },

  Constant(value) {
    const isTensor = typeof value === "object" && value !== null &&
      "shape" in value;
    if (!isTensor && !isList(value) && !ArrayBuffer.isView(value)) {
      throw new TypeError(
        `Cell "${body.cell}": Constant takes numbers or a tensor, got ${
          describe(value)
        }`,
      );
    }
    body.expect(
      isTensor || value.length > 0,
      "Constant takes at least one number",
    );
    const row = isTensor
      ? value
      : tensor([value.length], Float32Array.from(value));
    body.weight("Constant", row);
    body.finite("Constant", row);
    return body.emit({
      op: "Constant",
      value: row,
      inputs: [],
      outputs: [
        row.shape.length > 1
          ? body.shaped("f32", row.shape)
          : body.declare("f32", elementCount(row.shape)),
      ],
    });
  },
});

/** Images on top of each other. */
function stacked(body: CellBody, parts: readonly Value[]): ImageSize {
  const { height, width } = parts[0].image ?? {};
  body.expect(
    parts.every(({ image }) =>
      image !== undefined && image.height === height && image.width === width
    ),
    `Concat of images of one height and width, got ${
      parts.map(shapeOf).join(", ")
    }; crop the larger ones (CenterCropPad)`,
  );
  const channels = parts.reduce((sum, { image }) => sum + image!.channels, 0);
  return { height: height!, width: width!, channels };
}
