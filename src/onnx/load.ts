/** An ONNX file, from wherever it lies, as a model that every policy batches. */
import type { ModelOptions, OnnxCellModel } from "./model.ts";
import { onnxModel } from "./model.ts";
import { readModel } from "./read/read_model.ts";
import { openSource } from "./source.ts";

/**
 * Loads an ONNX file and cuts it into cells.
 * @param source its bytes, or where it lies: a URL, or a path where there are files
 * @throws OnnxError naming node and attribute when it is no model, or none that cells compute
 */
export async function loadOnnx(
  source: string | URL | Uint8Array | ArrayBuffer,
  options: ModelOptions = {},
): Promise<OnnxCellModel> {
  const { bytes, label, external } = await openSource(source);
  const file = readModel(bytes, { label, external });
  return onnxModel(file, options);
}
