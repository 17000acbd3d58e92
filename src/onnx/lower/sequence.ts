/** What only a sequence has of which the length is free: operators that no file has, of the graph of one position. */
import { elementCount, tensor } from "../../tensor/tensor.ts";
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";

/** Domain of these operators. */
export const SEQUENCE_DOMAIN = "shoal.sequence";

/** A value as one row. Of one position heads lie one behind the other, wherever the axis of positions stands. */
const flat = (view: LoweredNode, i: number) => {
  const { row, dims } = view.operand(i);
  return view.op.Reshape(row, [elementCount(dims)]);
};

/** Of queries, keys and values of a position, to all positions of the request. */
const attention: NodeLowering = (view) => {
  const scale = view.float("scale", NaN);
  return view.op.Attention(
    flat(view, 0),
    { k: flat(view, 1), v: flat(view, 2) },
    {
      heads: view.int("heads", 1),
      kvHeads: view.int("kvHeads", 1),
      ...(Number.isFinite(scale) && { scale }),
      causal: view.int("causal", 0) !== 0,
    },
  );
};

/** Rows of a constant, by ids that are known to be among them. */
const embedding: NodeLowering = (view) => {
  const rows = view.int("rows", 1);
  const data = view.constant(0)!.data as Float32Array;
  const table = tensor([rows, data.length / rows], data);
  return view.op.Gather(table, view.operand(1).row);
};

export const SEQUENCE: Readonly<Record<string, NodeLowering>> = {
  Attention: attention,
  Embedding: embedding,
};
