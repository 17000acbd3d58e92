/** Masks of what an encoder saw: they leave nothing out. */
import type { OnnxNode } from "../ir.ts";
import type { Positions } from "./positions.ts";

/** A mask that leaves no position out, as far as was looked. */
export interface BlankMask {
  readonly node: OnnxNode;
  readonly name: string;
  /** What all its elements are. */
  readonly blank: number;
}

/**
 * Looks at masks of what an encoder saw, of the first, the last, and around powers of two.
 * @returns the node whose mask leaves positions out, and of how many
 */
export function maskedSeen(
  masks: readonly BlankMask[],
  positions: Positions,
  most: number,
): { readonly node: OnnxNode; readonly of: number } | undefined {
  for (const { node, name, blank } of masks) {
    for (const before of sampled(most)) {
      const of = before + 1;
      const { dims, data } = positions.at(name, 0, of);
      const columns = dims.at(-1) ?? 1;
      const isBlank = (columns === 1 || columns === of) &&
        data.every((one) => Number(one) === blank);
      if (!isBlank) return { node, of };
    }
  }
  return undefined;
}

/** Numbers of positions before a step at which masks are looked at. */
export function sampled(positionsMax: number): number[] {
  const found = new Set([0, 1, 2, 3, positionsMax - 2, positionsMax - 1]);
  for (let power = 4; power < positionsMax; power *= 2) {
    for (const near of [-1, 0, 1]) found.add(power + near);
  }
  return [...found].filter((past) => past >= 0 && past < positionsMax)
    .sort((a, b) => a - b);
}
