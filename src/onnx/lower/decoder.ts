/** What a decoder's step has become besides ONNX's own operators: attention over caches, and rows of tables. */
import { elementCount, tensor } from "../../tensor/tensor.ts";
import type { NodeLowering } from "./lowered_node.ts";

/**
 * Heads of a query, one after the other, over a cache, to which the step's key and value are appended before where they
 * are given, and a bias by distance behind them. Of a prompt nobody may want more than that.
 */
const cacheAttention: NodeLowering = (view) => {
  const { op, around } = view;
  const row = (i: number) => {
    const { row, elements } = view.operand(i);
    return op.Reshape(row, [elements]);
  };
  const cache = around.cache(view.int("cache", 0));
  if (view.has(1)) op.CacheAppend(row(1), row(2), cache);
  if (!around.isRead(view.result)) return [];
  const bias = view.constant(3);
  return op.Attention(row(0), cache, {
    ...(bias && { bias: tensor(bias.dims, bias.data as Float32Array) }),
    cap: view.float("cap", 0),
    heads: view.int("heads", 1),
    kvHeads: view.int("kv_heads", 1),
    scale: view.float("scale", 1),
    causal: view.int("causal", 1) !== 0,
  });
};

/** The key and value of a position that an encoder saw. */
const cacheAppend: NodeLowering = (view) => {
  const [key, value] = [0, 1].map((i) => {
    const { row, elements } = view.operand(i);
    return view.op.Reshape(row, [elements]);
  });
  view.op.CacheAppend(key, value, view.around.cache(view.int("cache", 0)));
  return [];
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
