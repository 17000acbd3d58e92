import { describe, isList } from "../../base/describe.ts";
import { elementCount, type Tensor, tensor } from "../../tensor/tensor.ts";
import { type CellBody, shapeOf } from "../cell_body.ts";
import type { ImageSize, Value } from "../operator.ts";

/** What only says where rows lie. */
export interface RowOperators {
  /** The rows one after the other; images, all of one height and width, along their channels. */
  Concat(...parts: Value[]): Value;
  /** Elements [start, end) of a row. */
  Slice(x: Value, start: number, end: number): Value;
  /** A row that is the same for every request, given as numbers or as a tensor. */
  Constant(value: Tensor | readonly number[]): Value;
}

export const rowOperators = (body: CellBody): RowOperators => ({
  Concat(...parts) {
    body.float("Concat", ...parts);
    body.expect(parts.length > 0, "Concat takes at least one row");
    return body.emit({
      op: "Concat",
      inputs: parts,
      outputs: [
        parts.some(({ image }) => image)
          ? body.image(stacked(body, parts))
          : body.declare(
            "f32",
            parts.reduce((sum, { width }) => sum + width, 0),
          ),
      ],
    });
  },

  Slice(x, start, end) {
    body.float("Slice", x);
    body.expect(
      Number.isInteger(start) && Number.isInteger(end) &&
        start >= 0 && end > start && end <= x.width,
      `Slice [${start}, ${end}) of a row of ${x.width}`,
    );
    return body.emit({
      op: "Slice",
      start,
      inputs: [x],
      outputs: [body.declare("f32", end - start)],
    });
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
      outputs: [body.declare("f32", elementCount(row.shape))],
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
