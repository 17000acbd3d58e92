/** Requests of the Open Inference Protocol as its clients send them: tensors of ids as bytes behind the JSON. */
import { Buffer } from "node:buffer";
import type { Prng } from "../../src/base/prng.ts";
import { sampleText, type TextOptions } from "../../src/load/texts.ts";
import type { WireRequest } from "../../src/load/wire.ts";

/** What says where the JSON ends. */
export const HEADER_LENGTH = "inference-header-content-length";
/** Ids are below it, beyond those of special tokens. */
const IDS = [1000, 30_000] as const;
/** [CLS] and [SEP]. */
const SPECIAL_TOKENS = 2;

/** Requests to a BERT for its output "head", as long as tokenized texts are. */
export function oipRequests(
  { path, texts, prng, distinct }: {
    path: string;
    texts: TextOptions;
    prng: Prng;
    distinct: number;
  },
): WireRequest[] {
  const texting = prng.fork("texts");
  const filling = prng.fork("bodies");
  return Array.from({ length: distinct }, () => {
    const length = sampleText(texts, texting).tokens + SPECIAL_TOKENS;
    const tensors = {
      input_ids: BigInt64Array.from(
        { length },
        () => BigInt(IDS[0] + filling.int(IDS[1] - IDS[0])),
      ),
      attention_mask: new BigInt64Array(length).fill(1n),
      token_type_ids: new BigInt64Array(length),
    };
    const json = new TextEncoder().encode(JSON.stringify({
      inputs: Object.entries(tensors).map(([name, { byteLength }]) => ({
        ...{ name, datatype: "INT64", shape: [1, length] },
        parameters: { binary_data_size: byteLength },
      })),
      outputs: [{ name: "head", parameters: { binary_data: true } }],
    }));
    return {
      ...{ method: "POST", path },
      headers: {
        "content-type": "application/octet-stream",
        [HEADER_LENGTH]: `${json.length}`,
      },
      body: Buffer.concat([
        json,
        ...Object.values(tensors).map(({ buffer }) => new Uint8Array(buffer)),
      ]),
    };
  });
}
