/**
 * Inputs of requests: token ids uniform below the vocabulary, lengths and shapes from samplers, images, and frames of
 * utterances.
 */
import { describe } from "../base/describe.ts";
import { Prng } from "../base/prng.ts";
import type { InputKind } from "../graph/model.ts";
import type { ImageSize } from "../graph/operator.ts";
import type { InputGenerator } from "./input_generator.ts";
import {
  type LengthSampler,
  lengthSampler,
  type LengthsSpec,
} from "./lengths.ts";
import { treeSampler, type TreesSpec } from "./trees.ts";

export interface InputOptions {
  kind: InputKind;
  /** Token ids are below this. Needed except for "image" and frames. */
  vocabulary?: number;
  /**
   * For "tokens" and "seq2seq", default "europarl-v7.de-en", the corpus of Cellular Batching; for frames, the
   * tokens that are spoken, default "glue.cola".
   */
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
  /** For "frames" and "frames2seq": numbers of a frame (`Model.frameSize`). */
  frameSize?: number | undefined;
}

/** Different images in a workload, and sources of frames. */
const IMAGES = 16;

/**
 * Frames and characters of a token of text that is spoken.
 * Assumption: utterances vary as the lengths of short sentences do, since no corpus of speech is at hand; those of
 * "glue.cola", with a mean of 11.33 tokens, then have the mean of Listen, Attend and Spell's 3 million utterances and
 * 2000 hours: 240 frames of 10 ms, with 14 characters a second.
 */
const FRAMES_PER_TOKEN = 21;
const CHARACTERS_PER_TOKEN = 3;

export const DEFAULT_LENGTHS = "europarl-v7.de-en";
export const DEFAULT_SPEECH = "glue.cola";
export const DEFAULT_TREES = "sst";
export const DEFAULT_EXTRA_STEPS = 50;

/**
 * "tokens" gives `{ tokens }` as long as the corpus's English side; "seq2seq" gives
 * `{ tokens, maxSteps }` with the source's length, and ends after the target's; "tree" gives `{ tree }`,
 * "image" `{ image }`; "frames" gives `{ frames }` of an utterance, "frames2seq" `{ frames, maxSteps }` and ends after
 * as many characters as it has.
 */
export function inputGenerator(options: InputOptions): InputGenerator {
  const { kind, vocabulary = NaN } = options;
  if (kind === "image") return imageInputs(options.image);
  if (kind === "frames" || kind === "frames2seq") {
    return frameInputs(kind, options);
  }
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
        `A workload's "kind" is tokens, seq2seq, tree, image, frames or frames2seq, got ${
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
  checkExtraSteps(extraSteps);
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

function checkExtraSteps(extraSteps: number): void {
  if (Number.isInteger(extraSteps) && extraSteps >= 0) return;
  throw new RangeError(
    `"extraSteps" of a workload is an integer from 0, got ${
      describe(extraSteps)
    }`,
  );
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
  const imageOf = sharedNumbers("image");
  const numbers = height * width * channels;
  return {
    name: `images of ${height} x ${width} x ${channels}`,
    next: (prng) => ({
      input: { image: imageOf(prng.int(IMAGES), numbers) },
    }),
  };
}

/**
 * Frames of numbers uniform in [-1, 1), the first of one of IMAGES recordings, for the same reasons as images.
 * `extraSteps` is what a decoder may take beyond its characters.
 */
function frameInputs(
  kind: "frames" | "frames2seq",
  { frameSize, extraSteps = DEFAULT_EXTRA_STEPS, ...options }: InputOptions,
): InputGenerator {
  if (frameSize === undefined) {
    throw new RangeError(
      `A workload of frames needs their size: give "frameSize" as the model does`,
    );
  }
  checkExtraSteps(extraSteps);
  const lengths = lengthSampler(options.lengths ?? DEFAULT_SPEECH);
  const framesOf = sharedNumbers("frames");
  return {
    name: `${lengths.name}, spoken`,
    next(prng) {
      const tokens = lengths.sample(prng)[lengths.english];
      const numbers = tokens * FRAMES_PER_TOKEN * frameSize;
      const frames = framesOf(prng.int(IMAGES), numbers);
      if (kind === "frames") return { input: { frames } };
      const characters = tokens * CHARACTERS_PER_TOKEN;
      const maxSteps = characters + extraSteps;
      return { input: { frames, maxSteps }, stepsFixed: characters };
    },
  };
}

/** Lists of random numbers; shorter ones of a number are views of the longest. */
function sharedNumbers(
  name: string,
): (number: number, length: number) => Float32Array {
  const lists = new Map<number, Float32Array>();
  return (number, length) => {
    let list = lists.get(number);
    if (list === undefined || list.length < length) {
      const prng = new Prng(number).fork(name);
      list = Float32Array.from({ length }, () => 2 * prng.float() - 1);
      lists.set(number, list);
    }
    return list.length === length ? list : list.subarray(0, length);
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
