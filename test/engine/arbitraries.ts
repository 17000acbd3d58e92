/** Random models, requests and policy options for property tests over the registries. */
import fc from "fast-check";
import type { VirtualArrival } from "../../src/engine/virtual/virtual_driver.ts";
import { Prng } from "../../src/base/prng.ts";
import type { InputKind, Model } from "../../src/graph/model.ts";
import type { ImageSize } from "../../src/graph/operator.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import { MODELS } from "../../src/models/registry.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { seededWeights } from "../../src/tensor/weights.ts";
import { pickOptions } from "../pick_options.ts";

const VOCABULARY = 11;

/** Options beyond the sizes that every model has; a model without an entry is tested with its defaults. */
const MODEL_OPTIONS: Record<string, fc.Arbitrary<Record<string, unknown>>> = {
  lstm: fc.record({
    vocabulary: fc.constant(VOCABULARY),
    head: fc.constantFrom("none", "classifier", "language-model"),
    classes: fc.integer({ min: 1, max: 9 }),
  }),
  seq2seq: fc.record({
    sourceVocabulary: fc.constant(VOCABULARY),
    rnn: fc.constantFrom("lstm", "gru"),
    eos: fc.constantFrom(null, 2, 5),
    extraSteps: fc.integer({ min: 1, max: 6 }),
  }),
  gnmt: fc.record({
    sourceVocabulary: fc.constant(VOCABULARY),
    variant: fc.constantFrom("gnmt", "gnmt-v2"),
    layers: fc.integer({ min: 2, max: 4 }),
    eos: fc.constantFrom(null, 2, 5),
    tokensMax: fc.constant(9),
    extraSteps: fc.integer({ min: 1, max: 6 }),
  }),
  transformer: fc.record({
    vocabulary: fc.constant(VOCABULARY),
    hidden: fc.constantFrom(4, 8, 12),
    heads: fc.constantFrom(1, 2, 4),
    inner: fc.integer({ min: 1, max: 17 }),
    layers: fc.integer({ min: 1, max: 2 }),
    eos: fc.constantFrom(null, 2, 5),
    tokensMax: fc.constant(9),
    extraSteps: fc.integer({ min: 3, max: 6 }),
  }),
  bert: fc.record({
    vocabulary: fc.constant(VOCABULARY),
    hidden: fc.constantFrom(4, 8, 12),
    heads: fc.constantFrom(1, 2, 4),
    inner: fc.integer({ min: 1, max: 17 }),
    layers: fc.integer({ min: 1, max: 2 }),
    tokensMax: fc.constant(9),
    classes: fc.integer({ min: 0, max: 5 }),
  }),
  treelstm: fc.record({
    vocabulary: fc.constant(VOCABULARY),
    classes: fc.integer({ min: 0, max: 5 }),
  }),
  resnet50: fc.record({
    size: fc.integer({ min: 1, max: 18 }),
    channels: fc.integer({ min: 1, max: 3 }),
    width: fc.integer({ min: 1, max: 3 }),
    blocks: fc.array(fc.integer({ min: 1, max: 2 }), {
      minLength: 1,
      maxLength: 2,
    }),
    classes: fc.integer({ min: 1, max: 9 }),
    variant: fc.constantFrom("v1", "v1.5"),
  }),
  unet: fc.record({
    form: fc.constantFrom(
      { size: 4, depth: 2, padding: "same" },
      { size: 8, depth: 1, padding: "same" },
      { size: 18, depth: 1, padding: "valid" },
      { size: 20, depth: 1, padding: "valid" },
    ),
    channels: fc.integer({ min: 1, max: 2 }),
    base: fc.integer({ min: 1, max: 3 }),
    classes: fc.integer({ min: 1, max: 3 }),
  }).map(({ form, ...rest }) => ({ ...form, ...rest })),
};

/** A model of random kind and size with random weights, and its name in the registry. */
export const anyModel: fc.Arbitrary<{ name: string; model: Model }> = fc
  .constantFrom(...Object.keys(MODELS)).chain(
    (name) =>
      fc.tuple(
        fc.record({
          hidden: fc.integer({ min: 1, max: 21 }),
          embedding: fc.integer({ min: 1, max: 13 }),
        }),
        MODEL_OPTIONS[name] ?? fc.constant({}),
        fc.nat(1000),
      ).map(([sizes, options, seed]) => ({
        name,
        model: MODELS[name]!.build({
          ...pickOptions(name, { ...sizes, ...options }),
          weights: seededWeights(seed),
        }),
      })),
  );

const token = fc.nat(VOCABULARY - 1);
const tokens = fc.array(token, { minLength: 1, maxLength: 9 });
const { tree } = fc.letrec<{ tree: ParseTree; node: ParseTree }>((tie) => ({
  tree: fc.oneof({ maxDepth: 5, withCrossShrink: true }, token, tie("node")),
  node: fc.tuple(tie("tree"), tie("tree")),
}));

const INPUTS: Record<
  InputKind,
  (model: Model) => fc.Arbitrary<{ input: unknown; stepsFixed?: number }>
