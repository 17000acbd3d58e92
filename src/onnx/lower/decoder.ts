/** What a decoder's step has become besides ONNX's own operators: attention over caches, and rows of tables. */
import { elementCount, tensor } from "../../tensor/tensor.ts";
import type { NodeLowering } from "./lowered_node.ts";

/** Domain of nodes that a decoder's step has become and only lowerings know. */
export const DECODER_DOMAIN = "shoal.decoder";

/** Key and value of the step's position become those of a cache. */
const cacheAppend: NodeLowering = (view) => {
  const cache = view.around.cache(view.int("cache", 0));
  const [k, v] = [0, 1].map((i) => view.operand(i));
  view.op.CacheAppend(
    view.op.Reshape(k.row, [k.elements]),
    view.op.Reshape(v.row, [v.elements]),
    cache,
  );
  return [];
};

/** Heads of a query, one after the other, over a cache. */
const cacheAttention: NodeLowering = (view) => {
  const q = view.operand();
  return view.op.Attention(
    view.op.Reshape(q.row, [q.elements]),
    view.around.cache(view.int("cache", 0)),
    {
      heads: view.int("heads", 1),
      kvHeads: view.int("kv_heads", 1),
      scale: view.float("scale", 1),
      causal: true,
    },
  );
};

/** Row of a constant by its number, an int32 that is none below 0. */
const tableRow: NodeLowering = (view) => {
  const table = view.constant(0)!;
  const [rows, ...rest] = table.dims;
  const data = table.data as Float32Array;
  return view.op.Gather(
    tensor([rows, elementCount(rest)], data),
    view.operand(1).row,
  );
};

export const DECODERS: Readonly<Record<string, NodeLowering>> = {
  CacheAppend: cacheAppend,
  CacheAttention: cacheAttention,
  TableRow: tableRow,
};
