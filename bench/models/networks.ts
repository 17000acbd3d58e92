/** Whole networks that are timed, and what their requests bring. */
import type { Prng } from "../../src/base/prng.ts";
import type { Model } from "../../src/graph/model.ts";
import { bert } from "../../src/models/bert.ts";
import { gnmt } from "../../src/models/gnmt.ts";
import { resnet50 } from "../../src/models/resnet.ts";
import { transformer } from "../../src/models/transformer.ts";
import { unet } from "../../src/models/unet.ts";
import type { WeightSource } from "../../src/tensor/weights.ts";

/** A network at one size of requests. */
export interface Network {
  name: string;
  /** What a request is. */
  request: string;
  build(weights: WeightSource): Model;
  input(prng: Prng): unknown;
  /** Decoder steps of a request; 0: the network does not grow. */
  steps: number;
  /** Requests at once. */
  batches: readonly number[];
}

/** Tokens of a source, and steps of its translation. */
const TRANSLATED = 32;
/** GNMT's encoder runs token by token; it is not timed. */
const GNMT_SOURCE = 8;
const GNMT_STEPS = 16;

function image(
  prng: Prng,
  size: number,
  channels: number,
): { image: Float32Array } {
  const image = new Float32Array(size * size * channels);
  for (let i = 0; i < image.length; i++) image[i] = prng.float() * 2 - 1;
  return { image };
}

function tokens(prng: Prng, count: number, below: number): number[] {
  return Array.from({ length: count }, () => prng.int(below));
}

const bertOf = (count: number): Network => ({
  name: `BERT base, ${count} tokens`,
  request: `${count} tokens`,
  build: (weights) => bert({ weights }),
  input: (prng) => ({ tokens: tokens(prng, count, 30_522) }),
  steps: 0,
  batches: [1, 8],
});

/** All of them; sizes are the papers', but for U-Net's image. */
export const NETWORKS: readonly Network[] = [
  {
    name: "ResNet-50",
    request: "an image of 224 x 224",
    build: (weights) => resnet50({ weights }),
    input: (prng) => image(prng, 224, 3),
    steps: 0,
    batches: [1, 8],
  },
  bertOf(32),
  bertOf(128),
  {
    name: "GNMT step",
    request: `a step of ${GNMT_STEPS}, source of ${GNMT_SOURCE} tokens`,
    build: (weights) => gnmt({ weights, eos: null }),
    input: (prng) => ({
      tokens: tokens(prng, GNMT_SOURCE, 32_000),
      maxSteps: GNMT_STEPS,
    }),
    steps: GNMT_STEPS,
    batches: [1, 8],
  },
  {
    name: "Transformer step",
    request: `a step of ${TRANSLATED}, source of ${TRANSLATED} tokens`,
    build: (weights) => transformer({ weights, eos: null }),
    input: (prng) => ({
      tokens: tokens(prng, TRANSLATED, 37_000),
      maxSteps: TRANSLATED,
    }),
    steps: TRANSLATED,
    batches: [1, 8],
  },
  {
    name: "U-Net",
    request: "an image of 256 x 256, same padding",
    build: (weights) => unet({ weights, size: 256, padding: "same" }),
    input: (prng) => image(prng, 256, 1),
    steps: 0,
    batches: [1],
  },
];
