/** Inputs of requests: token ids uniform below the vocabulary, lengths and shapes from samplers, images. */
import { describe } from "../base/describe.ts";
import { Prng } from "../base/prng.ts";
import type { InputKind } from "../graph/model.ts";
import type { ImageSize } from "../graph/operator.ts";
import {
  type LengthSampler,
  lengthSampler,
  type LengthsSpec,
} from "./lengths.ts";
import { treeSampler, type TreesSpec } from "./trees.ts";

/** A request's input, as the model takes it. */
export interface GeneratedInput {
  readonly input: unknown;
  /** Decoder steps after which the request ends; for the engine only, policies never see it. */
  readonly stepsFixed?: number;
}

export interface InputGenerator {
  /** Where lengths or shapes come from. */
  readonly name: string;
  next(prng: Prng): GeneratedInput;
}

export interface InputOptions {
  kind: InputKind;
  /** Token ids are below this. Needed except for "image". */
  vocabulary?: number;
  /** For "tokens" and "seq2seq"; default "europarl-v7.de-en", the corpus of Cellular Batching. */
  lengths?: LengthsSpec;
  /** For "tree"; default "sst". */
  trees?: TreesSpec;
  /**
   * For "seq2seq": decoder steps allowed beyond the source length; default 50 (Cellular Batching,
   * section 7.4: "input sequence length plus a fixed threshold of extra steps").
   * Assumption: the threshold's value, which the paper does not give.
   */
  extraSteps?: number;
  /** For "image": what the model's images are (`Model.image`). */
  image?: ImageSize | undefined;
}

/** Different images in a workload. */
const IMAGES = 16;

export const DEFAULT_LENGTHS = "europarl-v7.de-en";
export const DEFAULT_TREES = "sst";
export const DEFAULT_EXTRA_STEPS = 50;

/**
 * "tokens" gives `{ tokens }` as long as the corpus's English side; "seq2seq" gives
 * `{ tokens, maxSteps }` with the source's length, and ends after the target's; "tree" gives `{ tree }`,
 * "image" `{ image }`.
 */
export function inputGenerator(options: InputOptions): InputGenerator {
  const { kind, vocabulary = NaN } = options;
  if (kind === "image") return imageInputs(options.image);
  if (!Number.isInteger(vocabulary) || vocabulary < 1) {
    throw new RangeError(
      `"vocabulary" of a workload is a positive integer, got ${
        describe(vocabulary)
      }`,
    );
  }
  switch (kind) {
    case "tokens": {
      const lengths = lengthSampler(options.lengths ?? DEFAULT_LENGTHS);
      return {
        name: lengths.name,
        next: (prng) => ({
          input: {
            tokens: randomTokens(
              lengths.sample(prng)[lengths.english],
              vocabulary,
              prng,
            ),
          },
        }),
      };
    }
    case "seq2seq":
      return seq2seqInputs(
        lengthSampler(options.lengths ?? DEFAULT_LENGTHS),
        vocabulary,
        options.extraSteps ?? DEFAULT_EXTRA_STEPS,
      );
    case "tree": {
      const trees = treeSampler(options.trees ?? DEFAULT_TREES);
      return {
        name: trees.name,
        next: (prng) => ({
          input: { tree: trees.sample(prng, () => prng.int(vocabulary)) },
        }),
      };
    }
    default:
      throw new RangeError(
        `A workload's "kind" is tokens, seq2seq, tree or image, got ${
          describe(kind satisfies never)
        }`,
      );
  }
}

function seq2seqInputs(
  lengths: LengthSampler,
  vocabulary: number,
  extraSteps: number,
): InputGenerator {
  if (!Number.isInteger(extraSteps) || extraSteps < 0) {
    throw new RangeError(
      `"extraSteps" of a workload is an integer from 0, got ${
        describe(extraSteps)
      }`,
    );
  }
  if (lengths.alone) {
    throw new RangeError(
      `Lengths "${lengths.name}" are of texts without a translation; a "seq2seq" workload needs pairs`,
    );
  }
  return {
    name: lengths.name,
    next(prng) {
      const { source, target } = lengths.sample(prng);
      const maxSteps = source + extraSteps;
      return {
        input: { tokens: randomTokens(source, vocabulary, prng), maxSteps },
        stepsFixed: Math.min(target, maxSteps),
      };
    },
  };
}

/**
 * Pixels uniform in [-1, 1). Requests bring one of IMAGES images, the same for every seed: what a network
 * makes of its pixels takes the same time whatever they are, and thousands of images would not fit.
 */
function imageInputs(size: ImageSize | undefined): InputGenerator {
  if (size === undefined) {
    throw new RangeError(
      `A workload of images needs their size: give "image" as the model does`,
    );
  }
  const { height, width, channels } = size;
  const images = new Map<number, Float32Array>();
  const imageOf = (number: number): Float32Array => {
    let image = images.get(number);
    if (image === undefined) {
      const prng = new Prng(number).fork("image");
      image = Float32Array.from(
        { length: height * width * channels },
        () => 2 * prng.float() - 1,
      );
      images.set(number, image);
    }
    return image;
  };
  return {
    name: `images of ${height} x ${width} x ${channels}`,
    next: (prng) => ({ input: { image: imageOf(prng.int(IMAGES)) } }),
  };
}

function randomTokens(
  length: number,
  vocabulary: number,
  prng: Prng,
): number[] {
  const tokens = new Array<number>(length);
  for (let i = 0; i < length; i++) tokens[i] = prng.int(vocabulary);
  return tokens;
}
