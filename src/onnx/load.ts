/** An ONNX file, from wherever it lies, as a model that every policy batches. */
import {
  decoderModel,
  type DecoderModelOptions,
  type OnnxDecoder,
} from "./decoder/decoder_model.ts";
import type { ModelOptions, OnnxCellModel } from "./model.ts";
import { onnxModel } from "./model.ts";
import { readModel } from "./read/read_model.ts";
import { openSource } from "./source.ts";

/**
 * Loads an ONNX file and cuts it into cells.
 * @param source its bytes, or where it lies: a URL, or a path where there are files
 * @throws OnnxError naming node and attribute, or input and axis, when it is no model, or none that cells compute;
 * TypeError on a source or an option that is none
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, ServingEngine } from "@shoal/core";
 * import { loadOnnx } from "@shoal/core/onnx";
 *
 * // Usually a path or a URL: y = Relu(x), with x of any number of rows of 2.
 * const file = atob(
 *   "CAkSBmEgdGVzdDpDChIKAXgSAXkaBHJlbHUiBFJlbHUSAWdaFAoBeBIPCg0IARIJCgMSAW4K" +
 *     "AggCYhQKAXkSDwoNCAESCQoDEgFuCgIIAkIECgAQFA==",
 * );
 * const model = await loadOnnx(Uint8Array.from(file, (c) => c.charCodeAt(0)), {
 *   sizes: { n: 1 },
 * });
 * const engine = await ServingEngine.create({
 *   models: [model],
 *   policy: cellular(),
 *   workers: 0,
 * });
 * const { outputs } = await engine.run(model, { x: Float32Array.of(-1, 2) });
 * assert.deepEqual([...outputs.y.data], [0, 2]);
 * await engine.close();
 * ```
 */
export async function loadOnnx(
  source: string | URL | Uint8Array | ArrayBuffer,
  options?: ModelOptions,
): Promise<OnnxCellModel>;
/** Loads an ONNX file that is one step of a decoder, as a model whose requests grow token by token. */
export async function loadOnnx(
  source: string | URL | Uint8Array | ArrayBuffer,
  options: DecoderModelOptions,
): Promise<OnnxDecoder>;
export async function loadOnnx(
  source: string | URL | Uint8Array | ArrayBuffer,
  options: ModelOptions | DecoderModelOptions = {},
): Promise<OnnxCellModel | OnnxDecoder> {
  const { bytes, label, external } = await openSource(source);
  const file = readModel(bytes, { label, external });
  return "decoder" in options
    ? decoderModel(file, options)
    : onnxModel(file, options);
}