> = {
  tokens: () => tokens.map((tokens) => ({ input: { tokens } })),
  seq2seq: () =>
    fc.tuple(
      tokens,
      fc.integer({ min: 1, max: 12 }),
      fc.option(fc.integer({ min: 1, max: 12 })),
    ).map(
      ([tokens, maxSteps, stepsFixed]) => ({
        input: { tokens, maxSteps },
        ...(stepsFixed !== null && { stepsFixed }),
      }),
    ),
  tree: () => tree.map((tree) => ({ input: { tree } })),
  image: ({ image }) =>
    fc.nat(1000).map((seed) => ({ input: { image: pixels(image!, seed) } })),
};

function pixels(
  { height, width, channels }: ImageSize,
  seed: number,
): Float32Array {
  const prng = new Prng(seed);
  return Float32Array.from(
    { length: height * width * channels },
    () => 2 * prng.float() - 1,
  );
}

/** Requests to the given models, in order of arrival; some with a deadline, some cancelled on the way. */
export function anyArrivals(
  models: readonly { name: string; model: Model }[],
): fc.Arbitrary<VirtualArrival[]> {
  const request = fc.constantFrom(...models).chain(({ name, model }) =>
    fc.record({
      gapNs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4000 })),
      content: INPUTS[MODELS[name]!.input](model),
      cancelAfterNs: fc.option(fc.integer({ min: 0, max: 20_000 }), {
        freq: 8,
      }),
      deadlineAfterNs: fc.option(fc.integer({ min: 1, max: 20_000 }), {
        freq: 8,
      }),
    }).map((drawn) => ({ model, ...drawn }))
  );
  return fc.array(request, { minLength: 1, maxLength: 14 }).map((requests) => {
    let atNs = 0;
    return requests.map(
      ({ model, gapNs, content, cancelAfterNs, deadlineAfterNs }) => {
        atNs += gapNs;
        return {
          model,
          arrivalNs: atNs,
          ...content,
          ...(cancelAfterNs !== null && { cancelAtNs: atNs + cancelAfterNs }),
          ...(deadlineAfterNs !== null &&
            { deadlineNs: atNs + deadlineAfterNs }),
        };
      },
    );
  });
}

const batchSizeMax = fc.integer({ min: 1, max: 6 });

const profile = fc.constantFrom(
  undefined,
  { "*": [[1, 1000], [4, 1800]] as [number, number][] },
);

const lazyOptions = fc.record({
  batchSizeMax,
  profile,
  slaNs: fc.constantFrom(
    0,
    20_000,
    1e12,
    { lstm: 5000, seq2seq: 1e9, recurrent: 20_000 },
  ),
  decTimesteps: fc.integer({ min: 1, max: 8 }),
  negativeSlack: fc.constantFrom("refuse", "ignore"),
  nestedPreemption: fc.boolean(),
});

/** Options to try a policy with; one without an entry is tested with its defaults. */
export const POLICY_OPTIONS: Record<
  string,
  fc.Arbitrary<Record<string, unknown>>
> = {
  graph: fc.record({
    batchSizeMax,
    windowNs: fc.constantFrom(0, 1500, 10_000),
  }),
  bucketed: fc.record({
    batchSizeMax,
    bucketWidth: fc.integer({ min: 1, max: 5 }),
  }),
  merged: fc.record({ batchSizeMax }),
  cellular: fc.record({
    batchSizeMax,
    batchSizeMin: fc.integer({ min: 1, max: 3 }),
    maxTasksToSubmit: fc.integer({ min: 1, max: 6 }),
    nonRecurrent: fc.constantFrom("batch", "serialize"),
  }),
  late: fc.record({ batchSizeMax, pushAhead: fc.integer({ min: 1, max: 4 }) }),
  lazy: lazyOptions,
  oracle: lazyOptions,
  "n-ebird": fc.record({
    workers: fc.constantFrom([1], [1, 2], [1, 1, 2, 4], [1, 1, 1]),
    maxInf: fc.integer({ min: 1, max: 6 }),
    slots: fc.integer({ min: 4, max: 9 }),
  }),
  "e-ebird": fc.record({
    configurations: fc.constantFrom(
      undefined,
      { 2: [0, 1], 4: [0, 0, 1] },
      { 3: [3], 6: [2, 2] },
    ),
    maxInf: fc.integer({ min: 1, max: 6 }),
    slots: fc.integer({ min: 4, max: 9 }),
  }),
  dvabatch: fc.record({
    batchSizeMax,
    profile,
    stages: fc.constantFrom(1, 2, 3, 6, "preferred"),
    policy: fc.constantFrom("none", "I", "II", "III", "II+III"),
    windowNs: fc.constantFrom(undefined, 0, 1500, 10_000),
    compWaitNs: fc.constantFrom(0, 5000, 1e9),
    splitTolerance: fc.constantFrom(0, 0.4),
    pairs: fc.integer({ min: 1, max: 4 }),
  }),
};

/**
 * Up to four models that a policy supports (LazyBatching, section VI-C, co-locates four), requests to them,
 * options of the policy, and workers.
 */
export function anyCase(policy: string) {
  const supported = anyModel.filter(({ model }) =>
    POLICIES[policy]!.build().supports(model) === undefined
  );
  return fc.array(supported, { minLength: 1, maxLength: 4 }).chain((models) =>
    fc.record({
      models: fc.constant(models.map(({ model }) => model)),
      arrivals: anyArrivals(models),
      options: POLICY_OPTIONS[policy] ?? fc.constant({}),
      workers: fc.integer({ min: 1, max: 3 }),
      rowNs: fc.integer({ min: 0, max: 300 }),
    })
  );
}
