/** An ONNX file, from wherever it lies, as a model that every policy batches. */
import {
  anything,
  checkedOptions,
  type Checks,
} from "../base/checked_options.ts";
import { describe } from "../base/describe.ts";
import {
  DECODER_CHECKS,
  decoderModel,
  type DecoderModelOptions,
  type OnnxDecoder,
} from "./decoder/decoder_model.ts";
import type { ModelOptions, OnnxCellModel, OnnxStreamModel } from "./model.ts";
import { MODEL_CHECKS, onnxModel } from "./model.ts";
import { readModel } from "./read/read_model.ts";
import { BYTES_MAX, openSource, withFiles } from "./source.ts";

/** How a file is fetched. */
export interface FetchOptions {
  /** Most bytes of a file that is fetched, and of each file beside it that has tensors; default 2^31. */
  readonly bytesMax?: number;
}

type AllOptions = ModelOptions & Partial<DecoderModelOptions> & FetchOptions;

/** All options, those of decoders and of others; whoever takes them checks them. */
const KNOWN = Object.fromEntries(
  Object.keys({ ...MODEL_CHECKS, ...DECODER_CHECKS, bytesMax: 0 })
    .map((name) => [name, anything]),
) as Checks<AllOptions>;

/**
 * Loads an ONNX file and cuts it into cells.
 * @param source its bytes, or where it lies: a URL, or a path where there are files
 * @throws OnnxError naming node and attribute, or input and axis, when it is no model, or none that cells compute;
 * TypeError on a source or an option that is none; Error when nothing can be read there, or more than `bytesMax`
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
  options: ModelOptions & FetchOptions & Required<Pick<ModelOptions, "states">>,
): Promise<OnnxStreamModel>;
/** Loads an ONNX file and cuts it into cells. */
export async function loadOnnx(
  source: string | URL | Uint8Array | ArrayBuffer,
  options?: ModelOptions & FetchOptions,
): Promise<OnnxCellModel>;
/**
 * Loads an ONNX file that is one step of a decoder, as a model whose requests grow token by token (docs/onnx.md).
 * @throws OnnxError naming what is no step of a decoder, or reads earlier positions in a way that is no attention to
 * all of them; TypeError or RangeError on a source or an option that is none
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { cellular, ServingEngine } from "@shoal/core";
 * import { loadOnnx } from "@shoal/core/onnx";
 *
 * // Usually a path or a URL: a head of attention, by which every token of four is followed by the next one.
 * const file = atob(
 *   "CAkSBmEgdGVzdDrXBAoZCgFlCglpbnB1dF9pZHMSAXgiBkdhdGhlcgoUCgF4CgFhEgFxIglVbnNxdWVlemUKLwoIcGFzdC5r" +
 *   "ZXkKAXESC3ByZXNlbnQua2V5IgZDb25jYXQqCwoEYXhpcxgCoAECCjMKCnBhc3QudmFsdWUKAXESDXByZXNlbnQudmFsdWUi" +
 *   "BkNvbmNhdCoLCgRheGlzGAKgAQIKLgoLcHJlc2VudC5rZXkSAWsiCVRyYW5zcG9zZSoRCgRwZXJtQABAAUADQAKgAQcKEQoB" +
 *   "cQoBaxIBcyIGTWF0TXVsCg8KAXMSAXAiB1NvZnRtYXgKHQoBcAoNcHJlc2VudC52YWx1ZRIBdiIGTWF0TXVsChIKAXYKAWES" +
 *   "AXkiB1NxdWVlemUKFgoBeQoBdxIGbG9naXRzIgZNYXRNdWwSAWcqKwgECAIQAUogAAAAQQAAAAAAAAAAAAAAQQAAAMEAAAAA" +
 *   "AAAAAAAAAMFCAWUqKwgCCAQQAUogAAAAAAAAgD8AAAAAAACAvwAAgL8AAAAAAACAPwAAAABCAXcqEQgBEAdKCAEAAAAAAAAA" +
 *   "QgFhWh8KCWlucHV0X2lkcxISChAIBxIMCgMSAW4KBRIDc2VxWicKCHBhc3Qua2V5EhsKGQgBEhUKAxIBbgoCCAEKBhIEcGFz" +
 *   "dAoCCAJaKQoKcGFzdC52YWx1ZRIbChkIARIVCgMSAW4KAggBCgYSBHBhc3QKAggCYg4KBmxvZ2l0cxIECgIIAWITCgtwcmVz" +
 *   "ZW50LmtleRIECgIIAWIVCg1wcmVzZW50LnZhbHVlEgQKAggBQgQKABAU",
 * );
 * const model = await loadOnnx(Uint8Array.from(file, (c) => c.charCodeAt(0)), {
 *   decoder: { stop: [3], positionsMax: 16 },
 * });
 * const engine = await ServingEngine.create({
 *   models: [model],
 *   policy: cellular(),
 *   workers: 0,
 * });
 * const prompts = [[0], [2, 3, 0], [2]];
 * const results = await Promise.all(
 *   prompts.map((tokens) => engine.run(model, { tokens, maxSteps: 8 })),
 * );
 * assert.deepEqual(
 *   results.map(({ outputs }) => [...outputs.tokens.data]),
 *   [[1, 2, 3], [1, 2, 3], [3]],
 * );
 * await engine.close();
 * ```
 */
export async function loadOnnx(
  source: string | URL | Uint8Array | ArrayBuffer,
  options: DecoderModelOptions & FetchOptions,
): Promise<OnnxDecoder>;
export async function loadOnnx(
  source: string | URL | Uint8Array | ArrayBuffer,
  options: (ModelOptions | DecoderModelOptions) & FetchOptions = {},
): Promise<OnnxCellModel | OnnxDecoder> {
  const { bytesMax = BYTES_MAX, ...others } = checkedOptions<AllOptions>(
    "loadOnnx",
    options,
    KNOWN,
  );
  if (!(Number.isInteger(bytesMax) && bytesMax > 0)) {
    throw new TypeError(
      `"bytesMax" of loadOnnx is a number of bytes, got ${describe(bytesMax)}`,
    );
  }
  const opened = await openSource(source, bytesMax);
  const { bytes, label } = opened;
  const file = await withFiles(
    opened,
    (external) => readModel(bytes, { label, external }),
  );
  const { decoder, ...common } = others;
  return decoder === undefined
    ? onnxModel(file, common)
    : decoderModel(file, { ...common, decoder });
}
