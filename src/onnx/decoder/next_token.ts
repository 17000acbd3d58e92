/** The token of a decoder's step: that of the largest score, or one that is drawn. */
import type { Operators } from "../../graph/cell_builder.ts";
import type { Value } from "../../graph/operator.ts";
import { runPlain } from "../../plain/registry.ts";
import { tensor } from "../../tensor/tensor.ts";

/** What is added to scores of tokens that are never chosen, where nothing else changes scores. */
const BANNED = -1e30;

/** What tokens there are. */
interface Tokens {
  readonly vocabulary: number;
  /** Ids that are never chosen. */
  readonly banned: readonly number[];
}

/** A token, and, of who has penalties, the tokens so far and this one. */
interface NextToken {
  readonly next: Value;
  readonly history?: Value;
}

/** @param inputs of the step's cell: what SampleToken takes besides scores; without them the largest score is taken */
export function nextToken(
  op: Operators,
  logits: Value,
  { settings, draw, history, penalties }: Readonly<Record<string, Value>>,
  { vocabulary, banned }: Tokens,
): NextToken {
  const scores = () => op.Reshape(logits, [vocabulary]);
  if (settings === undefined) {
    if (banned.length === 0) return { next: op.Reshape(op.ArgMax(logits), []) };
    const data = new Float32Array(vocabulary);
    for (const id of banned) data[id] = BANNED;
    const left = op.Add(scores(), op.Constant(tensor([vocabulary], data)));
    return { next: op.Reshape(op.ArgMax(left), []) };
  }
  const handedOn = history && { dtype: "i32", dims: [history.width] } as const;
  const [next, after] = op.Plain({
    name: "SampleToken",
    opset: 1,
    attributes: new Map([["banned", { kind: "ints", value: banned }]]),
    inputs: [
      scores(),
      settings,
      draw,
      ...(history ? [history, penalties] : []),
    ],
    outputs: [{ dtype: "i32", dims: [] }, ...(handedOn ? [handedOn] : [])],
    run: runPlain,
  });
  return { next, ...(handedOn && { history: after }) };
}
