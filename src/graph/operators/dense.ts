import { describe, describeShape } from "../../base/describe.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { CellBody } from "../cell_body.ts";
import type { Value } from "../operator.ts";
import { lastAxis, shapeOf } from "../row_layout.ts";
import { matrixProduct } from "./matrix_product.ts";

/** Matrix products and tables. */
export interface DenseOperators {
  /**
   * Row `id`, an i32, of `table` [count, width], or the rows of as many ids as there are; a request with an id that is
   * not below count fails alone, with a CellError.
   */
  Gather(table: Tensor, id: Value): Value;
  /**
   * W x + b for every row of k elements of x: weight W [n, k], bias b [n] (default none); n elements each. ONNX Gemm
   * with transB = 1.
   */
  Gemm(x: Value, weight: Tensor, bias?: Tensor): Value;
  /**
   * a b, both of the request: a [.., m, k], b [.., k, n] ([.., n, k] if `transposed`), [.., m, n]. Axes in front are
   * the same, or b has none.
   */
  MatMul(a: Value, b: Value, options?: { transposed?: boolean }): Value;
  /** Index of the largest element of the last axis, i32; the lowest index wins ties. */
  ArgMax(x: Value): Value;
  /**
   * The k largest elements of the last axis, or with `largest` false the smallest, best first, and their indices
   * (i32); the lower index stands first among equals, NaN last.
   */
  TopK(
    x: Value,
    k: number,
    options?: { largest?: boolean },
  ): { values: Value; ids: Value };
}

export const denseOperators = (body: CellBody): DenseOperators => ({
  Gather(table, id) {
    body.own("the id of Gather", id);
    body.expect(
      id.dtype === "i32" && (id.width === 1 || id.shape !== undefined),
      `Gather takes one i32 id, or axes of them, got ${id.dtype}[${id.width}]`,
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
      outputs: [
        id.shape
          ? body.shaped("f32", [...id.shape, table.shape[1]])
          : body.declare("f32", table.shape[1]),
      ],
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
    body.shape("Gemm weight", weight, [weight.shape[0], lastAxis(x)]);
    if (bias) body.shape("Gemm bias", bias, [weight.shape[0]]);
    return body.emit({
      op: "Gemm",
      weight,
      ...(bias && { bias }),
      inputs: [x],
      outputs: [body.alongside(x, "f32", weight.shape[0])],
    });
  },

  MatMul(a, b, { transposed = false } = {}) {
    body.float("MatMul", a, b);
    const { m, n, before } = matrixProduct(body, "MatMul", [a, b], transposed);
    return body.emit({
      op: "MatMul",
      transposed,
      inputs: [a, b],
      outputs: [body.shaped("f32", [...before, m, n])],
    });
  },

  ArgMax(x) {
    body.float("ArgMax", x);
    return body.emit({
      op: "ArgMax",
      inputs: [x],
      outputs: [body.alongside(x, "i32", 1)],
    });
  },

  TopK(x, k, { largest = true } = {}) {
    body.float("TopK", x);
    body.expect(
      x.image === undefined && Number.isInteger(k) && k >= 1 &&
        k <= lastAxis(x),
      `TopK of ${describe(k)} of ${shapeOf(x)} elements`,
    );
    const values = body.alongside(x, "f32", k);
    const ids = body.alongside(x, "i32", k);
    body.emit({ op: "TopK", largest, inputs: [x], outputs: [values, ids] });
    return { values, ids };
  },
});
