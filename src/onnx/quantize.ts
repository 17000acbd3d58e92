/** An ONNX file, from wherever it lies, with weights of bytes. */
import {
  type QuantizedFile,
  quantizeFile,
  type QuantizeOptions,
} from "./quantize/quantize_file.ts";
import { openSource, withFiles } from "./source.ts";

/**
 * An ONNX file whose products and convolutions have weights of int8: symmetric, with a scale for each output. What
 * they are multiplied with is quantised when a request runs, over that request alone. The file is for whoever reads
 * ONNX; it is written as ONNX Runtime's `quantize_dynamic` would, and all else of it stays as it was. Recurrent layers
 * stay float32, LSTMs unless `recurrent` is set.
 * @param source its bytes, or where it lies: a URL, or a path where there are files
 * @throws OnnxError naming the node when it is no model, or of operators that bytes cannot stand beside (before
 * operator set 11); TypeError on a source or an option that is none
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { loadOnnx, quantizeOnnx } from "@shoal/core/onnx";
 *
 * // Usually a path or a URL: y = x w, with x of any number of rows of 2.
 * const file = atob(
 *   "CAkSBmEgdGVzdDpjChEKAXgKAXcSAXkiBk1hdE11bBIFZ3JhcGgqGwgCCAIQAUoQAACAPwAAAEAAAEBAAACAQEIBd1oUCgF4" +
 *     "Eg8KDQgBEgkKAxIBTgoCCAJiFAoBeRIPCg0IARIJCgMSAU4KAggCQgQKABAU",
 * );
 * const { bytes, layers } = await quantizeOnnx(
 *   Uint8Array.from(file, (c) => c.charCodeAt(0)),
 * );
 * assert.deepEqual(layers.map(({ op, shape }) => [op, shape]), [
 *   ["MatMul", [2, 2]],
 * ]);
 * const model = await loadOnnx(bytes);
 * assert.deepEqual(model.inputs, [{ name: "x", dtype: "f32", shape: [1, 2] }]);
 * ```
 */
export async function quantizeOnnx(
  source: string | URL | Uint8Array | ArrayBuffer,
  options: QuantizeOptions = {},
): Promise<QuantizedFile> {
  const opened = await openSource(source);
  const { bytes, label } = opened;
  return withFiles(
    opened,
    (external) =>
      quantizeFile(new Uint8Array(bytes), { label, external }, options),
  );
}
