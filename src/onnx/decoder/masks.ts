/** For how many positions a step's masks leave none of them out. */
import type { OnnxNode } from "../ir.ts";
import type { Positions } from "./positions.ts";

/** A mask that leaves no position out, as far as was looked. */
export interface BlankMask {
  readonly node: OnnxNode;
  readonly name: string;
  /** What all its elements are. */
  readonly blank: number;
  /** Whether it is of the positions that an encoder saw. */
  readonly isSeen: boolean;
}

/**
 * Looks at masks behind other numbers of positions: the first, the last, and around powers of two; where one begins to
 * leave positions out is found by halves.
 * @returns positions for which none of them does, up to `wanted`, and the node that is the reason for fewer
 */
export function positionsOfMasks(
  masks: readonly BlankMask[],
  positions: Positions,
  wanted: number,
): { readonly count: number; readonly by: OnnxNode | undefined } {
  let [count, by]: [number, OnnxNode | undefined] = [wanted, undefined];
  for (const { node, name, blank, isSeen } of masks) {
    if (isSeen) continue;
    const isBlank = (past: number) => {
      const { dims, data } = positions.at(name, past);
      const columns = dims.at(-1) ?? 1;
      return (columns === 1 || columns === past + 1) &&
        data.every((one) => Number(one) === blank);
    };
    let good = -1;
    for (const past of sampled(count)) {
      if (isBlank(past)) {
        good = past;
        continue;
      }
      let bad = past;
      while (bad - good > 1) {
        const middle = Math.floor((good + bad) / 2);
        if (isBlank(middle)) good = middle;
        else bad = middle;
      }
      [count, by] = [bad, node];
      break;
    }
  }
  return { count, by };
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
  for (const { node, name, blank, isSeen } of masks) {
    if (!isSeen) continue;
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
function sampled(positionsMax: number): number[] {
  const found = new Set([0, 1, 2, 3, positionsMax - 2, positionsMax - 1]);
  for (let power = 4; power < positionsMax; power *= 2) {
    for (const near of [-1, 0, 1]) found.add(power + near);
  }
  return [...found].filter((past) => past >= 0 && past < positionsMax)
    .sort((a, b) => a - b);
}
