/** Random models, requests and policy options for property tests over the registries. */
import fc from "fast-check";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import { Prng } from "../../src/base/prng.ts";
import type { InputKind, Model } from "../../src/graph/model.ts";
import type { ImageSize } from "../../src/graph/operator.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import type { DrawInput, PenaltyInput } from "../../src/models/draw_input.ts";
import { MODELS } from "../../src/models/registry.ts";
import type { DrawingModel } from "../../src/models/token_draws.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { seededWeights } from "../../src/tensor/weights.ts";

/** Token ids are below this; see `ModelEntry.tries`. */
const VOCABULARY = 11;

/** Frames of an utterance; see `ModelEntry.tries`. */
const FRAMES = { min: 7, max: 15 };

/** One of the values of every option. */
function anyOf(
  values: Readonly<Record<string, readonly unknown[]>>,
): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(
    Object.fromEntries(
      Object.entries(values).map((
        [option, all],
      ) => [option, fc.constantFrom(...all)]),
    ),
  );
}

/** Options of a policy of the registry. */
export function anyOptions(
  policy: string,
): fc.Arbitrary<Record<string, unknown>> {
  return anyOf(POLICIES[policy].options);
}

/** Options of a model of the registry that make it small. */
export function anyModelOptions(
  model: string,
): fc.Arbitrary<Record<string, unknown>> {
  return fc.constantFrom(...MODELS[model].tries).chain(anyOf);
}

/** A model of random kind and size with random weights, and its name in the registry. */
export const anyModel: fc.Arbitrary<{ name: string; model: Model }> = fc
  .constantFrom(...Object.keys(MODELS)).chain((name) =>
    fc.tuple(anyModelOptions(name), fc.nat(1000)).map(([options, seed]) => ({
      name,
      model: MODELS[name].build({ ...options, weights: seededWeights(seed) }),
    }))
  );

const token = fc.nat(VOCABULARY - 1);
const tokens = fc.array(token, { minLength: 1, maxLength: 9 });
const { tree } = fc.letrec<{ tree: ParseTree; node: ParseTree }>((tie) => ({
  tree: fc.oneof({ maxDepth: 5, withCrossShrink: true }, token, tie("node")),
  node: fc.tuple(tie("tree"), tie("tree")),
}));

const SAMPLE: Readonly<Record<keyof DrawInput, fc.Arbitrary<unknown>>> = {
  temperature: fc.constantFrom(0, 0.5, 2),
  topK: fc.constantFrom(0, 1, 4),
  topP: fc.constantFrom(1, 0.7),
  minP: fc.constantFrom(0, 0.2),
  seed: fc.nat(3),
};

const PENALTIES: Readonly<
  Record<keyof PenaltyInput, fc.Arbitrary<unknown>>
> = {
  repetitionPenalty: fc.constantFrom(1, 1.3, 0.5),
  presencePenalty: fc.constantFrom(0, 0.5),
  frequencyPenalty: fc.constantFrom(0, -0.1),
  noRepeatNgramSize: fc.constantFrom(0, 1, 2),
  minTokens: fc.constantFrom(0, 2),
  logitBias: fc.dictionary(token.map(String), fc.constantFrom(-100, 0.5), {
    maxKeys: 3,
  }),
};

/** Some of what a request to a decoder may say of its tokens. */
function anyDraws(
  { isSampled = false, isPenalised = false }: Partial<DrawingModel>,
): fc.Arbitrary<object> {
  return fc.record({
    ...(isSampled && SAMPLE),
    ...(isPenalised && PENALTIES),
  }, { requiredKeys: [] });
}

const INPUTS: Record<
  InputKind,
  (
    model: Model & Partial<DrawingModel>,
  ) => fc.Arbitrary<{ input: unknown; stepsFixed?: number }>
