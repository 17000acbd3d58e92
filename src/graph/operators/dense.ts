import { describeShape } from "../../base/describe.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type CellBody, shapeOf } from "../cell_body.ts";
import type { Value } from "../operator.ts";

/** Matrix products and tables. */
export interface DenseOperators {
  /**
   * Row `id`, an i32, of `table` [count, width]; a request whose id is not below count fails alone, with a
   * CellError.
   */
  Gather(table: Tensor, id: Value): Value;
  /** W x + b: weight W [n, k], x of k elements, bias b [n] (default none); n elements. ONNX Gemm with transB = 1. */
  Gemm(x: Value, weight: Tensor, bias?: Tensor): Value;
  /** Index of the largest element, one i32; the lowest index wins ties. */
  ArgMax(x: Value): Value;
}

export const denseOperators = (body: CellBody): DenseOperators => ({
  Gather(table, id) {
    body.own("the id of Gather", id);
    body.expect(
      id.dtype === "i32" && id.width === 1,
      `Gather takes one i32 id, got ${id.dtype}[${id.width}]`,
    );
    body.weight("Gather table", table);
    body.expect(
      table.shape.length === 2,
      `Gather takes a table of shape [count, width], got ${
        describeShape(table.shape)
      }`,
    );
    body.finite("Gather table", table);
    return body.emit({
      op: "Gather",
      table,
      inputs: [id],
      outputs: [body.declare("f32", table.shape[1])],
    });
  },

  Gemm(x, weight, bias) {
    body.float("Gemm", x);
    body.expect(
      x.image === undefined || x.image.channels === x.width,
      `Gemm of an image of ${shapeOf(x)}: it takes plain rows; ` +
        `Flatten it`,
    );
    body.weight("Gemm weight", weight);
    body.shape("Gemm weight", weight, [weight.shape[0], x.width]);
    if (bias) body.shape("Gemm bias", bias, [weight.shape[0]]);
    return body.emit({
      op: "Gemm",
      weight,
      ...(bias && { bias }),
      inputs: [x],
      outputs: [body.declare("f32", weight.shape[0])],
    });
  },

  ArgMax(x) {
    body.float("ArgMax", x);
    return body.emit({
      op: "ArgMax",
      inputs: [x],
      outputs: [body.declare("i32", 1)],
    });
  },
});
