/**
 * Lengths of source and target sentences: from the histograms of real corpora, fixed, or clipped.
 * Source: Cellular Batching, sections 7.1, 7.3 (Fig. 10, 11) and 7.4.
 */
import { describe, shorten } from "../base/describe.ts";
import type { Prng } from "../base/prng.ts";
import type { Corpus, TaskLengths } from "./corpus.ts";
import { EUROPARL_V7_DE_EN } from "./corpora/europarl_v7_de_en.ts";
import { GLUE } from "./corpora/glue.ts";
import { MULTI30K_EN_DE } from "./corpora/multi30k_en_de.ts";
import { WMT15_EN_DE } from "./corpora/wmt15_en_de.ts";
import { WMT21_MT_EN_DE } from "./corpora/wmt21_mt_en_de.ts";
import { Histogram, JointHistogram } from "./histogram.ts";

/** Tokens of one text: hundreds of times the longest of any corpus here. */
const TOKENS_MAX = 65_536;

/** Tokens of a sentence and of its translation. */
export interface PairLengths {
  readonly source: number;
  readonly target: number;
}

export interface LengthSampler {
  readonly name: string;
  /** The side that models of one sentence take: the English one. */
  readonly english: "source" | "target";
  /** Texts without a translation: both lengths are one, and nothing can be decoded to the other. */
  readonly alone?: boolean;
  sample(prng: Prng): PairLengths;
}

/** Every corpus by name: one line adds one. The first is the paper's. */
export const CORPORA: Readonly<Record<string, Corpus>> = Object.fromEntries(
  [EUROPARL_V7_DE_EN, WMT15_EN_DE, MULTI30K_EN_DE, WMT21_MT_EN_DE].map((
    corpus,
  ) => [corpus.name, corpus]),
);

/** Every task of single texts by name, e.g. "glue.rte". */
export const TASKS: Readonly<Record<string, TaskLengths>> = Object.fromEntries(
  GLUE.map((task) => [task.name, task]),
);

/** @throws RangeError naming the corpora there are */
export function corpus(name: string): Corpus {
  const found = Object.hasOwn(CORPORA, name) ? CORPORA[name] : undefined;
  if (found === undefined) {
    throw new RangeError(
      `No corpus ${describe(name)}; there are ${
        [...Object.keys(CORPORA), ...Object.keys(TASKS)].join(", ")
      }`,
    );
  }
  return found;
}

/** Lengths of a task's inputs. */
function taskLengths({ name, counts }: TaskLengths): LengthSampler {
  const histogram = new Histogram(counts);
  return {
    name,
    english: "source",
    alone: true,
    sample(prng) {
      const tokens = histogram.sample(prng);
      return { source: tokens, target: tokens };
    },
  };
}

/** Lengths of a corpus's sentence pairs, source and target of one pair together, or of a task's inputs. */
export function corpusLengths(name: string): LengthSampler {
  if (Object.hasOwn(TASKS, name)) return taskLengths(TASKS[name]);
  const { english, counts } = corpus(name);
  const joint = new JointHistogram(counts);
  return {
    name,
    english,
    sample(prng) {
      const [source, target] = joint.sample(prng);
      return { source, target };
    },
  };
}

/** Every sentence and every translation is `tokens` long: no variance, nothing to pad. */
export function fixedLengths(tokens: number): LengthSampler {
  checkTokens("A fixed length", tokens);
  const pair = { source: tokens, target: tokens };
  return { name: `fixed ${tokens}`, english: "target", sample: () => pair };
}

/**
 * The pairs of a corpus of which neither side is longer than `max` tokens.
 * Assumption: "clipping the maximum sequence length" (Fig. 11) leaves longer sentences out; cutting
 * them short would pile them up at the maximum.
 * @throws RangeError when no pair is left
 */
export function clippedLengths(name: string, max: number): LengthSampler {
  checkTokens("A maximum length", max);
  const { english, alone } = corpusLengths(name);
  const kept: [number, number][] = [];
  for (const [source, target, count] of pairsOf(name)) {
    if (source <= max && target <= max) {
      for (let i = 0; i < count; i++) kept.push([source, target]);
    }
  }
  if (kept.length === 0) {
    throw new RangeError(
      `Corpus "${name}" has no pair of at most ${max} tokens`,
    );
  }
  return {
    name: `${name}, at most ${max}`,
    english,
    ...(alone && { alone }),
    sample(prng) {
      const [source, target] = kept[prng.int(kept.length)];
      return { source, target };
    },
  };
}

function* pairsOf(
  name: string,
): Generator<[source: number, target: number, count: number]> {
  if (!Object.hasOwn(TASKS, name)) {
    return yield* new JointHistogram(corpus(name).counts).entries();
  }
  for (const [tokens, count] of new Histogram(TASKS[name].counts).entries()) {
    yield [tokens, tokens, count];
  }
}

/** Lengths as a configuration names them. */
export type LengthsSpec =
  | string
  | { readonly corpus: string; readonly max?: number }
  | { readonly fixed: number };

/** @throws TypeError or RangeError naming what the configuration got wrong */
export function lengthSampler(spec: LengthsSpec): LengthSampler {
  if (typeof spec === "string") return corpusLengths(spec);
  if (typeof spec !== "object" || spec === null) {
    throw new TypeError(
      `Lengths are a corpus's name, { corpus, max } or { fixed }, got ${
        describe(spec)
      }`,
    );
  }
  const keys = Object.keys(spec).sort().join(", ");
  if ("fixed" in spec && keys === "fixed") return fixedLengths(spec.fixed);
  if ("corpus" in spec && keys === "corpus") return corpusLengths(spec.corpus);
  if ("corpus" in spec && keys === "corpus, max") {
    return clippedLengths(spec.corpus, spec.max!);
  }
  throw new TypeError(
    `Lengths are a corpus's name, { corpus, max } or { fixed }, got the keys ${
      shorten(keys) || "(none)"
    }`,
  );
}

function checkTokens(what: string, tokens: number): void {
  if (!Number.isInteger(tokens) || tokens < 1 || tokens > TOKENS_MAX) {
    throw new RangeError(
      `${what} is a positive integer of tokens up to ${TOKENS_MAX}, got ${
        describe(tokens)
      }`,
    );
  }
}
