/** Scores of an attention in a decoder's step, one for each position: what nodes make of them until softmax. */
import { attributeOf, type OnnxNode } from "../ir.ts";
import type { KnownValue } from "../known_value.ts";
import type { Positions } from "./positions.ts";
import { NEVER_SEEN, type ScoreTerm } from "./score_bias.ts";
import type { CacheState } from "./step_file.ts";
import type { StepNodes } from "./step_nodes.ts";

/** By position along `axis`; of the new one `fresh`, of size 1 along the axis. */
export interface PositionsOf {
  readonly kind: "positions";
  /** What grows; null: nothing does, they are of what an encoder saw, and each is `fresh` in its turn. */
  readonly state: CacheState | null;
  readonly axis: number;
  readonly fresh: string;
  /** How often each head is repeated, one after the other. */
  readonly repeats: number;
}

/** One score for each position, along the last axis; behind a softmax shares of 1. */
export interface Scores {
  readonly kind: "scores" | "shares";
  readonly query: string;
  readonly keys: PositionsOf;
  readonly scale: number;
  /** Behind Tanh: what its results have been multiplied by; 0: there was none. */
  readonly cap: number;
  readonly terms: readonly ScoreTerm[];
}

/** What a value that grows is. */
export type Grown =
  | { readonly kind: "past"; readonly state: CacheState }
  | PositionsOf
  | Scores
  /** Whether a share is no number: it never is. */
  | { readonly kind: "never" };

/** What is known where scores are looked at. */
export interface ScoreContext {
  readonly grown: ReadonlyMap<string, Grown>;
  readonly known: ReadonlyMap<string, KnownValue>;
  readonly made: StepNodes;
  readonly positions: Positions;
}

/** What stands in place of scores of positions that are left out: no share is left of e to the power of it. */
const REPLACED_MOST = -1e4;

/** What becomes of scores, or of shares, in a node; undefined where they are none any more. */
export function scored(
  node: OnnxNode,
  { grown, known, made, positions }: ScoreContext,
): Grown | undefined {
  const dims = (name: string) => known.get(name)!.dims;
  const { op, inputs } = node;
  const from = inputs.map((name) => grown.get(name));
  const at = from.findIndex((one) =>
    one?.kind === "scores" || one?.kind === "shares"
  );
  const scores = from[at];
  const isAlone = from.every((one, i) =>
    one === undefined || i === at || one.kind === "never"
  );
  if (scores?.kind !== "scores" && scores?.kind !== "shares") {
    return undefined;
  }
  if (!isAlone) return undefined;
  const rank = dims(inputs[at]).length;
  const isScores = scores.kind === "scores";
  const isSeen = scores.keys.state === null;
  /** What is known whatever the token becomes the scores' bias; of what an encoder saw it is none. */
  const withTerm = (
    name: string,
    blank: number,
    termOf: (
      known: { node: OnnxNode; name: string; lead: number[] },
    ) => ScoreTerm,
  ): Scores | undefined => {
    if (!isScores || !positions.isKnown(name)) return undefined;
    if (isSeen) {
      return made.isBlank(node, name, blank, blank) ? scores : undefined;
    }
    const [output] = node.outputs;
    const lead = dims(output).slice(0, -1);
    const term = termOf({ node, name, lead });
    return { ...scores, terms: [...scores.terms, term] };
  };
  switch (op) {
    case "Mul":
    case "Div": {
      const factor = made.number(inputs[1 - at]);
      const isFactor = factor !== undefined && (op === "Mul" || at === 0);
      if (!isScores || !isFactor) return undefined;
      return scaled(scores, op === "Mul" ? factor : 1 / factor);
    }
    case "Tanh":
      return isScores && scores.cap === 0 && scores.terms.length === 0
        ? { ...scores, cap: 1 }
        : undefined;
    case "Add":
      return withTerm(
        inputs[1 - at],
        0,
        (value) => ({ kind: "added", ...value, factor: 1 }),
      );
    case "Max":
      return isScores && inputs.length === 2 &&
          (made.number(inputs[1 - at]) ?? 0) <= NEVER_SEEN
        ? scores
        : undefined;
    case "Where": {
      if (at === 0) return undefined;
      if (from[0]?.kind === "never") return at === 2 ? scores : undefined;
      // Where no position is left out nothing is read of what stands for it.
      const other = made.number(inputs[3 - at]) ?? 0;
      return withTerm(inputs[0], at === 1 ? 1 : 0, (value) => ({
        ...{ kind: "mask", ...value, leaves: at === 2 },
        isReplaced: other > REPLACED_MOST,
      }));
    }
    case "IsNaN":
      return { kind: "never" };
    case "Softmax": {
      const axis = attributeOf(node, "axis", "int") ??
        (node.version < 13 ? 1 : -1);
      const isLast = axis === -1 || axis === rank - 1;
      return isScores && isLast ? { ...scores, kind: "shares" } : undefined;
    }
    case "Identity":
      return scores;
    case "Reshape":
    case "Squeeze":
    case "Unsqueeze": {
      const [output] = node.outputs;
      const axes = isSeen
        ? positions.grownSeen(output)
        : positions.grown(output);
      const last = dims(output).length - 1;
      return axes.length === 1 && axes[0] === last ? scores : undefined;
    }
  }
  return undefined;
}

/** Scores times a number: what was added to them is, too. */
function scaled(scores: Scores, factor: number): Scores | undefined {
  const { cap, terms } = scores;
  if (cap === 0) {
    return {
      ...scores,
      scale: scores.scale * factor,
      terms: terms.map((term) =>
        term.kind === "added" ? { ...term, factor: term.factor * factor } : term
      ),
    };
  }
  // Of what is capped the factor is the cap.
  return factor > 0 && terms.length === 0
    ? { ...scores, cap: cap * factor }
    : undefined;
}
