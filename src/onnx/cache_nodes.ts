/** Nodes that a decoder's step has become and only lowerings know: attention over caches, and rows of tables. */
import type { OnnxNode } from "./ir.ts";

/** Domain of these. */
export const DECODER_DOMAIN = "shoal.decoder";

/** Whether a node is needed although nobody reads what it makes: it appends to a cache. */
export function appendsToCache({ op, domain, inputs }: OnnxNode): boolean {
  return domain === DECODER_DOMAIN &&
    (op === "CacheAppend" ||
      op === "CacheAttention" && (inputs[1] ?? "") !== "");
}
