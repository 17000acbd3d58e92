/** Attention between the rows of one request, whose number is known. */
import type { LoweredNode, NodeLowering } from "./lowered_node.ts";

const areFloats = ({ operands }: LoweredNode) =>
  operands.every(({ type, constant }) => type === "float32" && !constant);

/** ONNX's, without mask, past and softcap, of as many heads of keys as of queries or rows that hold all heads. */
export const attention: NodeLowering = (view) => {
  const { node: { inputs } } = view;
  const isSimple = inputs.slice(3).every((name) => name === "") &&
    [1, 2, 3].every((i) => !view.wants(i)) && view.float("softcap", 0) === 0;
  if (!isSimple || !areFloats(view)) return undefined;
  const [q, k, v] = [0, 1, 2].map((i) => view.operand(i));
  const isFlat = q.rank === 3;
  const heads = isFlat ? view.int("q_num_heads", 0) : 1;
  const kvHeads = isFlat ? view.int("kv_num_heads", 0) : 1;
  const causal = view.int("is_causal", 0) !== 0;
  const isAlike = k.dims.join() === v.dims.join() &&
    (isFlat || q.dims[1] === k.dims[1]) &&
    q.dims[q.rank - 1] * kvHeads === k.dims[k.rank - 1] * heads &&
    (!causal || q.dims[q.rank - 2] === k.dims[k.rank - 2]);
  if (!isAlike || heads < 1 || kvHeads < 1) return undefined;
  const scale = view.float("scale", NaN);
  return view.op.RowAttention(q.row, k.row, v.row, {
    ...{ heads, kvHeads, causal },
    ...(Number.isFinite(scale) && { scale }),
  });
};

/** Of one head, put together from its parts: rows [.., m, d], [.., n, d] and [.., n, d]. */
const fused: NodeLowering = (view) => {
  const [q, k, v] = [0, 1, 2].map((i) => view.operand(i).row);
  return view.op.RowAttention(q, k, v, {
    heads: 1,
    scale: view.float("scale", 1),
  });
};

export const FUSED_ATTENTION: Readonly<Record<string, NodeLowering>> = {
  Attention: fused,
};
