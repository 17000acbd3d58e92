/** How often heads of keys and values are repeated, each one after itself, for the heads of queries that share them. */
import { attributeOf, type OnnxNode } from "../ir.ts";

/** Operators that compute every element by itself, of it and one number at most. */
const BY_ELEMENT: ReadonlySet<string> = new Set([
  ...["Mul", "Div", "Add", "Sub", "Neg", "Cast", "Identity"],
]);

/** Operators that leave elements in their order. */
const VIEWS: ReadonlySet<string> = new Set([
  ...["Reshape", "Squeeze", "Unsqueeze"],
]);

/**
 * What a node makes of heads that are repeated `before` times, in front of the last two axes.
 * @param from sizes of what it reads, `to` of what it makes
 * @param isByNumber whether whatever else it reads is one number
 * @returns how often they are repeated then; 1 where that is not certain
 */
export function repeatsBehind(
  node: OnnxNode,
  before: number,
  { from, to, isByNumber }: {
    readonly from: readonly number[];
    readonly to: readonly number[];
    readonly isByNumber: boolean;
  },
): number {
  const { op } = node;
  if (BY_ELEMENT.has(op)) return isByNumber ? before : 1;
  if (VIEWS.has(op)) return before;
  if (op === "Transpose") {
    const perm = attributeOf(node, "perm", "ints") ?? [];
    const stay = perm.slice(0, -2).every((axis, i) => axis === i);
    return stay && perm.length === from.length ? before : 1;
  }
  if (op !== "Expand" || from.length !== to.length) return 1;
  // The axis in front of positions and elements of a head grows from 1.
  const at = to.length - 3;
  const isOne = to.every((size, axis) =>
    axis === at ? from[axis] === 1 : from[axis] === size
  );
  return isOne && before === 1 ? to[at] : 1;
}