> = {
  tokens: () => tokens.map((tokens) => ({ input: { tokens } })),
  seq2seq: (model) =>
    fc.tuple(
      tokens,
      fc.integer({ min: 1, max: 12 }),
      fc.option(fc.integer({ min: 1, max: 12 })),
      anyDraws(model),
    ).map(
      ([tokens, maxSteps, stepsFixed, draws]) => ({
        input: { tokens, maxSteps, ...draws },
        ...(stepsFixed !== null && { stepsFixed }),
      }),
    ),
  tree: () => tree.map((tree) => ({ input: { tree } })),
  image: ({ image }) =>
    fc.nat(1000).map((seed) => ({ input: { image: pixels(image!, seed) } })),
  frames: ({ frameSize }) =>
    utterance.map(([count, seed]) => ({
      input: { frames: floats(count * frameSize!, seed) },
    })),
  frames2seq: ({ frameSize }) =>
    fc.tuple(
      utterance,
      fc.integer({ min: 1, max: 12 }),
      fc.option(fc.integer({ min: 1, max: 12 })),
    ).map(([[count, seed], maxSteps, stepsFixed]) => ({
      input: { frames: floats(count * frameSize!, seed), maxSteps },
      ...(stepsFixed !== null && { stepsFixed }),
    })),
};

/** How many frames, and a seed of them; see `ModelEntry.tries`. */
const utterance = fc.tuple(
  fc.integer({ min: FRAMES.min, max: FRAMES.max }),
  fc.nat(1000),
);

function pixels(
  { height, width, channels }: ImageSize,
  seed: number,
): Float32Array {
  return floats(height * width * channels, seed);
}

function floats(length: number, seed: number): Float32Array {
  const prng = new Prng(seed);
  return Float32Array.from({ length }, () => 2 * prng.float() - 1);
}

/** A value in one of four cases. */
export function seldom<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: value },
  );
}

/** Requests to the given models, in order of arrival; some with deadlines, some cancelled on the way. */
export function anyArrivals(
  models: readonly { name: string; model: Model }[],
): fc.Arbitrary<VirtualArrival[]> {
  const request = fc.constantFrom(...models).chain(({ name, model }) =>
    fc.record({
      gapNs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4000 })),
      content: INPUTS[MODELS[name].input](model),
      cancelAfterNs: seldom(fc.integer({ min: 0, max: 20_000 })),
      deadlineAfterNs: seldom(fc.integer({ min: 1, max: 20_000 })),
      finishAfterNs: seldom(fc.integer({ min: 1, max: 30_000 })),
    }).map((drawn) => ({ model, ...drawn }))
  );
  return fc.array(request, { minLength: 1, maxLength: 14 }).map((requests) => {
    let atNs = 0;
    return requests.map(
      (drawn) => {
        const { model, gapNs, content } = drawn;
        const { cancelAfterNs, deadlineAfterNs, finishAfterNs } = drawn;
        atNs += gapNs;
        return {
          model,
          arrivalNs: atNs,
          ...content,
          ...(cancelAfterNs !== null && { cancelAtNs: atNs + cancelAfterNs }),
          ...(deadlineAfterNs !== null &&
            { deadlineNs: atNs + deadlineAfterNs }),
          ...(finishAfterNs !== null && { finishNs: atNs + finishAfterNs }),
        };
      },
    );
  });
}

/**
 * Up to four models that a policy supports (LazyBatching, section VI-C, co-locates four), requests to them,
 * options of the policy, and workers.
 */
export function anyCase(policy: string) {
  const supported = anyModel.filter(({ model }) =>
    POLICIES[policy].build().supports(model) === undefined
  );
  return fc.array(supported, { minLength: 1, maxLength: 4 }).chain((models) =>
    fc.record({
      models: fc.constant(models.map(({ model }) => model)),
      arrivals: anyArrivals(models),
      options: anyOptions(policy),
      workers: fc.integer({ min: 1, max: 3 }),
      rowNs: fc.integer({ min: 0, max: 300 }),
    })
  );
}
