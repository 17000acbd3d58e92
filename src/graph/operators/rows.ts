import { elementCount, type Tensor, tensor } from "../../tensor/tensor.ts";
import type { CellBody } from "../cell_body.ts";
import type { Value } from "../operator.ts";

/** What only says where rows lie. */
export interface RowOperators {
  /** The rows one after the other. */
  Concat(...parts: Value[]): Value;
  /** Elements [start, end). */
  Slice(x: Value, start: number, end: number): Value;
  /** A row given as numbers or as a tensor of one axis. */
  Constant(value: Tensor | readonly number[]): Value;
}

export const rowOperators = (body: CellBody): RowOperators => ({
  Concat(...parts) {
    body.float("Concat", ...parts);
    body.expect(parts.length > 0, "Concat takes at least one row");
    const width = parts.reduce((sum, part) => sum + part.width, 0);
    return body.emit({
      op: "Concat",
      inputs: parts,
      outputs: [body.declare("f32", width)],
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
    const count = "shape" in value ? value.data.length : value.length;
    body.expect(count > 0, "Constant takes at least one number");
    const row = "shape" in value
      ? value
      : tensor([count], Float32Array.from(value));
    body.finite("Constant", row);
    return body.emit({
      op: "Constant",
      value: row,
      inputs: [],
      outputs: [body.declare("f32", elementCount(row.shape))],
    });
  },
});
