/** Requests of the evaluation: sentences, sentence pairs, trees. */
import type { Prng } from "../../../src/base/prng.ts";
import type { VirtualArrival } from "../../../src/engine/virtual/virtual_driver.ts";
import type { Model } from "../../../src/graph/model.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { seq2seq } from "../../../src/models/seq2seq.ts";
import { treeLstm } from "../../../src/models/tree_lstm.ts";
import { poisson } from "../../../src/workload/arrivals.ts";
import {
  clippedLengths,
  corpusLengths,
  fixedLengths,
  type LengthSampler,
} from "../../../src/workload/lengths.ts";
import type { InputGenerator } from "../../../src/workload/input_generator.ts";
import { treeSampler } from "../../../src/workload/trees.ts";
import { workload } from "../../../src/workload/workload.ts";

const EUROPARL = "europarl-v7.de-en";
/** What the sample of Europarl was cut at by its publisher, and the longest sentence (section 7.1). */
export const TAIL = { share: 0.01, from: 80, mean: 48, max: 330 };

/**
 * Europarl with the long sentences that its sample lacks. They make 33 buckets of 8.
 * Assumption: 1 % of the sentences are longer than the cut, by an exponential of mean 48 that ends at 330, so that
 * about 99 % (99.3) are shorter than 100, as Fig. 10 has it; source and translation are equally long there.
 */
export function withTail(): LengthSampler {
  const body = corpusLengths(EUROPARL);
  const beyond = (prng: Prng): number => {
    for (;;) {
      const tokens = TAIL.from + Math.ceil(prng.exponential(TAIL.mean));
      if (tokens <= TAIL.max) return tokens;
    }
  };
  return {
    name: "Europarl with a tail",
    english: body.english,
    sample(prng) {
      if (prng.float() >= TAIL.share) return body.sample(prng);
      const tokens = beyond(prng);
      return { source: tokens, target: tokens };
    },
  };
}

/** Lengths by the name that a point's key has. */
export const LENGTHS: Readonly<Record<string, () => LengthSampler>> = {
  "europarl": () => corpusLengths(EUROPARL),
  "europarl with a tail": withTail,
  "europarl, at most 50": () => clippedLengths(EUROPARL, 50),
  "europarl, at most 100": () => atMost(withTail(), 100),
  "fixed 24": () => fixedLengths(24),
  "fixed 20": () => fixedLengths(20),
};

function atMost(lengths: LengthSampler, max: number): LengthSampler {
  return {
    ...lengths,
    sample(prng) {
      for (;;) {
        const pair = lengths.sample(prng);
        if (pair.source <= max && pair.target <= max) return pair;
      }
    },
  };
}

/** Cells of hidden size 1: times come from the device, which has 1024. */
export const MODELS = {
  lstm: lstm({ hidden: 1, vocabulary: 1 }),
  seq2seq: seq2seq({ hidden: 1, sourceVocabulary: 3 }),
  tree: treeLstm({ hidden: 1, vocabulary: 1 }),
} as const;

export type ModelName = keyof typeof MODELS;

/** Steps that decoding may go on for beyond the source's length (section 7.4: "a fixed threshold"). */
const EXTRA_STEPS = 50;

function inputsOf(model: ModelName, data: string): InputGenerator {
  if (model === "tree") {
    const trees = treeSampler(data === "sst" ? data : { complete: 16 });
    return {
      name: data,
      next: (prng) => ({ input: { tree: trees.sample(prng, () => 0) } }),
    };
  }
  const lengths = LENGTHS[data]();
  const tokens = (length: number) => new Array<number>(length).fill(0);
  return {
    name: data,
    next(prng) {
      const pair = lengths.sample(prng);
      if (model === "lstm") {
        return { input: { tokens: tokens(pair[lengths.english]) } };
      }
      const maxSteps = pair.source + EXTRA_STEPS;
      return {
        input: { tokens: tokens(pair.source), maxSteps },
        stepsFixed: Math.min(pair.target, maxSteps),
      };
    },
  };
}

export interface RequestsSpec {
  readonly model: ModelName;
  /** A name of LENGTHS; "sst" or "complete 16" for trees. */
  readonly data: string;
  readonly ratePerS: number;
  readonly requests: number;
  readonly seed: number;
}

/** Poisson arrivals (section 7.1). */
export function requestsOf(
  { model, data, ratePerS, requests, seed }: RequestsSpec,
): VirtualArrival[] {
  return workload({
    arrivals: poisson({ ratePerS }),
    inputs: inputsOf(model, data),
    requests,
    seed,
  }).map(({ atNs, ...given }) => ({
    model: MODELS[model] as Model,
    arrivalNs: atNs,
    ...given,
  }));
}
