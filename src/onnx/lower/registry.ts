/** What nodes become operators of cells, by ONNX operator; the others run in plain TypeScript. */
import { DECODER_DOMAIN } from "../cache_nodes.ts";
import { ATTENTION_DOMAIN, CONTRIB_DOMAIN } from "../domains.ts";
import { attention, FUSED_ATTENTION } from "./attention.ts";
import { BLOCKS } from "./blocks.ts";
import { DECODERS } from "./decoder.ts";
import { DENSE } from "./dense.ts";
import { ELEMENTWISE } from "./elementwise.ts";
import { GROUP_NORMS } from "./group_norm.ts";
import { IMAGES } from "./images.ts";
import { QUANTIZED_DOMAIN } from "../quantized_bytes.ts";
import type { NodeLowering } from "./lowered_node.ts";
import { MOVES } from "./moves.ts";
import { FUSED_QUANTIZED, QUANTIZED } from "./quantized.ts";
import { CONTRIB_RECURRENT, RECURRENT } from "./recurrent.ts";
import { RESIZES } from "./resize.ts";
import { SIGNALS } from "./signals.ts";
import { SEQUENCE, SEQUENCE_DOMAIN } from "./sequence.ts";
import { REDUCTIONS } from "./reductions.ts";

/** Of ONNX's own domain, by name. */
export const LOWERINGS: Readonly<Record<string, NodeLowering>> = {
  ...ELEMENTWISE,
  ...DENSE,
  ...IMAGES,
  ...RESIZES,
  ...GROUP_NORMS,
  ...MOVES,
  ...BLOCKS,
  ...REDUCTIONS,
  ...RECURRENT,
  ...SIGNALS,
  ...QUANTIZED,
  Attention: attention,
};

const DOMAINS: Readonly<
  Record<string, Readonly<Record<string, NodeLowering>>>
> = {
  "": LOWERINGS,
  [CONTRIB_DOMAIN]: CONTRIB_RECURRENT,
  [QUANTIZED_DOMAIN]: FUSED_QUANTIZED,
  [DECODER_DOMAIN]: DECODERS,
  [SEQUENCE_DOMAIN]: SEQUENCE,
  [ATTENTION_DOMAIN]: FUSED_ATTENTION,
};

/** The lowering of an operator, if there is one. */
export function loweringOf(
  op: string,
  domain: string,
): NodeLowering | undefined {
  const found = Object.hasOwn(DOMAINS, domain) ? DOMAINS[domain] : {};
  return Object.hasOwn(found, op) ? found[op] : undefined;
}
