/**
 * Which positions an attention looks at, as the file computes it: all of them, or each those before it and itself.
 * A file says so by numbers that are added to scores, computed from what a request brings and from its length: they
 * are computed, and seen to be one of these, once when the model is loaded and of every request that brings another
 * mask than ones.
 */
import type { PlainTensor } from "../../tensor/plain_tensor.ts";
import { broadcastTo } from "../../plain/layout.ts";
import type { OnnxNode } from "../ir.ts";
import { type Place, quoted } from "../place.ts";
import {
  type AttentionParts,
  MASKED_SCORE,
  type MaskPart,
} from "./attention_parts.ts";
import type { HostValues, RequestValues } from "./host_values.ts";

/** Length of the request that tells kinds of masks apart. */
const PROBE = 3;

/** A mask with what it has to be. */
interface Expected {
  readonly mask: MaskPart;
  readonly node: OnnxNode;
  readonly isCausal: boolean;
  /** Inputs that it depends on. */
  readonly inputs: readonly string[];
  /** Lengths at which it was right for inputs that are all 1. */
  readonly lengths: Set<number>;
}

export class Masks {
  readonly #expected: Expected[] = [];

  constructor(
    readonly host: HostValues,
    readonly place: Place,
  ) {}

  /**
   * Whether a position looks at those before it alone.
   * @throws OnnxError when masks say anything else than that or all
   */
  isCausal({ masks, nodes, isCausal }: AttentionParts): boolean {
    const node = nodes.at(-1)!;
    const found = masks.map((mask) => {
      const causal = this.#kindOf(mask, node);
      const inputs = [...this.host.inputsOf(mask.name)];
      const expected = {
        ...{ mask, node, isCausal: causal, inputs },
        lengths: new Set<number>(),
      };
      const isSame = ({ mask: { name, kind } }: Expected) =>
        name === mask.name && kind === mask.kind;
      if (!this.#expected.some(isSame)) this.#expected.push(expected);
      return causal;
    });
    return isCausal || found.includes(true);
  }

  /** @throws RangeError when a request masks positions by itself */
  check(values: RequestValues, length: number): void {
    for (const { mask, isCausal, inputs, lengths } of this.#expected) {
      const areOnes = inputs.every((name) => isOnes(values(name)));
      if (areOnes && lengths.has(length)) continue;
      const seen = seenBy(values(mask.name), mask.kind, length);
      if (seen !== (isCausal && length > 1 ? "before" : "all")) {
        if (length === 1 && seen === "all") continue;
        if (areOnes) {
          throw new RangeError(
            `of ${length} ${quoted(this.host.free.name)} ${
              quoted(mask.name)
            } looks at some only, as a window does: fewer, or a model whose length is given by sizes`,
          );
        }
        throw new RangeError(
          `the request masks positions by ${
            inputs.map(quoted).join(", ") || quoted(mask.name)
          }: it brings its own positions alone, without padding, and ones where a mask is asked for`,
        );
      }
      if (areOnes) lengths.add(length);
    }
  }

  #kindOf(mask: MaskPart, node: OnnxNode): boolean {
    const length = Math.min(PROBE, this.host.free.max);
    const values = this.host.sample(length, 1);
    let seen: Seen | undefined;
    try {
      seen = seenBy(values(mask.name), mask.kind, length);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
    if (seen !== undefined) return seen === "before";
    const { name } = this.host.free;
    return this.place.node(node).fail(({ sizes }) =>
      `${quoted(name)} cannot stay free: ${
        quoted(mask.name)
      } changes scores of attention otherwise than by leaving out positions behind, where inputs are all 1; ` +
      `give its size instead, ${sizes(name)}`
    );
  }
}

type Seen = "all" | "before";

/** What [.., length, length] of a mask lets positions look at; undefined for anything else. */
function seenBy(
  mask: PlainTensor,
  kind: MaskPart["kind"],
  length: number,
): Seen | undefined {
  const { dims } = mask;
  const rank = Math.max(2, dims.length);
  const axes = [...new Array(rank - dims.length).fill(1), ...dims];
  const wide = [...axes.slice(0, -2), length, length];
  const { data } = broadcastTo(mask, wide);
  let isAll = true;
  let isBefore = true;
  for (let at = 0; at < data.length;) {
    for (let row = 0; row < length; row++) {
      for (let column = 0; column < length; column++) {
        const value = Number(data[at++]);
        const isSeen = kind === "add"
          ? value === 0
          : (value !== 0) === (kind === "keep");
        if (kind === "add" && !isSeen && !(value <= MASKED_SCORE)) {
          return undefined;
        }
        isAll &&= isSeen;
        isBefore &&= isSeen === column <= row;
      }
    }
  }
  return isAll ? "all" : isBefore ? "before" : undefined;
}

function isOnes({ data }: PlainTensor): boolean {
  for (let i = 0; i < data.length; i++) {
    if (Number(data[i]) !== 1) return false;
  }
  return true;
}
